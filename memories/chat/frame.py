"""What the frame around every page shows: the theme, the tenants of the reader, and what does not work right now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from memories.agent.model import chat_model
from memories.search import seems_well
from tenants.middleware import memberships_here
from tenants.models import Membership, User
from tenants.principal import Role

THEME_COOKIE = "theme"
THEMES = ("light", "dark")


def frame(request: HttpRequest) -> dict[str, Any]:
    """The context of `base.html`. Nothing is looked up until the template asks for it."""
    membership: Membership | None = getattr(request, "membership", None)
    return {
        "theme": theme_of(request),
        "membership": membership,
        "memberships": SimpleLazyObject(lambda: _memberships(request)),
        "opens_admin": _opens_admin(request, membership),
        "offline": chat_model().offline,
        "search_down": membership is not None and not seems_well(),
    }


def theme_of(request: HttpRequest) -> str:
    """The theme that the reader chose; empty: what their system prefers. The admin asks for it, too."""
    theme = request.COOKIES.get(THEME_COOKIE, "")
    return theme if theme in THEMES else ""


def _opens_admin(request: HttpRequest, membership: Membership | None) -> bool:
    """The platform's own staff may belong to no tenant."""
    user = getattr(request, "user", None)
    return (isinstance(user, User) and user.is_staff) or (membership is not None and membership.role != Role.MEMBER)


def _memberships(request: HttpRequest) -> Sequence[Membership]:
    user = getattr(request, "user", None)
    return memberships_here(request, user) if isinstance(user, User) else ()
