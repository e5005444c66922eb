"""Middleware of the project: access log and spans, response headers, admission, 405 pages, checks of bodies.

The access log has one line and one span for each request, written after the last byte of the response. It names the
route, never the URL, because users type names and queries into URLs.

Django decodes a request's query and form in the charset of its Content-Type, the query before any middleware runs. Some
codecs are not for text and make the request fail, others produce characters that no database stores. `admitting`
therefore wraps the WSGI application; it also refuses files and bodies that are too large.
"""

from __future__ import annotations

import codecs
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from http import HTTPStatus
from importlib import import_module
from typing import Any, Final, cast
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, StreamingHttpResponse
from django.http.cookie import parse_cookie
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.http import parse_header_parameters

from memoryhub import limits, observability
from memoryhub.db.scope import WideRole, acting_as, current_scope
from memoryhub.observability import tracing
from memoryhub.problem_details import CONTENT_TYPE as PROBLEM_TYPE
from memoryhub.problem_details import is_api, new_request_id, problem_json

log = logging.getLogger(__name__)

# Monitoring requests these every few seconds; successes are logged at DEBUG.
_PROBES = frozenset({"/livez", "/readyz", "/metrics"})
_NO_ROUTE = "-"
# The key of a request's META by which a server says that it sends asynchronous responses.
ASYNC: Final = "memoryhub.async"
_SERVER_ERROR = 500


def client_address(environ: Mapping[str, Any]) -> str:
    """The client's address: with MEMORYHUB_TRUST_PROXY as the nearest proxy says, else that of the connection."""
    if settings.MEMORYHUB_TRUST_PROXY:
        return str(environ.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2].strip()
    return str(environ.get("REMOTE_ADDR", ""))


class AccessMiddleware:
    """Logs each request, with a span; streams when they are closed."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Handle the request and log its end."""
        observability.clear()
        watch = _Watch(request)
        try:
            with acting_as(WideRole.SIGN_IN):  # until it is known who asks
                response = self.get_response(request)
                if isinstance(response, StreamingHttpResponse):
                    _keep_scope(response)
        except BaseException:
            watch.end(_SERVER_ERROR)
            raise
        if isinstance(response, StreamingHttpResponse):
            # Django's servers close every response; its own closers are called after those of the stream.
            response._resource_closers.append(lambda: watch.end(response.status_code))  # type: ignore[attr-defined]  # Django's own
        else:
            watch.end(response.status_code)
        return response


def _keep_scope(response: Any) -> None:
    """Let the parts of a stream, which are made after the middleware returned, run in the scope of the request.

    An asynchronous one keeps it by itself.
    """
    scope, parts = current_scope(), response._iterator

    def in_scope() -> Iterator[Any]:
        end = object()
        while True:
            with acting_as(scope):
                part = next(parts, end)
            if part is end:
                return
            yield part

    if not response.is_async:
        response._iterator = in_scope()
    response._resource_closers = [acting_as(scope)(close) for close in response._resource_closers]


class _Watch:
    """A request's span and log line."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._started = time.perf_counter()
        self._stack = ExitStack()
        self._span = self._stack.enter_context(tracing.span("request", parent=request.headers, method=_method(request)))
        self._over = False

    def end(self, status: int) -> None:
        """Write the line and end the span; later calls do nothing."""
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
        observability.clear()


def _method(request: HttpRequest) -> str:
    """The method, or OTHER: an unknown one could contain any text."""
    known = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
    return str(request.method) if request.method in known else "OTHER"


Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

MAX_ANONYMOUS_BODY_BYTES = 64 * 1024
_READ = frozenset({"utf-8", "ascii"})


def refusal(environ: dict[str, Any]) -> tuple[str, str] | None:
    """The status and text with which a request is refused before its body is read, or None.

    Whoever presents a session or a token may send more; the web worker reads it only from a `known_sender`.
    """
    if not _is_read(content_type := environ.get("CONTENT_TYPE", "")):
        return "400 Bad Request", "Send text as UTF-8."
    if content_type.lower().startswith("multipart/") and not (_is_api(environ) or upload_limit(environ)):
        text = "This page takes no file: send the form as application/x-www-form-urlencoded."
        return "415 Unsupported Media Type", text
    session = f"{settings.SESSION_COOKIE_NAME}=" in environ.get("HTTP_COOKIE", "")
    known = session or "HTTP_AUTHORIZATION" in environ or "HTTP_X_API_KEY" in environ
    largest = upload_limit(environ) or settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    limit = largest if known else MAX_ANONYMOUS_BODY_BYTES
    if length_of(environ) > limit:
        return "413 Content Too Large", _too_large(limit)
    return None


def _is_api(environ: dict[str, Any]) -> bool:
    path = str(environ.get("PATH_INFO", ""))
    return is_api(path) or path in settings.UPLOADS


def upload_limit(environ: Mapping[str, Any]) -> int | None:
    """The largest file or request to a model that this address takes; None if it takes none."""
    largest: int | None = settings.UPLOADS.get(str(environ.get("PATH_INFO", "")).rstrip("/"))
    return largest


def length_of(environ: Mapping[str, Any]) -> int:
    """The announced bytes of the body."""
    try:
        return int(environ.get("CONTENT_LENGTH") or 0)
    except ValueError:  # Django reads no body then
        return 0


def _too_large(limit: int) -> str:
    return f"The body is larger than {limit:,} bytes."


def admitting(application: Application) -> Application:
    """Wrap the WSGI application, so that it never sees requests that have a `refusal`."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if (refused := refusal(environ)) is None:
            return application(environ, start_response)
        status, text = refused
        body, headers = f"{text}\n".encode(), {"Content-Type": "text/plain; charset=utf-8"}
        if _is_api(environ):
            request_id = new_request_id()
            body = problem_json(int(status[:3]), detail=text, request_id=request_id)
            headers = {"Content-Type": PROBLEM_TYPE, "X-Request-ID": request_id}
        headers |= {"Content-Length": str(len(body))}
        headers |= {"X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-store"}
        start_response(status, [*headers.items()])
        return [body]

    return answer


