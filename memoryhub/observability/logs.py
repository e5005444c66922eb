"""Log lines as text or JSON, with the ids of the log context and without anybody's text.

Our own messages hold ids, counts and kinds. Messages of libraries are made for debugging: their arguments are paths,
rows, headers and exceptions, so only the template is written, with numbers filled in. Of an exception its type and
origin are written, never its message: a database quotes the row, a parser quotes its input.
"""

from __future__ import annotations

import errno
import logging
import re
import sqlite3
import traceback
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from memoryhub import observability as log_context
from memoryhub.observability import tracing

log = logging.getLogger(__name__)


OURS = ("memoryhub", "tenants", "memories")
HIDDEN = "…"
# A message without arguments was put together before: the part before the first colon, quote or bracket is logged.
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


# Short names for lines, in their order.
_SHORT = {
    "request_id": "request",
    "tenant_id": "tenant",
    "membership_id": "member",
    "task": "task",
    tracing.TRACE: "trace",
}


class ContextFilter(logging.Filter):
    """Adds `ids` to each record, where it is made: a formatter may work elsewhere."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Every record passes."""
        trace = tracing.trace_id()
        record.ids = {**log_context.ids(), **({tracing.TRACE: trace} if trace else {})}
        return True


class LineFormatter(logging.Formatter):
    """A line of text, with the ids at its end; an exception below it."""

    def format(self, record: logging.LogRecord) -> str:
        """One record."""
        known = _ids_of(record)
        named = " ".join(f"{short}={known[name]}" for name, short in _SHORT.items() if name in known)
        message = " ".join(message_of(record).splitlines())
        line = f"{_time(record)} {record.levelname} {record.name} {message}"
        lines = [f"{line} [{named}]" if named else line]
        for error in _exceptions(record):
            code = f" {error['code']}" if "code" in error else ""
            lines += [f"  Traceback of {error['type']}{code}", *(f"    {frame}" for frame in error["stack"])]
        return "\n".join(lines)


class JsonLineFormatter(JsonFormatter):
    """A line of JSON: time, level, logger, message, ids, what `extra={"fields": …}` gave, and exceptions."""

    def __init__(self) -> None:
        super().__init__(json_ensure_ascii=False)

    def format(self, record: logging.LogRecord) -> str:
        """One record. The library would add whatever else the record has."""
        said = {
            "time": _time(record),
            "level": record.levelname,
            "logger": record.name,
            "message": message_of(record),
            **_ids_of(record),
            **getattr(record, "fields", {}),
        }
        if found := _exceptions(record):
            said["exception"] = found
        return self.serialize_log_record(said)


def settings_for(log_format: str) -> dict[str, Any]:
    """Django's LOGGING: every logger writes to standard error, in one format."""
    quiet = {"handlers": ["nowhere"], "propagate": False}
    levels = {
        **dict.fromkeys(("memoryhub", "tenants", "memories"), "INFO"),
        # Below these they print whole requests, answers and statements. What passes is without its values, see above.
        **dict.fromkeys(("elastic_transport", "openai", "httpx", "httpcore", "urllib3", "celery", "kombu"), "WARNING"),
        # One line for each failed try; memoryhub says when an outage begins and when it ends.
        "elastic_transport.node_pool": "ERROR",
        "opentelemetry": "CRITICAL",
        "django.db.backends": "WARNING",
        # Of answers below 500 the access log has a line.
        "django.request": "ERROR",
        "django.security": "ERROR",
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"ids": {"()": "memoryhub.observability.logs.ContextFilter"}},
        "formatters": {
            "line": {"()": "memoryhub.observability.logs.LineFormatter"},
            "json": {"()": "memoryhub.observability.logs.JsonLineFormatter"},
        },
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": log_format, "filters": ["ids"]},
            "nowhere": {"class": "logging.NullHandler"},
        },
        "root": {"handlers": ["console"], "level": "WARNING"},
        "loggers": {
            **{name: {"level": level} for name, level in levels.items()},
            "django": {"handlers": [], "propagate": True, "level": "INFO"},
            # Strangers must not fill the log; runserver's lines repeat the access log's, with addresses.
            "django.security.DisallowedHost": quiet,
            "django.server": quiet,
            # It looks for secrets, and would say which.
            "credsweeper": quiet,
        },
    }


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def _ids_of(record: logging.LogRecord) -> dict[str, str]:
    found: dict[str, str] = getattr(record, "ids", {})
    return found


def _exceptions(record: logging.LogRecord) -> list[dict[str, Any]]:
    error = record.exc_info[1] if record.exc_info else None
    return exceptions_of(error) if error is not None else []
