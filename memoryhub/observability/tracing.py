"""Spans of requests, recalls and jobs for an OpenTelemetry collector.

Without MEMORYHUB_TRACES_URL, or without the extra `otel`, these functions do nothing. A collector that is down delays
no request. A span holds ids, counts and kinds, never a text, a URL or an error's message.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from memoryhub.observability.otel import Spans

# The name of the trace id in logs.
TRACE = "trace_id"

Attribute = str | int | float | bool | UUID | None


class Noting(Protocol):
    """An open span."""

    def note(self, **attributes: Attribute) -> None:
        """Add attributes to the span."""
        ...


class _NoSpan:
    """A span without a collector."""

    def note(self, **attributes: Attribute) -> None:
        pass


_NOTHING: AbstractContextManager[Noting] = nullcontext(_NoSpan())
_starting = threading.Lock()
_url = ""
_spans: Spans | None = None


def configure(url: str) -> None:
    """Set the collector's URL; empty disables spans. The SDK starts with the first span."""
    global _url  # noqa: PLW0603 - one collector for each process
    stop()
    _url = url if available() else ""


def available() -> bool:
    """Whether the extra `otel` is installed."""
    try:
        return importlib.util.find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False


def stop() -> None:
    """Export the queued spans and shut down."""
    global _spans, _url
    with _starting:
        spans, _spans, _url = _spans, None, ""
    if spans is not None:
        spans.stop()


def flush() -> None:
    """Export the queued spans."""
    if _spans is not None:
        _spans.flush()


def span(
    name: str, *, parent: Mapping[str, str] | None = None, **attributes: Attribute
) -> AbstractContextManager[Noting]:
    """A span around the block. `parent` are the headers (`traceparent`) of the process that caused the work.

    Attributes are ids, counts, kinds, or names from the code or the settings.
    """
    if not _url:
        return _NOTHING
    return _started().span(name, parent, attributes)


def trace_id() -> str:
    """The id of this thread's current trace; empty without one."""
    return _spans.trace_id() if _spans is not None else ""


def headers() -> dict[str, str]:
    """The `traceparent` header for another service; empty without a span."""
    return _spans.headers() if _spans is not None else {}


def _started() -> Spans:
    """Start the SDK with the first span, after the process was forked: its threads do not survive a fork."""
    global _spans  # noqa: PLW0603 - one collector for each process
    if _spans is None:
        from memoryhub.observability.otel import Spans  # noqa: PLC0415 - an optional extra, imported on first use

        with _starting:
            if _spans is None:
                _spans = Spans(_url)
    return _spans
