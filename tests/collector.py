"""An OpenTelemetry collector on this machine: receives spans over a real socket and decodes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from memoryhub.observability import tracing
from tests.parts import serving


@dataclass(frozen=True)
class Sent:
    """A received span."""

    name: str
    trace: str
    id: str
    parent: str
    failed: str
    attributes: dict[str, object]


@dataclass
class Collector:
    """The collector's URL and the bodies of its requests."""

    url: str = ""
    bodies: list[bytes] = field(default_factory=list)

    def spans(self) -> list[Sent]:
        """All spans sent until now, in the order of their ends."""
        tracing.flush()
        return [
            Sent(
                span.name,
                span.trace_id.hex(),
                span.span_id.hex(),
                span.parent_span_id.hex(),
                span.status.message,
                {each.key: getattr(each.value, each.value.WhichOneof("value") or "") for each in span.attributes},
            )
            for body in self.bodies
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def span(self, name: str) -> Sent:
        """The only span with this name."""
        (found,) = (span for span in self.spans() if span.name == name)
        return found


@contextmanager
def collecting() -> Iterator[Collector]:
    """Send this process's spans to a collector during the block."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the overridden method
            """Log nothing."""

    with serving(Handler) as port:
        collector.url = f"http://127.0.0.1:{port}/v1/traces"
        tracing.configure(collector.url)
        try:
            yield collector
        finally:
            tracing.configure("")
