"""Asks for the password again before what cannot be undone: the sign-in or the last answer is at most 10 minutes old.

A POST without one is answered by a page that holds what was posted and asks for the password; its form posts both to
the same address. Nothing is stored meanwhile. After five wrong passwords the session ends. The limit on attempts is
shared by all requests of a session, because those at the same time do not see what each other counts in the session.
"""

from __future__ import annotations

import hashlib
import time
from datetime import timedelta
from typing import Any

from allauth.usersessions.models import UserSession
from django.contrib import admin, messages
from django.contrib.auth import logout, user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from memoryhub import limits

PASSWORD_HOLDS = timedelta(minutes=10)
MOST_WRONG = 5
FIELD = "password_again"
# Fields that a page which asks for something first does not hold and post again.
NOT_POSTED = frozenset({FIELD, "csrfmiddlewaretoken"})
_GIVEN_AT, _WRONG = "password_given_at", "passwords_wrong"


@receiver(user_logged_in)
def _signed_in(request: HttpRequest, **_: Any) -> None:
    request.session[_GIVEN_AT] = time.time()


def is_fresh(request: HttpRequest) -> bool:
    """Whether the user of this session gave the password in the last 10 minutes."""
    age: float = time.time() - request.session.get(_GIVEN_AT, 0.0)
    return 0 <= age <= PASSWORD_HOLDS.total_seconds()


@sensitive_variables("password")
def ask_password(request: HttpRequest, page: str = "admin/password_again.html") -> HttpResponse | None:
    """None if the request may go on; otherwise the answer, a page that asks for the password."""
    password = request.POST.get(FIELD)
    user = request.user
    if password is not None:
        given = request.POST.copy()
        del given[FIELD]
        request.POST = given  # type: ignore[assignment]  # what the view reads was never meant to hold it
    if is_fresh(request):
        return None
    wrong = ""
    if password is not None and user.is_authenticated and user.has_usable_password():
        may_try = _may_try(request)
        if may_try and user.check_password(password):
            known_as = request.session.session_key
            request.session.cycle_key()
            UserSession.objects.filter(session_key=known_as).update(session_key=request.session.session_key)
            request.session.pop(_WRONG, None)
            request.session[_GIVEN_AT] = time.time()
            return None
        tries = request.session[_WRONG] = request.session.get(_WRONG, 0) + 1
        if not may_try or tries >= MOST_WRONG:
            logout(request)
            messages.error(request, _("The password was wrong five times, so you were signed out. Nothing was done."))
            return redirect("login")
        wrong = _("This is not your password. Nothing was done yet.")
    posted = [(name, value) for name, values in request.POST.lists() for value in values if name not in NOT_POSTED]
    context = {
        **admin.site.each_context(request),
        "title": _("Your password, please"),
        "posted": posted,
        "field": FIELD,
        "wrong": wrong,
        "minutes": PASSWORD_HOLDS // timedelta(minutes=1),
        "can_answer": user.is_authenticated and user.has_usable_password(),
    }
    return render(request, page, context, status=403)


def _may_try(request: HttpRequest) -> bool:
    """Count an attempt of this session, and return whether it is within the limit."""
    session = hashlib.sha256(str(request.session.session_key).encode()).hexdigest()
    quota = limits.Quota("password_again", session, MOST_WRONG, int(PASSWORD_HOLDS.total_seconds()))
    return all(use.fits for use in limits.take([quota]))


def give_freshness(request: HttpRequest) -> None:
    """Count the password as given now, for a page that asked for it itself."""
    request.session[_GIVEN_AT] = time.time()
