"""What the frame around every page shows: the theme, the tenants of the reader, and what does not work right now.

The list of conversations beside the chat, under headings that say how long ago.

Parts of the chat page as rendered HTML, for scripts that put them in place of what they drew while streaming.

Invariant: one set of templates draws a turn, whether the page was loaded, streamed or refreshed.

A turn as server-sent events for the chat page: the agent's events, and at the end the rendered turn and its panel.

Invariant: closing the stream closes the turn, so that the agent stores what was said until then.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from memories.agent import sse
from memories.agent.events import Event, TurnStarted
from memories.agent.model import chat_model
from memories.chat.presenting import shown_task
from memories.chat.turns import panel_of, shown_turns
from memories.models import Session
from memories.presenting.moments import Group, age_title, grouped
from memories.search import seems_well
from memories.selectors.session_memory import working_memory
from memories.selectors.sessions import TurnView, find_turn, get_session, list_sessions
from tenants.middleware import memberships_here
from tenants.models import Membership, User
from tenants.principal import Principal, Role

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


SESSIONS_BESIDE_THE_CHAT = 40


def recent_sessions(principal: Principal) -> tuple[Group[Session], ...]:
    """The latest conversations by age."""
    return by_age(list_sessions(principal)[:SESSIONS_BESIDE_THE_CHAT])


def by_age(sessions: Iterable[Session]) -> tuple[Group[Session], ...]:
    """Sessions, latest first, under their headings."""
    today = timezone.localdate()
    return tuple(grouped(sessions, lambda each: age_title(timezone.localdate(each.last_turn_at), today)))


def turn_fragments(principal: Principal, view: TurnView, *, csrf_token: str) -> dict[str, object]:
    """`turn_html` and `panel_html` of one turn, with how its answer ended (null: it has none yet)."""
    (shown,) = shown_turns(principal, [view])
    panel = panel_of(principal, view)
    task = shown_task(view.session_id, working_memory(principal, view.session_id))
    shared = {"csrf_token": csrf_token}
    return {
        "turn": view.turn,
        "state": view.answer_state.value if view.answer_state else None,
        "turn_html": render_to_string("chat/_turn.html", {"turn": shown, "selected": view.turn, **shared}),
        "panel_html": render_to_string("chat/_panel.html", {"panel": panel, "task": task, **shared}),
    }


def sessions_fragment(principal: Principal, current: object) -> str:
    """The list of conversations, with the current one marked."""
    return render_to_string("chat/_sessions.html", {"groups": recent_sessions(principal), "current": current})


@dataclass(frozen=True, slots=True)
class Reader:
    """For whom a page is rendered, after the request itself is gone."""

    principal: Principal
    zone: tzinfo
    csrf_token: str


def stream(reader: Reader, started: TurnStarted, rest: Iterator[Event]) -> Generator[bytes]:
    """The frames of a turn that has begun."""
    try:
        yield sse.frame(started)
        yield from sse.frames(rest)
        yield page_frame(reader, started.session_id, started.turn)
    finally:
        close = getattr(rest, "close", None)
        if close is not None:
            close()


def page_frame(reader: Reader, session_id: UUID, turn: int) -> bytes:
    """`event: page`: the turn, the panel and the list of conversations as HTML, with the title and addresses."""
    principal = reader.principal
    view = find_turn(principal, session_id, turn)
    session = get_session(principal, session_id)
    with timezone.override(reader.zone):
        data = {
            "type": "page",
            "title": str(session),
            "url": reverse("chat:session", args=[session_id]),
            "send_url": reverse("chat:send", args=[session_id]),
            "menu_html": render_to_string("chat/_session_menu.html", {"session_id": session_id}),
            "sessions_html": sessions_fragment(principal, session_id),
            **turn_fragments(principal, view, csrf_token=reader.csrf_token),
        }
    return f"event: page\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
