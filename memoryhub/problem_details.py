"""Problem details (RFC 9457), the form of every error under /api/, /mcp and /scim: also of those that no view has seen.

`memories/api/problems.py` makes the problems of the API itself; the web process, the middleware and Django's own error
pages use the table below.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

from django.http import HttpResponse
from django.http.response import HttpResponseBase

_API_ROOTS = ("/api/", "/mcp/", "/scim/")
CONTENT_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:memoryhub:problem:"
FIRST_ERROR, SERVER_ERROR = 400, 500

# Name, title and detail by status, where the layer that refuses the request says no more.
_GENERAL: Mapping[int, tuple[str, str, str]] = {
    400: ("invalid-input", "Invalid input", "The request could not be read. Nothing was stored."),
    403: ("forbidden", "Forbidden", "This is not allowed."),
    404: ("not-found", "Not found", "There is nothing at this address."),
    405: ("method-not-allowed", "Method not allowed", "This address does not take this method: see the header Allow."),
    408: ("timeout", "Request timeout", "The request did not arrive in time. Send it again."),
    413: ("body-too-large", "Body too large", "The body is too large."),
    414: ("address-too-long", "Address too long", "The request line is too long: ask for less in the query."),
    415: ("unsupported-media-type", "Unsupported media type", "Send the body as application/json."),
    417: ("expectation-failed", "Expectation failed", "Leave out the header Expect."),
    431: ("headers-too-large", "Headers too large", "The headers are too long: send fewer, or shorter ones."),
    500: (
        "server-error",
        "Server error",
        "Something went wrong on our side. Name the request id when you report it.",
    ),
    501: ("not-implemented", "Not implemented", "The server does not take this form of transfer."),
}


def problem_members(
    status: int,
    *,
    request_id: str,
    name: str = "",
    title: str = "",
    detail: str = "",
    errors: Iterable[tuple[str, str]] = (),
    more: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """The members of a problem. What is empty is said as the status says it."""
    known = _GENERAL.get(status, _GENERAL[SERVER_ERROR if status >= SERVER_ERROR else FIRST_ERROR])
    members = {
        "type": TYPE_PREFIX + (name or known[0]),
        "title": title or known[1],
        "status": status,
        "detail": detail or known[2],
        "errors": [{"field": field, "reason": reason} for field, reason in errors],
        "request_id": request_id,
    }
    return {**members, **(more or {})}


def problem_json(status: int, **said: Any) -> bytes:
    """The problem of `problem_members` as a body, in ASCII, so that any text can be encoded."""
    return json.dumps(problem_members(status, **said)).encode()


def is_api(path: str) -> bool:
    """Whether a path, with or without its last slash, is of the API or MCP."""
    return f"{path}/".startswith(_API_ROOTS)


def new_request_id() -> str:
    """An id for a request that brought none, or none that may be repeated."""
    return uuid4().hex


def as_problem(response: HttpResponseBase, request_id: str, *, name: str = "", detail: str = "") -> HttpResponse:
    """The problem in place of an error page, with the headers of that page."""
    body = problem_json(response.status_code, request_id=request_id, name=name, detail=detail)
    problem = HttpResponse(body, status=response.status_code, content_type=CONTENT_TYPE)
    for header, value in response.headers.items():
        if header not in ("Content-Type", "Content-Length"):
            problem.headers[header] = value
    problem.headers["Cache-Control"] = "no-store"
    return problem
