"""Exports spans with OpenTelemetry's SDK, in batches from its own thread. Loaded only if spans are exported.

OpenTelemetry's instrumentations for Django and clients are not used, because they record URLs with queries. Of an
exception only the type is recorded.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from uuid import UUID

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from memoryhub import observability as log_context
from memoryhub.observability.tracing import Attribute, Noting

log = logging.getLogger(__name__)

# The collector is on the same network; without an answer in this time the batch is dropped.
ANSWER_SECONDS = 3.0
FLUSH_MILLISECONDS = 5_000
# Fits ids, numbers, kinds, routes and names of models; any other value is replaced, as it may be a user's text.
_NAME = re.compile(r"[\w./:<>@+-]{0,120}", re.ASCII)
_PROPAGATOR = TraceContextTextMapPropagator()


class _Collector(SpanExporter):
    """Exports to the collector; logs one line when it stops answering and one when it answers again."""

    def __init__(self, url: str) -> None:
        self._exporter = OTLPSpanExporter(endpoint=url, timeout=ANSWER_SECONDS)
        self._away = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch; a failed batch is dropped."""
        result = self._exporter.export(spans)
        away = result is not SpanExportResult.SUCCESS
        if away != self._away:
            self._away = away
            log.warning("The collector of traces %s.", "takes nothing; spans are dropped" if away else "is back")
        return result

    def shutdown(self) -> None:
        """Shut the exporter down."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]  # the package leaves this one out


class _Open:
    """An open span."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def note(self, **attributes: Attribute) -> None:
        """See tracing.Noting."""
        for name, value in attributes.items():
            if value is not None:
                self._span.set_attribute(name, _sendable(value))


class Spans:
    """Creates spans and exports them to `url`."""

    def __init__(self, url: str) -> None:
        self._provider = TracerProvider(resource=Resource.create({SERVICE_NAME: "memoryhub"}))
        self._provider.add_span_processor(BatchSpanProcessor(_Collector(url)))
        self._tracer = self._provider.get_tracer("memoryhub")

    @contextmanager
    def span(
        self, name: str, parent: Mapping[str, str] | None, attributes: Mapping[str, Attribute]
    ) -> Iterator[Noting]:
        """See tracing.span."""
        context = None if parent is None else _PROPAGATOR.extract({key.lower(): said for key, said in parent.items()})
        with self._tracer.start_as_current_span(
            name, context=context, record_exception=False, set_status_on_exception=False
        ) as span:
            opened = _Open(span)
            try:
                yield opened
            except Exception as error:
                span.set_status(Status(StatusCode.ERROR, type(error).__name__))
                raise
            finally:
                opened.note(**attributes, **{k: v for k, v in log_context.ids().items() if k not in attributes})

    def trace_id(self) -> str:
        """See tracing.trace_id."""
        context = trace.get_current_span().get_span_context()
        return trace.format_trace_id(context.trace_id) if context.is_valid else ""

    def headers(self) -> dict[str, str]:
        """See tracing.headers."""
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier)
        return carrier

    def flush(self) -> None:
        """See tracing.flush."""
        self._provider.force_flush(FLUSH_MILLISECONDS)

    def stop(self) -> None:
        """See tracing.stop."""
        self._provider.shutdown()


def _sendable(value: str | float | UUID) -> str | int | float | bool:
    if isinstance(value, (bool, int, float)):
        return value
    text = str(value)
    return text if _NAME.fullmatch(text) else "…"
