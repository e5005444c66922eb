"""Middleware for the request id, and for the tenant and principal of a signed-in user.

A principal exists only for an active membership of an active user in an active tenant, looked up on every request. If
the session's tenant is gone, only read-only requests switch to another one, so text typed for one tenant is never
stored in another.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence
from typing import cast

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from memoryhub import observability as log_context
from memoryhub.db.scope import OwnerScope, enter
from tenants.models import Membership, Tenant, User
from tenants.principal import ActorKind, Principal
from tenants.principals import principal_of
from tenants.selectors import memberships_of

TENANT_SESSION_KEY = "tenant_id"
REQUEST_ID_HEADER = "X-Request-ID"
_ACCEPTABLE_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,63}", re.ASCII)
_refusing: list[Callable[[str], bool]] = []
_READ_ONLY_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class TenantRequest(HttpRequest):
    """The type of a request after both middlewares; views annotate their `request` with it."""

    request_id: str
    tenant: Tenant | None
    membership: Membership | None
    principal: Principal | None


def request_id_of(request: HttpRequest) -> str:
    """The request id that RequestIdMiddleware set."""
    return cast("TenantRequest", request).request_id


def refuse_request_ids(holding: Callable[[str], bool]) -> None:
    """Register a check; a caller's id that it refuses is replaced, because ids go into every log line and event."""
    if holding not in _refusing:
        _refusing.append(holding)


class RequestIdMiddleware:
    """Sets `request.request_id`: the caller's `X-Request-ID` if acceptable, else a new id. The response repeats it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Set the id before other middleware runs."""
        given = request.headers.get(REQUEST_ID_HEADER, "")
        request_id = given if _is_sensible(given) else uuid.uuid4().hex
        cast("TenantRequest", request).request_id = request_id
        log_context.bind(request_id=request_id)
        response = self.get_response(request)
        response[REQUEST_ID_HEADER] = request_id
        return response


def _is_sensible(given: str) -> bool:
    return bool(_ACCEPTABLE_REQUEST_ID.fullmatch(given)) and not any(refused(given) for refused in _refusing)


class TenantMiddleware:
    """Sets `request.tenant`, `request.membership` and `request.principal`; None for a user who may act in no tenant.

    They are set once the URL has resolved to a view, so unknown addresses and requests without a session cost no query.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Set all three to None until the view is known."""
        _place(request, None)
        return self.get_response(request)

    def process_view(self, request: HttpRequest, _view: object, _args: object, _kwargs: object) -> None:
        """Look up the session's membership."""
        if settings.SESSION_COOKIE_NAME in request.COOKIES and isinstance(request.user, User):
            _place(request, active_membership(request, request.user))


def active_membership(request: HttpRequest, user: User) -> Membership | None:
    """The session's membership. A session without one gets the first by tenant name, and remembers it."""
    remembered = request.session.get(TENANT_SESSION_KEY)
    memberships = memberships_here(request, user)
    if remembered is not None:
        membership = next((each for each in memberships if str(each.tenant_id) == remembered), None)
        if membership is not None or request.method not in _READ_ONLY_METHODS:
            return membership
    membership = next(iter(memberships), None)
    if membership is not None:
        remember_tenant(request, membership)
    return membership


def memberships_here(request: HttpRequest, user: User) -> Sequence[Membership]:
    """The user's active memberships by tenant name; queried once per request."""
    whose, found = cast("tuple[object, Sequence[Membership]]", getattr(request, "_memberships", (None, ())))
    if whose != user.pk:
        found = tuple(memberships_of(user))
        request._memberships = (user.pk, found)  # type: ignore[attr-defined]  # cached for the duration of the request
    return found


def remember_tenant(request: HttpRequest, membership: Membership) -> None:
    """Store the tenant in the session."""
    request.session[TENANT_SESSION_KEY] = str(membership.tenant_id)


def _place(request: HttpRequest, membership: Membership | None) -> None:
    placed = cast("TenantRequest", request)
    placed.membership = membership
    placed.tenant = membership.tenant if membership else None
    if membership is not None:
        log_context.bind(tenant_id=membership.tenant_id, membership_id=membership.pk)
        enter(OwnerScope(membership.tenant_id, membership.user_id))
    placed.principal = (
        principal_of(membership, actor_kind=ActorKind.MEMBER, request_id=request_id_of(request)) if membership else None
    )
