"""What a log line may say. Invariant: no text of a person, no parameter of a statement, no body of a request.

Our own messages hold ids, counts and kinds. Those of libraries are made for debugging: of them the template is said,
with numbers filled in, for their other arguments are paths, rows, headers and exceptions. Of an exception its type is
said and where it came from, never its message: that of a database quotes the row, that of a parser what it read.
"""

from __future__ import annotations

import errno
import logging
import re
import sqlite3
import traceback
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

OURS = ("memoryhub", "tenants", "memories")
HIDDEN = "…"
# A message without arguments was put together before: what stands before the first colon, quote or bracket is said.
_VALUES = re.compile(r"[:'\"\[({<=`]|\d{6,}")
# Named for what was suspicious; their messages are those of exceptions, which quote what was asked for.
_SUSPICIOUS = "django.security."
_REASONS = frozenset(status.phrase for status in HTTPStatus)


def is_ours(name: str) -> bool:
    """Whether a logger is one of the project's."""
    return name.partition(".")[0] in OURS


def message_of(record: logging.LogRecord) -> str:
    """The message of a record, without what may be somebody's."""
    template, arguments = str(record.msg), record.args
    if record.name.startswith(_SUSPICIOUS):
        return HIDDEN
    try:
        if is_ours(record.name):
            return record.getMessage()
        if isinstance(arguments, Mapping):
            return template % {key: _shown(each) for key, each in arguments.items()}
        if arguments:
            return template % tuple(map(_shown, arguments))
    except (TypeError, ValueError, KeyError):
        pass  # a template that its arguments do not fit is said as it is
    return _VALUES.split(template, maxsplit=1)[0].strip()


def exceptions_of(error: BaseException) -> list[dict[str, Any]]:
    """An exception and those behind it, the latest first: type, code where there is one, and frames."""
    return [
        {
            "type": f"{type(each).__module__}.{type(each).__qualname__}",
            **({"code": code} if (code := _code(each)) else {}),
            "stack": [
                f"{frame.f_code.co_filename}:{line} {frame.f_code.co_name}"
                for frame, line in traceback.walk_tb(each.__traceback__)
            ],
        }
        for each in _chain(error)
    ]


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _code(error: BaseException) -> str:
    """What a database or the system calls this error: a name without values."""
    if isinstance(error, sqlite3.Error):
        return str(getattr(error, "sqlite_errorname", ""))
    if isinstance(error, OSError) and error.errno is not None:
        return errno.errorcode.get(error.errno, "")
    return str(getattr(error, "sqlstate", None) or "")


class _Hidden(str):
    """What is shown in place of an argument, by %r too."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _shown(argument: object) -> object:
    if isinstance(argument, (int, float)):
        return argument
    if isinstance(argument, BaseException):
        return _Hidden(type(argument).__name__)
    return argument if isinstance(argument, str) and argument in _REASONS else _Hidden(HIDDEN)
