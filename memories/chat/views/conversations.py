"""Conversations: the chat page, one turn as a fragment, sending and retrying, and the list with rename and forget.

The user's message is stored before the answer starts. A message that cannot be stored is returned unchanged.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from memories.agent.events import Event, TurnFailed, TurnStarted
from memories.agent.loop import retry_turn, run_turn
from memories.agent.streams import streamed
from memories.chat.forms import ActionForm, MessageForm
from memories.chat.frame import Reader, by_age, panel_of, recent_sessions, shown_turns, stream, turn_fragments
from memories.chat.presenting import admitted, counted, member_page, refusal, refusals_shown, shown_task
from memories.errors import Conflict, InvalidInput, LimitExceeded
from memories.models import ReviewKind, Session
from memories.selectors.memories import list_memories
from memories.selectors.reviews import open_reviews
from memories.selectors.session_memory import slots_of
from memories.selectors.sessions import TurnView, find_turn, get_session, list_sessions, transcript
from memories.services.admission import Admission
from memories.services.erasure.forget import forget_session
from memories.services.erasure.proposals import finish_due
from memories.services.sessions.sessions import end_session, rename_session
from memories.types import Kind, Owner, WriteResult
from memoryhub.env.limits import Bucket
from memoryhub.middleware import AdmittedRequest
from tenants.principal import Principal

TURNS_AT_FIRST = 40
TURNS_AT_MOST = 2_000
_NUMBER = re.compile(r"[0-9]{1,9}")


@member_page()
def new(request: HttpRequest, principal: Principal) -> HttpResponse:
    """An empty chat page; the first message creates the session."""
    return render_chat(request, principal)


@member_page()
def show(request: HttpRequest, principal: Principal, session_id: UUID) -> HttpResponse:
    """A conversation with its last turns; `?last=` sets their number, and `?turn=` selects the turn of the panel."""
    finish_due(Owner(principal.tenant_id, principal.user_id))  # the page shows no word that is due to go
    return render_chat(request, principal, get_session(principal, session_id))


@member_page()
def turn(request: HttpRequest, principal: Principal, session_id: UUID, turn: int) -> JsonResponse:
    """The present HTML of one turn and its panel, as JSON."""
    session, view = get_session(principal, session_id), find_turn(principal, session_id, turn)
    return JsonResponse(turn_fragments(principal, view, session, csrf_token=get_token(request)))


def render_chat(
    request: HttpRequest,
    principal: Principal,
    session: Session | None = None,
    *,
    draft: str = "",
    error: str = "",
    status: int = 200,
) -> HttpResponse:
    """Render the whole page. `draft` and `error` return a message that was refused."""
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
        "correction": open_reviews(principal).filter(kind=ReviewKind.CORRECTION).first(),
    }
    return render(request, "chat/chat.html", context, status=status)


def _chosen(turns: tuple[TurnView, ...], number: int) -> TurnView | None:
    """The turn whose memories the panel shows: the one in the URL, else the last."""
    return next((each for each in turns if each.turn == number), turns[-1] if turns else None)


def _number(request: HttpRequest, name: str, default: int) -> int:
    value = request.GET.get(name, "")
    return min(int(value), TURNS_AT_MOST) if _NUMBER.fullmatch(value) else default


PAGE_SIZE = 100


@member_page()
def every(request: HttpRequest, principal: Principal) -> HttpResponse:
    """All conversations of the member, latest first."""
    page: Page[Session] = Paginator(list_sessions(principal), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {"page": page, "groups": by_age(page.object_list), "base": "?"}
    return render(request, "chat/conversations.html", context)


@member_page("GET", "POST")
def rename(request: HttpRequest, principal: Principal, session_id: UUID) -> HttpResponse:
    """Show and process the form for a conversation's title."""
    session = get_session(principal, session_id)
    title, error = str(session), ""
    if request.method == "POST":
        title = ActionForm(request.POST).values()["title"]
        try:
            stored = rename_session(principal, session_id=session_id, title=title).title
        except InvalidInput as invalid:
            error = refusal(invalid, "The title")
        else:
            kept = stored == title.strip()
            messages.success(request, "Renamed." if kept else "Renamed, without what must not be stored.")
            return redirect("chat:session", session_id=session_id)
    context = {"session": session, "title": title, "error": error}
    return render(request, "chat/rename.html", context, status=400 if error else 200)


