"""The list of conversations beside the chat, under headings that say how long ago."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils import timezone

from memories.models import Session
from memories.presenting.moments import Group, age_title, grouped
from memories.selectors.sessions import list_sessions
from tenants.principal import Principal

SESSIONS_BESIDE_THE_CHAT = 40


def recent_sessions(principal: Principal) -> tuple[Group[Session], ...]:
    """The latest conversations by age."""
    return by_age(list_sessions(principal)[:SESSIONS_BESIDE_THE_CHAT])


def by_age(sessions: Iterable[Session]) -> tuple[Group[Session], ...]:
    """Sessions, latest first, under their headings."""
    today = timezone.localdate()
    return tuple(grouped(sessions, lambda each: age_title(timezone.localdate(each.last_turn_at), today)))
