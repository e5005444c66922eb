"""Who calls the API: a program with a token, or a member's browser with its session. Both end in a Principal.

`request.auth` is the principal, and the only thing that views and permissions look at. A request with a token is judged
by the token only; a request with a session needs a CSRF token to change anything.
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
from tenants.errors import NoMembership
from tenants.middleware import TenantRequest, request_id_of
from tenants.models import User
from tenants.principal import Principal, Right
from tenants.services import authenticate_token


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer mh_…`. Unknown, revoked and expired tokens get the same answer."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, Principal] | None:
        """The principal of the token; None without such a header. Raises AuthenticationFailed."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        principal = authenticate_token(token.strip(), request_id=request_id_of(request._request))
        if principal is None:
            raise AuthenticationFailed("This token is not valid: unknown, expired or revoked.")
        log_context.bind(tenant_id=principal.tenant_id, membership_id=principal.membership_id)
        return AnonymousUser(), principal

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 - the framework's signature
        """The value of `WWW-Authenticate` for a caller without credentials."""
        return 'Bearer realm="memoryhub"'


class SessionAuthentication(StockSessionAuthentication):
    """The session of a signed-in member, in the tenant that it is in."""

    def authenticate(self, request: Request) -> tuple[User, Principal] | None:
        """The member in person; None if nobody is signed in. Raises PermissionDenied, NoMembership."""
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
CONVERSE = (Right.CHAT, Right.READ, Right.WRITE)


class HasRights(BasePermission):
    """A view names in `rights` what each of its methods needs; a method that it does not name there is closed."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Whether the principal has them all. Raises Forbidden naming the first that it lacks."""
        principal = request.auth
        if not isinstance(principal, Principal):
            return False
        method = "GET" if request.method == "HEAD" else str(request.method)
        if method.lower() not in view.http_method_names or not hasattr(view, method.lower()):
            return True  # there is nothing to protect: the answer is 405
        needed: Mapping[str, tuple[Right, ...]] = getattr(view, "rights", {})
        for right in needed.get(method, ()):
            principal.require(right)
        return method in needed
