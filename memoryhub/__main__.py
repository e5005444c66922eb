"""`python -m memoryhub`: the commands of memoryhub."""

from memoryhub.command_line import main

if __name__ == "__main__":
    main()
