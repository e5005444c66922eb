"""Formats log records as text or JSON, with the ids of the log context and without users' data.

Messages of this project hold ids, counts and kinds. Libraries log paths, rows, headers and exceptions as arguments, so
of their messages only the template is written, with numbers filled in. Of an exception the type and stack are written,
never the message: databases quote rows, parsers quote input.
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
# A message without arguments was formatted before; only the part before the first of these is logged.
_VALUES = re.compile(r"[:'\"\[({<=`]|\d{6,}")
# Django's loggers of suspicious requests; their messages quote the request.
_SUSPICIOUS = "django.security."
_REASONS = frozenset(status.phrase for status in HTTPStatus)


def is_ours(name: str) -> bool:
    """Whether a logger belongs to this project."""
    return name.partition(".")[0] in OURS


def message_of(record: logging.LogRecord) -> str:
    """The message of a record without users' data."""
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
        pass  # log the template alone if the arguments do not fit it
    return _VALUES.split(template, maxsplit=1)[0].strip()


def exceptions_of(error: BaseException) -> list[dict[str, Any]]:
    """The exception and its causes, newest first: type, error code if any, and stack."""
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
    """The symbolic name of a database's or the system's error; it contains no values."""
    if isinstance(error, sqlite3.Error):
        return str(getattr(error, "sqlite_errorname", ""))
    if isinstance(error, OSError) and error.errno is not None:
        return errno.errorcode.get(error.errno, "")
    return str(getattr(error, "sqlstate", None) or "")


class _Hidden(str):
    """The replacement of an argument; the same under %r."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _shown(argument: object) -> object:
    if isinstance(argument, (int, float)):
        return argument
    if isinstance(argument, BaseException):
        return _Hidden(type(argument).__name__)
    return argument if isinstance(argument, str) and argument in _REASONS else _Hidden(HIDDEN)


# Short names of the ids in text lines, in order.
_SHORT = {
    "request_id": "request",
    "tenant_id": "tenant",
    "membership_id": "member",
    "task": "task",
    tracing.TRACE: "trace",
}


class ContextFilter(logging.Filter):
    """Adds `ids` to each record when it is created, because a handler may format it in another context."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the ids; no record is dropped."""
        trace = tracing.trace_id()
        record.ids = {**log_context.ids(), **({tracing.TRACE: trace} if trace else {})}
        return True


class LineFormatter(logging.Formatter):
    """Formats a record as a line of text that ends with the ids, followed by the exceptions."""

    def format(self, record: logging.LogRecord) -> str:
        """Format one record."""
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
    """Formats a record as a line of JSON: time, level, logger, message, ids, `extra={"fields": …}` and exceptions."""

    def __init__(self) -> None:
        super().__init__(json_ensure_ascii=False)

    def format(self, record: logging.LogRecord) -> str:
        """Format one record. Overridden because the library would add all other attributes of the record."""
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
    """The LOGGING setting: every logger writes to standard error, in one format."""
    quiet = {"handlers": ["nowhere"], "propagate": False}
    levels = {
        **dict.fromkeys(("memoryhub", "tenants", "memories"), "INFO"),
        # Below WARNING these log whole requests, responses and statements.
        **dict.fromkeys(("elastic_transport", "openai", "httpx", "httpcore", "urllib3", "celery", "kombu"), "WARNING"),
        # It logs every failed try; memoryhub logs the beginning and the end of an outage.
        "elastic_transport.node_pool": "ERROR",
        "opentelemetry": "CRITICAL",
        "django.db.backends": "WARNING",
        # The access log has a line for responses below 500.
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
            # Unauthenticated clients must not fill the log; runserver's lines repeat the access log, with URLs.
            "django.security.DisallowedHost": quiet,
            "django.server": quiet,
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
