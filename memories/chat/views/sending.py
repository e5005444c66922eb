"""Sending a message, and answering one again: streamed to scripts, a redirect to the conversation without them.

Invariant: what the user said is stored before any answer begins; a message that cannot be stored comes back whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from memories.agent.events import CONTENT_TYPE, Event, TurnFailed, TurnStarted
from memories.agent.loop import retry_turn, run_turn
from memories.chat.frame import Reader, stream
from memories.chat.presenting import member_page, refusal
from memories.chat.views.conversations import render_chat
from memories.errors import Conflict, InvalidInput
from memories.selectors.sessions import find_turn, get_session
from tenants.principal import Principal


@require_POST
@member_page
def send(request: HttpRequest, principal: Principal, session_id: UUID | None = None) -> HttpResponseBase:
    """Say something, in a session or in a new one. The same `turn_id` again adds nothing."""
    text = request.POST.get("message", "").replace("\r\n", "\n")
    try:
        _require_same_tenant(request, principal)
        turn_id = _turn_id(request)
        events = run_turn(principal, text=text, session_id=session_id, turn_id=turn_id)
        return _answer(request, principal, events)
    except (InvalidInput, Conflict) as error:
        return _refused(request, principal, session_id, text, error)


@require_POST
@member_page
def retry(request: HttpRequest, principal: Principal, session_id: UUID, turn: int) -> HttpResponseBase:
    """Answer a turn again whose answer failed or was cut off."""
    find_turn(principal, session_id, turn)
    try:
        return _answer(request, principal, retry_turn(principal, session_id=session_id, turn=turn))
    except (InvalidInput, Conflict) as error:
        return _refused(request, principal, session_id, "", error)


def _answer(request: HttpRequest, principal: Principal, events: Iterator[Event]) -> HttpResponseBase:
    """Begin the turn, then stream or wait for its end. Raises Conflict if another tab has the turn."""
    started = next(events)
    if isinstance(started, TurnFailed):
        raise Conflict(started.message)
    if not isinstance(started, TurnStarted):
        raise TypeError(f"A turn begins with TurnStarted, not {type(started).__name__}.")
    if _wants_stream(request):
        reader = Reader(principal, timezone.get_current_timezone(), get_token(request))
        response = StreamingHttpResponse(stream(reader, started, events), content_type=CONTENT_TYPE)
        response["X-Accel-Buffering"] = "no"
        return response
    for _event in events:
        pass
    return redirect(f"{reverse('chat:session', args=[started.session_id])}#turn-{started.turn}")


def _refused(
    request: HttpRequest, principal: Principal, session_id: UUID | None, text: str, error: InvalidInput | Conflict
) -> HttpResponse:
    words = refusal(error, "Your message")
    status = 400 if isinstance(error, InvalidInput) else 409
    if _wants_stream(request):
        return JsonResponse({"message": words}, status=status)
    session = get_session(principal, session_id) if session_id else None
    return render_chat(request, principal, session, draft=text, error=words, status=status)


def _require_same_tenant(request: HttpRequest, principal: Principal) -> None:
    """Another tab may have switched the tenant since: what was written for one stays out of the next."""
    if request.POST.get("tenant", str(principal.tenant_id)) != str(principal.tenant_id):
        raise Conflict("You switched to another organisation in another tab. Nothing was sent; reload the page first.")


def _turn_id(request: HttpRequest) -> UUID | None:
    try:
        return UUID(request.POST["turn_id"]) if request.POST.get("turn_id") else None
    except ValueError as error:
        raise InvalidInput("turn_id", "must be a UUID.") from error


def _wants_stream(request: HttpRequest) -> bool:
    return "text/event-stream" in request.headers.get("Accept", "")