@member_page("POST")
def finish(request: HttpRequest, principal: Principal, session_id: UUID) -> HttpResponse:
    """POST: end the task of a conversation, and keep its important entries as memory."""
    ended = end_session(principal, session_id=session_id)
    kept = {outcome.memory_id for outcome in ended.proposed if outcome.result is not WriteResult.BLOCKED}
    became = f"Kept as memory: {counted(len(kept), 'fact')}." if kept else "Nothing in it was marked as important."
    messages.success(request, f"The task is finished. {became}")
    return redirect("chat:session", session_id=session_id)


@member_page("GET", "POST")
def forget(request: HttpRequest, principal: Principal, session_id: UUID) -> HttpResponse:
    """Confirm, then erase a conversation; `cascade` also erases the facts that only it supports."""
    session = get_session(principal, session_id)
    if request.method == "POST":
        onward = reverse("chat:session", args=[session_id])
        with refusals_shown(request):
            cascade = ActionForm(request.POST).values()["cascade"]
            outcome = forget_session(principal, session_id=session_id, cascade=cascade)
            gone = counted(len(outcome.erased), "memory", "memories")
            messages.success(request, f"Forgotten for good: the conversation, and {gone} from it.")
            onward = reverse("chat:new")
        return redirect(onward)
    episodes = list_memories(principal, Kind.EPISODIC, session_id=session_id).count()
    return render(request, "chat/forget.html", {"session": session, "episodes": episodes})


@member_page("POST", takes_turn=True)
def send(request: HttpRequest, principal: Principal, session_id: UUID | None = None) -> HttpResponseBase:
    """POST: send a message to a session, or to a new one. A repeated `turn_id` adds nothing."""
    form = MessageForm(request.POST)
    try:
        said = form.values()
        _require_same_tenant(said["tenant"], principal)
        admission = admitted(request, principal, Bucket.TURNS, *([] if session_id else [Bucket.SESSIONS]))
        turn = run_turn(principal, text=said["message"], session_id=session_id, turn_id=said["turn_id"])
        return _answer(request, principal, turn, admission)
    except (InvalidInput, Conflict, LimitExceeded) as error:
        return _refused(request, principal, session_id, form.cleaned_data["message"], error)


@member_page("POST", takes_turn=True)
def retry(request: HttpRequest, principal: Principal, session_id: UUID, turn: int) -> HttpResponseBase:
    """POST: answer a turn again if its answer failed or was cut off."""
    try:
        admission = admitted(request, principal, Bucket.TURNS)
        find_turn(principal, session_id, turn)
        answer = retry_turn(principal, session_id=session_id, turn=turn)
        return _answer(request, principal, answer, admission)
    except (InvalidInput, Conflict, LimitExceeded) as error:
        return _refused(request, principal, session_id, "", error)


def _answer(
    request: HttpRequest, principal: Principal, turn: Iterator[Event], admission: Admission
) -> HttpResponseBase:
    """Start the turn, then stream its events or wait for its end. Raises Conflict if the turn cannot start."""
    events = admission.kept(turn)
    started = next(events)
    if isinstance(started, TurnFailed):
        raise Conflict(started.message)
    if not isinstance(started, TurnStarted):
        raise TypeError(f"A turn begins with TurnStarted, not {type(started).__name__}.")
    if _wants_stream(request):
        reader = Reader(principal, timezone.get_current_timezone(), get_token(request))
        return streamed(request, stream(reader, started, events), admission)
    for _event in events:
        pass
    return redirect(f"{reverse('chat:session', args=[started.session_id])}#turn-{started.turn}")


def _refused(
    request: HttpRequest,
    principal: Principal,
    session_id: UUID | None,
    text: str,
    error: InvalidInput | Conflict | LimitExceeded,
) -> HttpResponse:
    words = refusal(error, "Your message")
    status = 400 if isinstance(error, InvalidInput) else 409
    if isinstance(error, LimitExceeded):
        status = 429
        cast("AdmittedRequest", request).limit_headers |= error.headers
    if _wants_stream(request):
        return JsonResponse({"message": words}, status=status)
    session = get_session(principal, session_id) if session_id else None
    return render_chat(request, principal, session, draft=text, error=words, status=status)


def _require_same_tenant(tenant: str, principal: Principal) -> None:
    """Raise Conflict if another tab switched the tenant, so that no message reaches the wrong tenant."""
    if tenant not in ("", str(principal.tenant_id)):
        raise Conflict("You switched to another organisation in another tab. Nothing was sent; reload the page first.")


def _wants_stream(request: HttpRequest) -> bool:
    return "text/event-stream" in request.headers.get("Accept", "")
