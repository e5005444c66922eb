"""Rules for the sessions of staff: they end early, and where a tenant requires it they need a second factor.

A session of staff ends 12 hours after the sign-in, and after 30 minutes in which nobody did anything. Requests that a
page makes by itself, such as those of a live view, do not count as activity. Members' sessions last
SESSION_COOKIE_AGE.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout, user_logged_in
from django.contrib.sessions.models import Session
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memoryhub.db.scope import WideRole, acting_as
from memoryhub.problem_details import CONTENT_TYPE as PROBLEM_TYPE
from memoryhub.problem_details import is_api, problem_json
from tenants.middleware import memberships_here, request_id_of
from tenants.models import Membership, Tenant, User
from tenants.principal import Role

STAFF_LASTS, STAFF_IDLE = timedelta(hours=12), timedelta(minutes=30)
SIGNED_IN_AT, SEEN_AT = "signed_in_at", "seen_at"
# The session is stored again at most this often, to say that its user is there: seconds.
_SEEN_EVERY = 60.0
_FACTORS = [Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN]
# Pages that stay open to staff without a second factor, by name.
_OPEN = frozenset({"logout", "account_logout", "account_reauthenticate", "account_change_password", "invitation"})


@receiver(user_logged_in)
def _signed_in(request: HttpRequest, **_kwargs: Any) -> None:
    request.session[SIGNED_IN_AT] = request.session[SEEN_AT] = time.time()


class _Middleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)


class StaffSessionMiddleware(_Middleware):
    """Ends sessions of staff; what follows sees nobody signed in."""

    def process_view(self, request: HttpRequest, _view: object, _args: object, _kwargs: object) -> None:
        """End the session, or note that its user is there."""
        if settings.SESSION_COOKIE_NAME not in request.COOKIES or not getattr(request.user, "is_staff", False):
            return
        now, session = time.time(), request.session
        if why := _why_over(now - session.get(SIGNED_IN_AT, 0.0), now - session.get(SEEN_AT, 0.0)):
            logout(request)
            messages.info(request, why)
        elif _by_a_person(request) and now - session[SEEN_AT] > _SEEN_EVERY:
            session[SEEN_AT] = now


def _why_over(age: float, idle: float) -> str:
    if age > STAFF_LASTS.total_seconds():
        hours = STAFF_LASTS // timedelta(hours=1)
        return (
            ngettext(
                "Sign in again: staff sign in every %d hour.", "Sign in again: staff sign in every %d hours.", hours
            )
            % hours
        )
    if idle > STAFF_IDLE.total_seconds():
        minutes = STAFF_IDLE // timedelta(minutes=1)
        return (
            ngettext(
                "You were signed out after %d minute without activity.",
                "You were signed out after %d minutes without activity.",
                minutes,
            )
            % minutes
        )
    return ""


def _by_a_person(request: HttpRequest) -> bool:
    return request.method == "POST" or request.headers.get("Sec-Fetch-Mode", "navigate") == "navigate"


class SecondFactorMiddleware(_Middleware):
    """Leads staff to the page where they add a second factor, if one is required and they have none."""

    def process_view(
        self, request: HttpRequest, _view: object, _args: object, _kwargs: object
    ) -> HttpResponseBase | None:
        """Redirect, or 403 for the API."""
        user, match = request.user, request.resolver_match
        if settings.SESSION_COOKIE_NAME not in request.COOKIES or not isinstance(user, User) or match is None:
            return None
        name = match.url_name or ""
        if name in _OPEN or name.startswith("mfa_") or not lacks_second_factor(user, memberships_here(request, user)):
            return None
        why = _("Your organisation requires a second factor. Add one to go on.")
        if is_api(request.path):
            body = problem_json(403, detail=why, request_id=request_id_of(request))
            return HttpResponse(body, status=403, content_type=PROBLEM_TYPE)
        messages.warning(request, why)
        return redirect("mfa_index")


def lacks_second_factor(user: User, memberships: Iterable[Membership]) -> bool:
    """Whether the user must have a second factor and has none.

    Operators must if any tenant requires one, because they see all tenants.
    """
    if not (user.is_staff or user.is_superuser):
        return False
    required = any(each.role != Role.MEMBER and each.tenant.staff_second_factor for each in memberships)
    if not required and user.is_superuser:
        with acting_as(WideRole.SIGN_IN):  # all tenants, not only that of the session
            required = Tenant.objects.filter(is_active=True, staff_second_factor=True).exists()
    return required and not is_mfa_enabled(user, _FACTORS)


def clear_expired() -> None:
    """The job that deletes sessions that have ended."""
    Session.objects.filter(expire_date__lt=timezone.now()).delete()
    UserSession.objects.exclude(session_key__in=Session.objects.values("session_key")).delete()