_token_checks: list[Callable[[str, str], UUID | None]] = []


def register_token_check(sender: Callable[[str, str], UUID | None]) -> None:
    """Register a function that says whose the plaintext of a token is, if it works now, from a client's address."""
    if sender not in _token_checks:
        _token_checks.append(sender)


def has_large_body(environ: dict[str, Any]) -> bool:
    """Whether the announced body is larger than anybody may send without a session or token."""
    return length_of(environ) > MAX_ANONYMOUS_BODY_BYTES


def known_sender(environ: dict[str, Any]) -> UUID | None:
    """Whose the request's token or session is, if it works. Raises DatabaseError."""
    scheme, _, token = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    if not scheme and (key := environ.get("HTTP_X_API_KEY")):  # as clients of Anthropic's API send it
        scheme, token = "bearer", key
    request = HttpRequest()
    key = parse_cookie(environ.get("HTTP_COOKIE", "")).get(settings.SESSION_COOKIE_NAME)
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    with acting_as(WideRole.SIGN_IN):
        for sender in _token_checks if scheme.lower() in ("bearer", "token") else ():
            if found := sender(token.strip(), client_address(environ)):
                return found
        return get_user(request).pk


class AnonymousBodyMiddleware:
    """Refuses large bodies of pages without a valid session, unread. The API authenticates before it reads."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer 413, or pass the request on."""
        large = has_large_body(request.META) and not _is_api(request.META)
        if large and not request.user.is_authenticated:
            return HttpResponse(f"{_too_large(MAX_ANONYMOUS_BODY_BYTES)}\n", status=413, content_type="text/plain")
        return self.get_response(request)


def _is_read(content_type: str) -> bool:
    """Whether the charset is missing, unknown (Django ignores it), or UTF-8 or ASCII."""
    try:
        named = parse_header_parameters(content_type)[1].get("charset")
        return named is None or codecs.lookup(named).name in _READ
    except LookupError:
        return True
    except ValueError:  # an unreadable header, or a name with NUL
        return False


class AdmittedRequest(HttpRequest):
    """A request after AdmissionMiddleware: what it `held` is freed with the response, which gets `limit_headers`.

    `sender` names whose limits the request uses first: a token, or a member.
    """

    held: ExitStack
    limit_headers: dict[str, str]
    sender: str


class AdmissionMiddleware:
    """Frees what a view held for its request (a share of the threads, the place of a turn) once the answer is there.

    So whoever has read an answer may ask again at once. A stream frees it when the server closes it, also after the
    reader has left. The answer to a sender who does not wait after a refusal gets `answer_after`, the seconds for which
    the web worker keeps it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Handle the request, and add the headers of its limits."""
        admitted = cast("AdmittedRequest", request)
        admitted.held, admitted.limit_headers, admitted.sender = ExitStack(), {}, ""
        try:
            response = self.get_response(request)
        except BaseException:
            admitted.held.close()
            raise
        for name, value in admitted.limit_headers.items():
            response.headers.setdefault(name, value)
        if response.streaming:
            response._resource_closers.append(admitted.held.close)  # type: ignore[attr-defined]  # Django's own, see above
        else:
            admitted.held.close()
        if response.status_code == HTTPStatus.TOO_MANY_REQUESTS and admitted.sender:
            wait = float(response.headers.get("Retry-After", "1"))
            response.answer_after = limits.backoff.seconds(admitted.sender, wait)  # type: ignore[attr-defined]  # see above
        return response


_DEVICES = "accelerometer camera display-capture geolocation gyroscope magnetometer microphone midi payment usb"
PERMISSIONS_POLICY = ", ".join(f"{feature}=()" for feature in [*_DEVICES.split(), "browsing-topics"])


class ResponseHeadersMiddleware:
    """Adds headers that deny device access and caching: memories are private."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Add the headers; a Cache-Control set by the view stays."""
        response = self.get_response(request)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response


class WrongMethodMiddleware:
    """Replaces an empty 405 response by a page. Runs innermost, so that the other middleware sees the page."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request; an empty 405 becomes a page for browsers."""
        response = self.get_response(request)
        if not isinstance(response, HttpResponseNotAllowed) or response.content or not _reads_html(request):
            return response
        page = render(request, "405.html", status=response.status_code)
        page.headers["Allow"] = response.headers["Allow"]
        return page


def _reads_html(request: HttpRequest) -> bool:
    """Whether the client accepts HTML explicitly; scripts usually send `*/*`."""
    return "text/html" in request.headers.get("Accept", "")
