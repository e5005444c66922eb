"""One turn: sending and answering it, editing it, answering it again, feedback, and the undo of what it saved.

The user's message is stored before the answer starts. A message that cannot be stored is returned unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from memories.agent.events import Event, TurnFailed, TurnStarted
from memories.agent.loop import answer_turn_again, edit_and_answer, retry_turn, run_turn
from memories.agent.streams import streamed
from memories.chat.forms import ActionForm, MessageForm
from memories.chat.frame import Reader, feedback_html, stream, turn_fragments
from memories.chat.presenting import admitted, member_page, refusal, refusals_shown
from memories.chat.views.conversations import render_chat
from memories.errors import Conflict, InvalidInput, LimitExceeded
from memories.selectors.sessions import find_turn, get_session
from memories.services.admission import Admission
from memories.services.feedback import give_feedback, withdraw_feedback
from memories.services.sessions.replacing import undo_saved
from memoryhub.env.limits import Bucket
from memoryhub.languages import ENGLISH
from memoryhub.middleware import AdmittedRequest
from tenants.principal import Principal


@member_page()
def show(request: HttpRequest, principal: Principal, session_id: UUID, turn: int) -> JsonResponse:
    """The present HTML of one turn and its panel, as JSON."""
    session, view = get_session(principal, session_id), find_turn(principal, session_id, turn)
    return JsonResponse(turn_fragments(principal, view, session, csrf_token=get_token(request)))


@member_page("POST", takes_turn=True)
def send(request: HttpRequest, principal: Principal, session_id: UUID | None = None) -> HttpResponseBase:
    """POST: send a message to a session, or to a new one. A repeated `turn_id` adds nothing."""
    form = MessageForm(request.POST)
    try:
        said = form.values()
        _require_same_tenant(said["tenant"], principal)
        admission = admitted(request, principal, Bucket.TURNS, *([] if session_id else [Bucket.SESSIONS]))
        turn = run_turn(
            principal,
            text=said["message"],
            session_id=session_id,
            turn_id=said["turn_id"],
            temporary=said["temporary"],
        )
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


@member_page("POST", takes_turn=True)
def edit(request: HttpRequest, principal: Principal, session_id: UUID, turn: int) -> HttpResponseBase:
    """POST: send an edited message in the place of a turn and all later ones. A repeated `turn_id` adds nothing."""
    form = MessageForm(request.POST)
    try:
        said = form.values()
        admission = admitted(request, principal, Bucket.TURNS)
        answer = edit_and_answer(
            principal, session_id=session_id, turn=turn, text=said["message"], turn_id=said["turn_id"]
        )
        return _answer(request, principal, answer, admission)
    except (InvalidInput, Conflict, LimitExceeded) as error:
        return _refused(request, principal, session_id, form.cleaned_data["message"], error)


@member_page("POST", takes_turn=True)
def again(request: HttpRequest, principal: Principal, session_id: UUID, turn: int) -> HttpResponseBase:
    """POST: answer the last turn once more."""
    try:
        admission = admitted(request, principal, Bucket.TURNS)
        answer = answer_turn_again(principal, session_id=session_id, turn=turn)
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
        reader = Reader(principal, timezone.get_current_timezone(), get_language() or ENGLISH, get_token(request))
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
    words = refusal(error, _("Your message"))
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
        raise Conflict(
            _("You switched to another organisation in another tab. Nothing was sent; reload the page first.")
        )


def _wants_stream(request: HttpRequest) -> bool:
    return "text/event-stream" in request.headers.get("Accept", "")


@member_page("POST")
def feedback(request: HttpRequest, principal: Principal, session_id: UUID, turn: int) -> HttpResponse:
    """POST: `verdict` up or down with an optional `note`, or empty to withdraw it. Scripts get the buttons as JSON."""
    find_turn(principal, session_id, turn)
    form = ActionForm(request.POST).values()

    def act() -> None:
        if form["verdict"]:
            give_feedback(principal, session_id=session_id, turn=turn, verdict=form["verdict"], note=form["note"])
        else:
            withdraw_feedback(principal, session_id=session_id, turn=turn)

    message, status = _done(request, act, subject=_("The note"))
    if not _wants_json(request):
        return _to_turn(session_id, turn)
    view = find_turn(principal, session_id, turn)
    html = feedback_html(principal, view, csrf_token=get_token(request))
    return JsonResponse({"html": html, "message": message}, status=status)


@member_page("POST")
def undo(request: HttpRequest, principal: Principal, session_id: UUID, turn: int) -> HttpResponse:
    """POST: take back what the words of a turn saved. Scripts get the turn as it is then as JSON."""
    session = get_session(principal, session_id)
    find_turn(principal, session_id, turn)
    message, status = _done(request, lambda: undo_saved(principal, session_id=session_id, turn=turn))
    if not _wants_json(request):
        return _to_turn(session_id, turn)
    view = find_turn(principal, session_id, turn)
    fragments = turn_fragments(principal, view, session, csrf_token=get_token(request))
    return JsonResponse({**fragments, "message": message}, status=status)


def _done(request: HttpRequest, act: Callable[[], object], subject: str = "") -> tuple[str, int]:
    """Run `act`: the refusal as a sentence with its status for scripts, or as a message on the next page."""
    if not _wants_json(request):
        with refusals_shown(request, subject):
            act()
        return "", 200
    try:
        act()
    except (InvalidInput, Conflict) as error:
        return refusal(error, subject), 400 if isinstance(error, InvalidInput) else 409
    return "", 200


def _to_turn(session_id: UUID, turn: int) -> HttpResponse:
    return redirect(f"{reverse('chat:session', args=[session_id])}#turn-{turn}")


def _wants_json(request: HttpRequest) -> bool:
    return "application/json" in request.headers.get("Accept", "")
