"""A turn as server-sent events for the chat page: the agent's events, and at the end the rendered turn and its panel.

Invariant: closing the stream closes the turn, so that the agent stores what was said until then.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import tzinfo
from uuid import UUID

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from memories.agent import sse
from memories.agent.events import Event, TurnStarted
from memories.chat.fragments import sessions_fragment, turn_fragments
from memories.selectors.sessions import find_turn, get_session
from tenants.principal import Principal


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
