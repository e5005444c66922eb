"""How the pages look: the theme, kept in a cookie so that the server renders it and nothing flashes."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from memories.chat.frame import THEME_COOKIE, THEMES
from memories.chat.pages import next_address

_REMEMBERED_FOR = timedelta(days=365)


@login_not_required
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Remember the chosen theme; anything else than a theme means what the system prefers."""
    response = redirect(next_address(request, "/"))
    chosen = request.POST.get("theme", "")
    if chosen in THEMES:
        response.set_cookie(
            THEME_COOKIE, chosen, max_age=_REMEMBERED_FOR, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE
        )
    else:
        response.delete_cookie(THEME_COOKIE, samesite="Lax")
    return response
