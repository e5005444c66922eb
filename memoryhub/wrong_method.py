"""A page for an address that takes no GET, or no POST: without it a browser shows an error of its own.

Invariant: status and headers stay, and only an empty answer to somebody who reads HTML gets the page.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import render


class WrongMethodMiddleware:
    """Innermost, so that the page is made as all others are."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer; what is not allowed says so."""
        response = self.get_response(request)
        if not isinstance(response, HttpResponseNotAllowed) or response.content or not _reads_html(request):
            return response
        page = render(request, "405.html", status=response.status_code)
        page.headers["Allow"] = response.headers["Allow"]
        return page


def _reads_html(request: HttpRequest) -> bool:
    """Whether it was asked for by name: scripts and tools take anything."""
    return "text/html" in request.headers.get("Accept", "")
