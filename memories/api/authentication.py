"""Authentication of API requests: a bearer token, or the session cookie of a member's browser.

Both set `request.auth` to a Principal, or a KeyHolder for a backend key, which views and permissions rely on alone
(`memories/api/acting.py` lets a key act for a member). A request with a bearer token is authenticated by it only. A
session request needs a CSRF token for every method but the safe ones.
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
from memoryhub.middleware import client_address
from tenants.errors import NoMembership
from tenants.middleware import TenantRequest, request_id_of
from tenants.models import User
from tenants.principal import KeyHolder, Principal, Right
from tenants.services import authenticate_key, authenticate_token
from tenants.tokens import is_key


class TokenAuthentication(BaseAuthentication):
    """Bearer tokens (`mh_…`) and backend keys (`mhb_…`). All that do not work get the same response."""

    scheme = "bearer"

    def authenticate(self, request: Request) -> tuple[AnonymousUser, Principal | KeyHolder] | None:
        """Return an anonymous user and the token's principal or key's holder, or None without the header.

        Raises AuthenticationFailed.
        """
        plaintext, request_id = self.presented(request), request_id_of(request._request)
        if plaintext is None:
            return None
        authenticate = authenticate_key if is_key(plaintext) else authenticate_token
        with acting_as(WideRole.SIGN_IN):  # a session beside the token may have set its own scope
            caller = authenticate(plaintext, request_id=request_id, address=client_address(request._request.META))
        if caller is None:
            raise AuthenticationFailed("This token is not valid: unknown, expired, revoked, or not from this network.")
        member = caller if isinstance(caller, Principal) else None
        log_context.bind(tenant_id=caller.tenant_id, membership_id=member and member.membership_id)
        enter(OwnerScope(caller.tenant_id, member.user_id if member else None))
        return AnonymousUser(), caller

    def presented(self, request: Request) -> str | None:
        """The token or key that a request presents."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return token.strip() if scheme.lower() == self.scheme else None

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 - the framework's signature
        """The value of `WWW-Authenticate` for a caller without credentials."""
        return f'{self.scheme.capitalize()} realm="memoryhub"'


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
TOKENS = (Right.TOKENS,)
MEMBERS = (Right.MEMBERS,)
PEOPLE = (Right.PEOPLE,)
AUDIT = (Right.AUDIT,)
ADMINISTER = (Right.ADMINISTER,)
DECIDE_FOR_TENANT = (Right.WRITE, Right.ADMINISTER)
CONVERSE = (Right.CHAT, Right.READ, Right.WRITE)


class HasRights(BasePermission):
    """Checks the rights that a view declares per HTTP method in `rights`; an undeclared method is denied."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """True if the caller has every right needed. Raises Forbidden naming the first missing right."""
        caller = request.auth
        if not isinstance(caller, Principal | KeyHolder):
            return False
        method = "GET" if request.method == "HEAD" else str(request.method)
        if method.lower() not in view.http_method_names or not hasattr(view, method.lower()):
            return True  # the method does not exist, so the framework responds with 405
        needed: Mapping[str, tuple[Right, ...]] = getattr(view, "rights", {})
        for right in needed.get(method, ()):
            caller.require(right)
        return method in needed
