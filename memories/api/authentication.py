"""Authentication of API requests: a bearer token, or the session cookie of a member's browser.

Both set `request.auth` to a Principal, which views and permissions rely on alone. A request with a bearer token is
authenticated by the token only. A session request needs a CSRF token for every method but the safe ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from django.contrib.auth.models import AnonymousUser
from rest_framework.authentication import BaseAuthentication
from rest_framework.authentication import SessionAuthentication as StockSessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from memoryhub import observability as log_context
from memoryhub.db.scope import OwnerScope, WideRole, acting_as, enter
from tenants.errors import NoMembership
from tenants.middleware import TenantRequest, request_id_of
from tenants.models import User
from tenants.principal import Principal, Right
from tenants.services import authenticate_token


class TokenAuthentication(BaseAuthentication):
    """Bearer tokens (`Authorization: Bearer mh_…`). Unknown, revoked and expired tokens get the same response."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, Principal] | None:
        """Return an anonymous user and the token's principal, or None without the header.

        Raises AuthenticationFailed.
        """
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        with acting_as(WideRole.SIGN_IN):  # a session beside the token may have set its own scope
            principal = authenticate_token(token.strip(), request_id=request_id_of(request._request))
        if principal is None:
            raise AuthenticationFailed("This token is not valid: unknown, expired or revoked.")
        log_context.bind(tenant_id=principal.tenant_id, membership_id=principal.membership_id)
        enter(OwnerScope(principal.tenant_id, principal.user_id))
        return AnonymousUser(), principal

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 - the framework's signature
        """The value of `WWW-Authenticate` for a caller without credentials."""
        return 'Bearer realm="memoryhub"'


class SessionAuthentication(StockSessionAuthentication):
    """Django session of a signed-in member, acting in the tenant selected in that session."""

    def authenticate(self, request: Request) -> tuple[User, Principal] | None:
        """Return the user and principal, or None if nobody is signed in. Raises PermissionDenied or NoMembership."""
        signed_in = super().authenticate(request)
        if signed_in is None:
            return None
        principal = cast("TenantRequest", request._request).principal
        if principal is None:
            raise NoMembership("You are in no active tenant.")
        return cast("User", signed_in[0]), principal


READ = (Right.READ,)
WRITE = (Right.WRITE,)
READ_WRITE = (Right.READ, Right.WRITE)
DECIDE = (*READ_WRITE, Right.DECIDE)
CONVERSE = (Right.CHAT, Right.READ, Right.WRITE)


class HasRights(BasePermission):
    """Checks the rights that a view declares per HTTP method in `rights`; an undeclared method is denied."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """True if the principal has every right needed. Raises Forbidden naming the first missing right."""
        principal = request.auth
        if not isinstance(principal, Principal):
            return False
        method = "GET" if request.method == "HEAD" else str(request.method)
        if method.lower() not in view.http_method_names or not hasattr(view, method.lower()):
            return True  # the method does not exist, so the framework responds with 405
        needed: Mapping[str, tuple[Right, ...]] = getattr(view, "rights", {})
        for right in needed.get(method, ()):
            principal.require(right)
        return method in needed
