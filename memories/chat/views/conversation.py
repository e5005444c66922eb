"""The chat page: a new conversation, an existing one, and one turn of it as a fragment for scripts."""

from __future__ import annotations

import re
import uuid
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memories.chat.fragments import turn_fragments
from memories.chat.pages import member_page
from memories.chat.sidebar import recent_sessions
from memories.chat.task import shown_task
from memories.chat.turns import panel_of, shown_turns
from memories.models import Session
from memories.selectors.session_memory import slots_of
from memories.selectors.sessions import TurnView, find_turn, get_session, transcript
from tenants.principal import Principal

TURNS_AT_FIRST = 40
TURNS_AT_MOST = 2_000
_NUMBER = re.compile(r"[0-9]{1,9}")


@require_safe
@member_page
def new(request: HttpRequest, principal: Principal) -> HttpResponse:
    """A conversation that has not begun."""
    return render_chat(request, principal)


@require_safe
@member_page
def show(request: HttpRequest, principal: Principal, session_id: UUID) -> HttpResponse:
    """A conversation, its last turns first; `?last=` shows more, `?turn=` opens what that answer used."""
    return render_chat(request, principal, get_session(principal, session_id))


@require_safe
@member_page
def turn(request: HttpRequest, principal: Principal, session_id: UUID, turn: int) -> JsonResponse:
    """One turn and its panel as rendered HTML, as they are now."""
    view = find_turn(principal, session_id, turn)
    return JsonResponse(turn_fragments(principal, view, csrf_token=get_token(request)))


def render_chat(
    request: HttpRequest,
    principal: Principal,
    session: Session | None = None,
    *,
    draft: str = "",
    error: str = "",
    status: int = 200,
) -> HttpResponse:
    """The whole page. `draft` and `error` come back from a message that could not be taken."""
    turns = transcript(principal, session.pk, last=_number(request, "last", TURNS_AT_FIRST)) if session else ()
    chosen = _chosen(turns, _number(request, "turn", 0))
    context: dict[str, Any] = {
        "session": session,
        "turns": shown_turns(principal, turns),
        "earlier": turns[0].turn - 1 if turns else 0,
        "more": min(len(turns) + 100, TURNS_AT_MOST),
        "task": shown_task(session.pk, slots_of(session)) if session else None,
        "panel": panel_of(principal, chosen) if chosen else None,
        "selected": chosen.turn if chosen else None,
        "groups": recent_sessions(principal),
        "turn_id": uuid.uuid4(),
        "draft": draft,
        "error": error,
    }
    return render(request, "chat/chat.html", context, status=status)


def _chosen(turns: tuple[TurnView, ...], number: int) -> TurnView | None:
    """The turn whose memories stand beside the conversation: the asked one, else the last."""
    return next((each for each in turns if each.turn == number), turns[-1] if turns else None)


def _number(request: HttpRequest, name: str, default: int) -> int:
    value = request.GET.get(name, "")
    return min(int(value), TURNS_AT_MOST) if _NUMBER.fullmatch(value) else default
