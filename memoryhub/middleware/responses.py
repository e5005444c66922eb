"""UTF-8 requests, response headers that Django has no setting for, and a page for a wrong method.

Django decodes the query and the form of a request in the encoding that its Content-Type names, the query before any
middleware runs. Some encodings are not for text and fail the request, others produce characters that no database
holds; so `reading_utf8` runs before Django.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable
from typing import Any

from django.http import HttpRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.http import parse_header_parameters

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

_READ = frozenset({"utf-8", "ascii"})
_REFUSAL = b"Send text as UTF-8.\n"
_HEADERS = [
    ("Content-Type", "text/plain; charset=utf-8"),
    ("Content-Length", str(len(_REFUSAL))),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "private, no-store"),
]


def reading_utf8(application: Application) -> Application:
    """The application behind a check that answers requests in another encoding with 400."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if _is_read(environ.get("CONTENT_TYPE", "")):
            return application(environ, start_response)
        start_response("400 Bad Request", _HEADERS)
        return [_REFUSAL]

    return answer


def _is_read(content_type: str) -> bool:
    """Whether no encoding is named, or one that Django does not know and leaves alone, or UTF-8."""
    try:
        named = parse_header_parameters(content_type)[1].get("charset")
        return named is None or codecs.lookup(named).name in _READ
    except LookupError:
        return True
    except ValueError:  # no header that anybody can read, or a name with NUL
        return False


PERMISSIONS_POLICY = ", ".join(
    f"{feature}=()"
    for feature in (
        "accelerometer",
        "browsing-topics",
        "camera",
        "display-capture",
        "geolocation",
        "gyroscope",
        "magnetometer",
        "microphone",
        "midi",
        "payment",
        "usb",
    )
)


class ResponseHeadersMiddleware:
    """No page asks for a device, and no cache keeps a page: memories are for their owner's eyes."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Add the headers; a view's own Cache-Control stays."""
        response = self.get_response(request)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response


class WrongMethodMiddleware:
    """Innermost, so that the page is made as all others are."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request; an empty 405 becomes a page."""
        response = self.get_response(request)
        if not isinstance(response, HttpResponseNotAllowed) or response.content or not _reads_html(request):
            return response
        page = render(request, "405.html", status=response.status_code)
        page.headers["Allow"] = response.headers["Allow"]
        return page


def _reads_html(request: HttpRequest) -> bool:
    """Whether it was asked for by name: scripts and tools take anything."""
    return "text/html" in request.headers.get("Accept", "")
