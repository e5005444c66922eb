"""What surrounds a page of the chat: the context of `base.html`, the list of conversations, and a turn as a stream.

A streamed turn is the agent's events, and at the end a frame with the rendered turn, its panel and the list, which the
script puts in place of what it drew meanwhile. The same templates draw a page that is loaded whole.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from memories.agent.events import Event, TurnFinished, TurnStarted
from memories.agent.events import frame as frame_of
from memories.agent.model import chat_model
from memories.chat.presenting import shown_task
from memories.chat.turns import panel_of, shown_turns
from memories.models import Session
from memories.presenting.lines import Group, age_title, grouped
from memories.search import seems_well
from memories.selectors.session_memory import slots_of
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


def turn_fragments(principal: Principal, view: TurnView, session: Session, *, csrf_token: str) -> dict[str, object]:
    """`turn_html` and `panel_html` of one turn, with how its answer ended (null: it has none yet)."""
    (shown,) = shown_turns(principal, [view])
    panel = panel_of(principal, view)
    task = shown_task(session.pk, slots_of(session))
    shared = {"csrf_token": csrf_token}
    return {
        "turn": view.turn,
        "state": view.answer_state.value if view.answer_state else None,
        "turn_html": render_to_string("chat/_turn.html", {"turn": shown, "selected": view.turn, **shared}),
        "panel_html": render_to_string("chat/_panel.html", {"panel": panel, "task": task, **shared}),
    }


@dataclass(frozen=True, slots=True)
class Reader:
    """The reader of a streamed page, which is rendered after the request has ended."""

    principal: Principal
    zone: tzinfo
    csrf_token: str


def stream(reader: Reader, started: TurnStarted, rest: Iterator[Event]) -> Generator[bytes]:
    """The frames of a turn that has begun, then the page's. Closing it closes the turn, so that the agent stores it."""
    last: Event = started
    try:
        yield frame_of(started)
        for last in rest:
            yield frame_of(last)
        yield page_frame(reader, started, last)
    finally:
        close = getattr(rest, "close", None)
        if close is not None:
            close()


def page_frame(reader: Reader, started: TurnStarted, last: Event) -> bytes:
    """`event: page`: the turn, the panel and the list of conversations as HTML, with the title and addresses.

    They are drawn from the last event if it carries the turn as it was stored, else read back.
    """
    principal, session_id = reader.principal, started.session_id
    if isinstance(last, TurnFinished) and last.view and last.session:
        view, session = last.view, last.session
    else:
        view, session = find_turn(principal, session_id, started.turn), get_session(principal, session_id)
    groups = recent_sessions(principal)
    with timezone.override(reader.zone):
        data = {
            "type": "page",
            "title": str(session),
            "url": reverse("chat:session", args=[session_id]),
            "send_url": reverse("chat:send", args=[session_id]),
            "menu_html": render_to_string("chat/_session_menu.html", {"session_id": session_id}),
            "sessions_html": render_to_string("chat/_sessions.html", {"groups": groups, "current": session_id}),
            **turn_fragments(principal, view, session, csrf_token=reader.csrf_token),
        }
    return f"event: page\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
