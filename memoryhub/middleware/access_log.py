"""The outermost middleware: one log line and one span for each request, until the last byte of its answer.

A request is logged by its route, never by its address: people type addresses and queries.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any, cast

from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from memoryhub.observability import context as log_context
from memoryhub.observability import tracing

log = logging.getLogger(__name__)

# Asked every few seconds by machines; only what is not well is worth a line.
_PROBES = frozenset({"/livez", "/readyz", "/metrics"})
_NO_ROUTE = "-"
_SERVER_ERROR = 500


class AccessMiddleware:
    """Watches a request from outside; of a stream, until it is closed."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, and see to it that the end is noted."""
        log_context.clear()
        watch = _Watch(request)
        try:
            response = self.get_response(request)
        except BaseException:
            watch.end(_SERVER_ERROR)
            raise
        if isinstance(response, StreamingHttpResponse) and not response.is_async:
            body = cast("Iterable[bytes]", response.streaming_content)
            response.streaming_content = _Watched(body, lambda: watch.end(response.status_code))
        else:
            watch.end(response.status_code)
        return response


class _Watch:
    """One request: its span, and its line at the end."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._started = time.perf_counter()
        self._stack = ExitStack()
        self._span = self._stack.enter_context(tracing.span("request", parent=request.headers, method=_method(request)))
        self._over = False

    def end(self, status: int) -> None:
        """Note the end, once."""
        if self._over:
            return
        self._over = True
        match = self._request.resolver_match
        route = f"/{match.route}" if match else _NO_ROUTE
        took_ms = (time.perf_counter() - self._started) * 1000.0
        self._span.note(route=route, status=status)
        fields = {"method": _method(self._request), "route": route, "status": status, "ms": round(took_ms, 1)}
        well = status < _SERVER_ERROR and route in _PROBES
        log.log(
            logging.DEBUG if well else logging.INFO,
            "%(method)s %(route)s %(status)d in %(ms).1f ms",
            fields,
            extra={"fields": fields},
        )
        self._stack.close()
        log_context.clear()


class _Watched:
    """The body of a stream; closing it, or reading it to its end, writes the log line."""

    def __init__(self, body: Iterable[bytes], end: Callable[[], None]) -> None:
        self._body = body
        self._parts = iter(body)
        self._end = end

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._parts)
        except BaseException:
            self._end()
            raise

    def close(self) -> None:
        """Close the stream behind it, then write the log line."""
        close: Any = getattr(self._body, "close", None)
        try:
            if close is not None:
                close()
        finally:
            self._end()


def _method(request: HttpRequest) -> str:
    """The method; a word that is none may be anything."""
    known = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
    return str(request.method) if request.method in known else "OTHER"
