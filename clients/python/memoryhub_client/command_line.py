"""The command `memoryhub-cli`: a memory from the shell, over the API."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

from memoryhub_client.client import Client
from memoryhub_client.errors import ApiError, Forbidden, MemoryhubError, NotFound
from memoryhub_client.types import ExportFormat
from memoryhub_client.version import __version__

_PROGRAM = "memoryhub-cli"
_URL = "http://127.0.0.1:8000"
_REFUSED, _USAGE, _INTERRUPTED, _PIPE_CLOSED = 1, 2, 130, 141
# What an import counts beside new memories by their kind.
_NUMBERS = ("sessions", "messages", "merged", "known", "forgotten", "masked")

# Flags that have another name than the field of the API, or dashes before it.
_FLAGS = {
    "app": "--app",
    "category": "--category",
    "key": "--name",
    "limit": "--limit",
    "source_user": "--source-user",
    "token_budget": "--budget",
    "user_id": "--user",
}

_Options = argparse.Namespace


class _Mistake(Exception):
    """The command cannot be carried out as it was given."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status; errors go to stderr."""
    options = _parser().parse_args(arguments)
    try:
        with _client(options) as memory:
            options.run(memory, options)
        sys.stdout.flush()
    except ApiError as error:
        return _failed(_REFUSED, _in_flags(error, options))
    except MemoryhubError as error:
        return _failed(_REFUSED, error)
    except (_Mistake, OSError) as error:
        if isinstance(error, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _PIPE_CLOSED
        return _failed(_USAGE, error)
    except KeyboardInterrupt:
        return _INTERRUPTED
    return 0


def run() -> None:
    """Run the command of this process."""
    sys.exit(main())


def _in_flags(error: ApiError, options: _Options) -> str:
    """The refusal with the flags of the command in place of the fields of the API."""
    if options.user is None and any(each.field == "user_id" for each in error.errors):
        return "needs --user: this key acts for many users, so say whose memory."
    if isinstance(error, Forbidden) and getattr(options, "all", False):
        return f"{error} With --all, export needs the member's own token."
    words = str(error)
    for each in error.errors:
        words = words.replace(f"{each.field} {each.reason}", f"{_FLAGS.get(each.field, each.field)} {each.reason}")
    return words


def _failed(status: int, error: Exception | str) -> int:
    sys.stderr.write(f"{_PROGRAM}: {error}\n")
    return status


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--url", default=os.environ.get("MEMORYHUB_URL", _URL), help=f"MEMORYHUB_URL, or {_URL}")
    common.add_argument(
        "--key", help="a backend key or a token; other users of the machine see it. Better: MEMORYHUB_KEY"
    )
    common.add_argument("--key-file", type=Path, help="a file with the key alone")
    common.add_argument("--user", help="your own id of the user that a backend key acts for")
    common.add_argument("--app", help="which of your agents calls")
    common.add_argument("--json", action="store_true", help="answer in JSON; lists have an object on each line")

    parser = argparse.ArgumentParser(prog=_PROGRAM, description="A memory of a memoryhub server, from the shell.")
    parser.add_argument("--version", action="version", version=f"{_PROGRAM} {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[Client, _Options], None], what: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, parents=[common], help=what, description=what)
        made.set_defaults(run=run)
        return made

    made = command("remember", _remember, "Store a fact.")
    made.add_argument("text")
    made.add_argument("--name", help="the fact's key, such as home_city: it supersedes the current one with this key")
    made.add_argument("--category")
    made.add_argument("--pin", action="store_true", help="put it into every prompt")

    made = command("recall", _recall, "Recall what bears on a question, best first.")
    made.add_argument("query")
    made.add_argument("--limit", type=int)

    made = command("context", _context, "Print a text for the prompt of an agent.")
    made.add_argument("query")
    made.add_argument("--budget", type=int, help="tokens at most")

    made = command("list", _list, "List current memories of one kind, latest first.")
    made.add_argument("--kind", default="semantic", choices=["semantic", "episodic", "procedural", "catalog"])
    made.add_argument("--category")
    made.add_argument("--limit", type=int, help="how many at most")

    made = command("forget", _forget, "Erase memories for good, by their ids.")
    made.add_argument("ids", nargs="+", metavar="ID")
    made.add_argument("--yes", action="store_true", help="do not ask first")

    made = command("export", _export, "Write current facts and playbooks as JSON lines.")
    made.add_argument("file", nargs="?", type=Path, help="standard output, unless named")
    made.add_argument("--all", action="store_true", help="also episodes and history; with a member's token alone")

    made = command("import", _import, "Import a file of export, or one of another product.")
    made.add_argument("file", nargs="?", type=Path, help="standard input, unless named")
    made.add_argument("--format", choices=get_args(ExportFormat), help="as the file looks, unless said")
    made.add_argument("--source-user", help="of a file with several users: whose entries to take")
    made.add_argument("--dry-run", action="store_true", help="store nothing, and say what would come")
    return parser


def _client(options: _Options) -> Client:
    try:
        return Client(options.url, token=_key(options), user_id=options.user, app=options.app)
    except ValueError as error:
        raise _Mistake(str(error)) from error


def _key(options: _Options) -> str:
    """From the arguments, a file, the environment, or the terminal."""
    if options.key:
        return str(options.key)
    if options.key_file:
        return str(options.key_file.read_text().strip())
    if key := os.environ.get("MEMORYHUB_KEY"):
        return key
    if sys.stdin.isatty():
        return getpass.getpass("Key: ")
    raise _Mistake("needs a key: set MEMORYHUB_KEY, or name a file with --key-file.")


def _remember(memory: Client, options: _Options) -> None:
    written = memory.memories.write(
        options.text, key=options.name, category=options.category, pinned=options.pin or None
    )
    _say(options, written, f"{written.result} {written.memory_id}")


def _recall(memory: Client, options: _Options) -> None:
    found = memory.recall(options.query, limit=options.limit)
    _say(options, found, "\n".join(f"{item.rank}. {item.text} ({', '.join(item.reasons)})" for item in found.items))


def _context(memory: Client, options: _Options) -> None:
    context = memory.context(options.query, token_budget=options.budget)
    _say(options, context, context.text)


def _list(memory: Client, options: _Options) -> None:
    size = None if options.limit is None else min(options.limit, 100)
    listed = memory.memories.list(options.kind, category=options.category, limit=size)
    for number, each in enumerate(listed, start=1):
        _say(options, each, f"{each.id}  {each.text}")
        if number == options.limit:
            return


def _forget(memory: Client, options: _Options) -> None:
    if not options.yes:
        if not sys.stdin.isatty():
            raise _Mistake("erases for good: confirm it with --yes.")
        for each in options.ids:
            sys.stderr.write(f"{_shown(memory.memories.get(each).text)}\n")
        sys.stderr.write("Erase this for good? [y/N] ")
        if input().strip().lower() not in ("y", "yes"):
            return
    for each in options.ids:
        try:
            gone = memory.memories.forget(each)
        except NotFound as error:
            raise NotFound(error.status, {**error.problem, "detail": f"No memory has the id {each}."}) from error
        _say(options, gone, "\n".join(f"erased {erased.id}" for erased in gone.erased))


def _export(memory: Client, options: _Options) -> None:
    with options.file.open("w", encoding="utf-8") if options.file else nullcontext(sys.stdout) as file:
        if options.all:
            file.write(memory.memories.export().decode())
            return
        for kind in ("semantic", "procedural"):
            for each in memory.memories.list(kind, limit=100):
                file.write(f"{_json(each)}\n")


def _import(memory: Client, options: _Options) -> None:
    content = options.file.read_bytes() if options.file else sys.stdin.buffer.read()
    complete = False
    while not complete:  # the server takes about 20 seconds at a time, and goes on where it ended
        done = memory.memories.import_(
            content, format=options.format, source_user=options.source_user, dry_run=options.dry_run or None
        )
        numbers = {**dict(sorted(done.added.items())), **{name: getattr(done, name) for name in _NUMBERS}}
        lines = [", ".join(f"{count} {name}" for name, count in numbers.items() if count) or "nothing"]
        lines += [f"{each.kind}: {each.text}" for each in done.examples]
        lines += [f"left out {each.place}: {each.reason}" for each in done.refused]
        _say(options, done, "\n".join(lines))
        complete = done.complete or done.dry_run


def _say(options: _Options, answer: Any, words: str) -> None:
    if line := _json(answer) if options.json else _shown(words):
        sys.stdout.write(f"{line}\n")


def _shown(words: str) -> str:
    """Without characters that would steer a terminal."""
    return "".join(each if each.isprintable() or each == "\n" else "\ufffd" for each in words)


def _json(answer: Any) -> str:
    plain = answer if isinstance(answer, dict) else asdict(answer)
    return json.dumps(plain, ensure_ascii=False, default=datetime.isoformat)
