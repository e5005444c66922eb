"""Middleware of the API: one address with and without its last slash, and every error as problem details.

A program that asks for an address that there is not, such as a client with a wrong base URL, gets no page either.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from memories.api.dropin.wires import ChatWire, MessagesWire
from memoryhub.problem_details import CONTENT_TYPE, FIRST_ERROR, as_problem, is_api
from tenants.middleware import request_id_of

# Errors that a view renders itself: problems, and those of MCP, of mem0's routes and of SCIM.
_FORMS = (CONTENT_TYPE, "application/json", "application/scim+json")
_DROP_INS = "/v1/"
# What the clients of OpenAI add to a base URL.
_OPENAI = ("/chat/completions", "/completions", "/responses", "/embeddings", "/models")
_NO_ROUTE = (
    "There is no such route. The base URL of OpenAI's clients ends with /v1, that of Anthropic's clients does not, and"
    " the host of mem0's client ends with /api/mem0; see docs/drop-in.md and docs/mem0.md."
)


class ApiMiddleware:
    """Adds the slash that a path of the API lacks, without a redirect, and renders error pages there as problems.

    Runs around whatever may refuse a request, such as a host that is not served, and inside RequestIdMiddleware.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        if not is_api(request.path_info):
            return _without_page(request, self.get_response(request))
        if not request.path_info.endswith("/"):
            request.path_info += "/"
            request.path += "/"
        response = self.get_response(request)
        if response.status_code < FIRST_ERROR or response.headers.get("Content-Type") in _FORMS:
            return response
        name = detail = ""
        try:
            request.get_host()
        except DisallowedHost:
            name, detail = "unknown-host", "This server is not called so: check the address that you call it by."
        return as_problem(response, request_id_of(request), name=name, detail=detail)


def _without_page(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """The response; for a program at an address that there is not, an error of the API that it speaks."""
    if response.status_code != HTTPStatus.NOT_FOUND or request.resolver_match is not None or not _is_program(request):
        return response
    problem = as_problem(response, request_id_of(request), detail=_NO_ROUTE)
    path, anthropic = request.path_info, "Anthropic-Version" in request.headers
    if anthropic or path.startswith((_DROP_INS, *_OPENAI)):
        wire = MessagesWire() if anthropic else ChatWire()
        said = wire.error(404, _NO_ROUTE, code="not-found", param=None, request_id=request_id_of(request))
        problem.content = json.dumps(said).encode()
        problem.headers["Content-Type"] = "application/json"
    return problem


def _is_program(request: HttpRequest) -> bool:
    """Whether no person reads the answer. Browsers name a mode of fetching, or accept pages."""
    if request.path_info.startswith(_DROP_INS):
        return True
    accepts = request.headers.get("Accept", "")
    if "Sec-Fetch-Mode" in request.headers or "text/html" in accepts:
        return False
    return "json" in accepts or "json" in request.headers.get("Content-Type", "")
