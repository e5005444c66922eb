"""The addresses, scopes, metadata documents (RFC 8414, RFC 9728) and errors of OAuth on this site."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpRequest

from memoryhub.languages import gettext_lazy
from tenants.errors import TenantsError
from tenants.principal import Right

MCP_PATH: Final = "mcp"
AUTHORIZE_PATH, TOKEN_PATH = "oauth/authorize", "oauth/token"
REGISTER_PATH, REVOKE_PATH = "oauth/register", "oauth/revoke"
RESOURCE_DOCUMENT, SERVER_DOCUMENT = ".well-known/oauth-protected-resource", ".well-known/oauth-authorization-server"
# The rights that a client may ask for, in the words of the consent page; none that only people have.
OFFERED: Final[Mapping[Right, str]] = {
    Right.READ: gettext_lazy("Read what is remembered about you, and search it"),
    Right.WRITE: gettext_lazy("Remember, correct and retire; the history shows each change and undoes it"),
    Right.CHAT: gettext_lazy(
        "Talk with the agent of this site as you, and use the language model of your organisation"
    ),
}
# What a client gets that names no scope.
USUAL: Final = (Right.READ, Right.WRITE)


class OAuthError(TenantsError):
    """An error of RFC 6749 by its code. `redirect`: the client's checked address that learns of it; empty: nobody."""

    def __init__(self, code: str, description: str, *, status: int = 400, redirect: str = "", state: str = "") -> None:
        super().__init__(description)
        self.code, self.status = code, status
        self.redirect, self.state = redirect, state


def issuer(request: HttpRequest) -> str:
    """The name of this site as an authorization server: its origin."""
    return request.build_absolute_uri("/").rstrip("/")


def resource(request: HttpRequest) -> str:
    """The address of MCP, for which tokens are asked."""
    return f"{issuer(request)}/{MCP_PATH}"


def bearer_challenge(request: HttpRequest) -> str:
    """The `WWW-Authenticate` of a 401 of MCP, by which a client finds out where it may ask for a token."""
    document = f"{issuer(request)}/{RESOURCE_DOCUMENT}/{MCP_PATH}"
    return f'Bearer realm="memoryhub", resource_metadata="{document}", scope="{" ".join(USUAL)}"'


def resource_metadata(request: HttpRequest) -> dict[str, Any]:
    """The metadata of MCP as a protected resource."""
    return {
        "resource": resource(request),
        "resource_name": "memoryhub",
        "authorization_servers": [issuer(request)],
        "scopes_supported": [*OFFERED],
        "bearer_methods_supported": ["header"],
    }


def server_metadata(request: HttpRequest) -> dict[str, Any]:
    """The metadata of this site as an authorization server."""
    site = issuer(request)
    return {
        "issuer": site,
        "authorization_endpoint": f"{site}/{AUTHORIZE_PATH}",
        "token_endpoint": f"{site}/{TOKEN_PATH}",
        "registration_endpoint": f"{site}/{REGISTER_PATH}",
        "revocation_endpoint": f"{site}/{REVOKE_PATH}",
        "scopes_supported": [*OFFERED],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": True,
    }
