"""Middleware of the API: one address with and without its last slash, and every error as problem details."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from memoryhub.problem_details import CONTENT_TYPE, FIRST_ERROR, as_problem, is_api
from tenants.middleware import request_id_of

# Errors that a view renders itself: problems, and those of MCP, of mem0's routes and of SCIM.
_FORMS = (CONTENT_TYPE, "application/json", "application/scim+json")


class ApiMiddleware:
    """Adds the slash that a path of the API lacks, without a redirect, and renders error pages there as problems.

    Runs around whatever may refuse a request, such as a host that is not served, and inside RequestIdMiddleware.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        if not is_api(request.path_info):
            return self.get_response(request)
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
