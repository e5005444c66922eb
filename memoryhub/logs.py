"""How log lines are written: as text or as JSON, both with the ids of whoever the work is for.

Invariant: a formatter writes what it names itself and no other attribute of a record; see log_words for the rest.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from memoryhub import at_work, tracing
from memoryhub.log_words import exceptions_of, message_of
from memoryhub.modes import LogFormat

# Short names for lines, in their order.
_SHORT = {
    at_work.REQUEST: "request",
    at_work.TENANT: "tenant",
    at_work.MEMBERSHIP: "member",
    at_work.TASK: "task",
    tracing.TRACE: "trace",
}


class Ids(logging.Filter):
    """Adds `ids` to each record, where it is made: a formatter may work elsewhere."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Every record passes."""
        trace = tracing.trace_id()
        record.ids = {**at_work.ids(), **({tracing.TRACE: trace} if trace else {})}
        return True


class Lines(logging.Formatter):
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


class Objects(JsonFormatter):
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


def settings_for(log_format: LogFormat) -> dict[str, Any]:
    """Django's LOGGING: everything to standard error, in one form, whoever logs."""
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
        "filters": {"ids": {"()": "memoryhub.logs.Ids"}},
        "formatters": {"line": {"()": "memoryhub.logs.Lines"}, "json": {"()": "memoryhub.logs.Objects"}},
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": log_format.value, "filters": ["ids"]},
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
