"""What programs ask of OAuth: metadata, registration, tokens and their end. The consent is a page of the member's.

Any web page may call these, since none of them reads a cookie and each answer needs a secret of the caller's own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from memoryhub.db.scope import WideRole, acting_as
from memoryhub.middleware import client_address
from tenants.oauth.clients import register_client
from tenants.oauth.grants import IssuedTokens, check_resource, exchange_code, parameter, refresh, revoke
from tenants.oauth.protocol import (
    MCP_PATH,
    REGISTER_PATH,
    RESOURCE_DOCUMENT,
    REVOKE_PATH,
    SERVER_DOCUMENT,
    TOKEN_PATH,
    OAuthError,
    resource,
    resource_metadata,
    server_metadata,
)

_ANYWHERE = {"Access-Control-Allow-Origin": "*"}
_HEADERS = "Content-Type, MCP-Protocol-Version"
Answer = Callable[[HttpRequest], Any]


def _endpoint(method: str, status: int = HTTPStatus.OK) -> Callable[[Answer], Callable[..., HttpResponse]]:
    """A view with one method, whose JSON or error any page may read."""

    def decorate(answer: Answer) -> Callable[..., HttpResponse]:
        @csrf_exempt
        @login_not_required
        @wraps(answer)
        def view(request: HttpRequest) -> HttpResponse:
            if request.method == "OPTIONS":
                allowed = {"Access-Control-Allow-Methods": method, "Access-Control-Allow-Headers": _HEADERS}
                return HttpResponse(status=HTTPStatus.NO_CONTENT, headers=_ANYWHERE | allowed)
            if request.method != method:
                headers = _ANYWHERE | {"Allow": f"{method}, OPTIONS"}
                return _refused(OAuthError("invalid_request", f"Use {method}.", status=405), headers)
            try:
                with acting_as(WideRole.STAFF):
                    body = answer(request)
            except OAuthError as error:
                return _refused(error, _ANYWHERE)
            return JsonResponse(body, status=status, headers=_ANYWHERE | {"Cache-Control": "no-store"})

        return view

    return decorate


def _refused(error: OAuthError, headers: dict[str, str]) -> HttpResponse:
    body = {"error": error.code, "error_description": str(error)}
    return JsonResponse(body, status=error.status, headers=headers | {"Cache-Control": "no-store"})


@_endpoint("GET")
def protected_resource(request: HttpRequest) -> dict[str, Any]:
    """The metadata of MCP as a protected resource."""
    return resource_metadata(request)


@_endpoint("GET")
def authorization_server(request: HttpRequest) -> dict[str, Any]:
    """The metadata of this site as an authorization server."""
    return server_metadata(request)


@_endpoint("POST", status=HTTPStatus.CREATED)
def register(request: HttpRequest) -> dict[str, Any]:
    """Register a public client (RFC 7591). What it says of itself beyond name and addresses is not kept."""
    try:
        metadata = json.loads(request.body)
    except (ValueError, RecursionError):
        raise OAuthError("invalid_client_metadata", "Send a JSON object.") from None
    client = register_client(metadata, address=client_address(request.META))
    return {
        "client_id": client.client_id,
        "client_id_issued_at": int(client.checked_at.timestamp()),
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }


@_endpoint("POST")
def token(request: HttpRequest) -> dict[str, Any]:
    """Give tokens for a code, or for a refresh token."""
    sent = request.POST
    kind, client_id = parameter(sent, "grant_type"), parameter(sent, "client_id")
    check_resource(sent, resource(request))
    if kind == "authorization_code":
        names = {"code": "code", "redirect_uri": "redirect_uri", "verifier": "code_verifier"}
        issued = exchange_code(client_id=client_id, **{ours: parameter(sent, name) for ours, name in names.items()})
    elif kind == "refresh_token":
        issued = refresh(client_id=client_id, refresh_token=parameter(sent, "refresh_token"))
    else:
        raise OAuthError("unsupported_grant_type", "grant_type is authorization_code or refresh_token.")
    return _shown(issued)


def _shown(issued: IssuedTokens) -> dict[str, Any]:
    return {
        "access_token": issued.access,
        "token_type": "Bearer",
        "expires_in": issued.seconds,
        "refresh_token": issued.refresh,
        "scope": " ".join(issued.scopes),
    }


@_endpoint("POST")
def revocation(request: HttpRequest) -> dict[str, Any]:
    """End the grant of an access or refresh token; the answer says nothing about it (RFC 7009)."""
    revoke(client_id=parameter(request.POST, "client_id"), token=parameter(request.POST, "token"))
    return {}


app_name = "oauth"

urlpatterns = [
    path(RESOURCE_DOCUMENT, protected_resource),
    path(f"{RESOURCE_DOCUMENT}/{MCP_PATH}", protected_resource, name="resource"),
    path(SERVER_DOCUMENT, authorization_server, name="server"),
    path(REGISTER_PATH, register, name="register"),
    path(TOKEN_PATH, token, name="token"),
    path(REVOKE_PATH, revocation, name="revoke"),
]
