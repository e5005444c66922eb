"""The id of a request, and for a signed-in user the current tenant and principal.

A principal exists only for an active membership of an active user in an active tenant, looked up on every request. When
the session's tenant is lost, only a page that changes nothing moves on to another one: words written for one tenant
never land in the next.
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
    """A request after both middlewares; views annotate their `request` with it."""

    request_id: str
    tenant: Tenant | None
    membership: Membership | None
    principal: Principal | None


def request_id_of(request: HttpRequest) -> str:
    """The id that RequestIdMiddleware gave."""
    return cast("TenantRequest", request).request_id


def refuse_request_ids(holding: Callable[[str], bool]) -> None:
    """A caller's id of which this is true is not kept, from now on: ids go into every log line and event."""
    if holding not in _refusing:
        _refusing.append(holding)


class RequestIdMiddleware:
    """`request.request_id`: the caller's `X-Request-ID` if it is sensible, else a new one; sent back either way."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Name the request before anything else sees it."""
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

    They are set when a view is found: an address that leads nowhere, and a caller without a session, cost no query.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Nobody, until a view is found."""
        _place(request, None)
        return self.get_response(request)

    def process_view(self, request: HttpRequest, _view: object, _args: object, _kwargs: object) -> None:
        """Look the membership up."""
        if settings.SESSION_COOKIE_NAME in request.COOKIES and isinstance(request.user, User):
            _place(request, active_membership(request, request.user))


def active_membership(request: HttpRequest, user: User) -> Membership | None:
    """The membership that the session is in; the first by name, from then on, for a session that is in none yet."""
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
    """Where the user of this request may act, by the name of the tenant; asked once, however often a page needs it."""
    whose, found = cast("tuple[object, Sequence[Membership]]", getattr(request, "_memberships", (None, ())))
    if whose != user.pk:
        found = tuple(memberships_of(user))
        request._memberships = (user.pk, found)  # type: ignore[attr-defined]  # kept where it ends with the request
    return found


def remember_tenant(request: HttpRequest, membership: Membership) -> None:
    """From now on the session is in this tenant."""
    request.session[TENANT_SESSION_KEY] = str(membership.tenant_id)


def _place(request: HttpRequest, membership: Membership | None) -> None:
    placed = cast("TenantRequest", request)
    placed.membership = membership
    placed.tenant = membership.tenant if membership else None
    if membership is not None:
        log_context.bind(tenant_id=membership.tenant_id, membership_id=membership.pk)
    placed.principal = (
        principal_of(membership, actor_kind=ActorKind.MEMBER, request_id=request_id_of(request)) if membership else None
    )
