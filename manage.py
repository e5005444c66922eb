#!/usr/bin/env python
"""The commands of memoryhub in a checkout; an installed package has them as `memoryhub`."""

from memoryhub.command_line import main

if __name__ == "__main__":
    main()
