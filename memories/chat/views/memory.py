"""One memory: its page, its correction, its end, undo, pin and erasure, and the original of masked words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memories.chat.forms import ForgetForm, PinForm, ReasonForm, TextForm
from memories.chat.history import states_of
from memories.chat.presenting import address, cards_of, counted, details_of, member_page, next_address, refusal
from memories.errors import Blocked, Conflict, InvalidInput
from memories.hygiene.sensitivity import telling
from memories.models import CatalogEntry, Playbook
from memories.presenting.lines import SECTIONS
from memories.selectors.history.stories import questions_of, supported_facts
from memories.selectors.memories import get_memory, has_original, is_shared, messages_using
from memories.selectors.reviews import review_about
from memories.services.erasure.forget import forget as forget_memory
from memories.services.erasure.forget import preview_forget
from memories.services.facts.remember import pin_fact
from memories.services.facts.supersede import correct as correct_memory
from memories.services.facts.supersede import retire as retire_memory
from memories.services.facts.undo import undo as undo_ending
from memories.services.originals import open_original
from memories.services.screening import Screen
from memories.types import ForgetOutcome, Kind, WriteOutcome
from tenants.errors import Forbidden
from tenants.principal import Principal

USES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class QuestionUsing:
    """A question whose answer used a memory; the question is empty once it was forgotten."""

    question: str
    url: str
    at: datetime


@require_safe
@member_page
def show(request: HttpRequest, principal: Principal, kind: Kind, memory_id: UUID) -> HttpResponse:
    """The page of one memory."""
    return _page(request, principal, kind, memory_id)


@require_POST
@member_page
def correct(request: HttpRequest, principal: Principal, kind: Kind, memory_id: UUID) -> HttpResponse:
    """Replace a wrong memory by the text of the form."""
    get_memory(principal, kind, memory_id)
    text = TextForm(request.POST).values()["text"]
    try:
        outcome = correct_memory(principal, kind=kind, memory_id=memory_id, text=text)
    except InvalidInput as error:
        return _page(request, principal, kind, memory_id, correction=text, correction_error=refusal(error, "The text"))
    except Blocked as error:
        return _blocked(request, principal, kind, memory_id, text=text, error=error)
    except Conflict as error:
        messages.error(request, str(error))
        return redirect(address(kind, memory_id))
    messages.success(request, "Corrected. The old wording stays in the history, marked as wrong.")
    return redirect(next_address(request, address(kind, outcome.memory_id)))


@require_POST
@member_page
def retire(request: HttpRequest, principal: Principal, kind: Kind, memory_id: UUID) -> HttpResponse:
    """End a memory that is no longer true, with nothing in its place."""
    get_memory(principal, kind, memory_id)
    reason = ReasonForm(request.POST).values()["reason"].strip()
    try:
        retire_memory(principal, kind=kind, memory_id=memory_id, reason=reason)
    except (InvalidInput, Conflict) as error:
        messages.error(request, refusal(error, "The reason"))
    except Blocked as error:
        messages.error(request, telling.refusal(error, to_people=True))
    else:
        messages.success(request, "Retired. It stays in the history and is not recalled again.")
    return redirect(next_address(request, address(kind, memory_id)))


@require_POST
@member_page
def undo(request: HttpRequest, principal: Principal, kind: Kind, memory_id: UUID) -> HttpResponse:
    """Undo a replacement, an end, or a former undo."""
    get_memory(principal, kind, memory_id)
    try:
        outcome = undo_ending(principal, kind=kind, memory_id=memory_id)
    except Conflict as error:
        messages.error(request, str(error))
        return redirect(address(kind, memory_id))
    messages.success(request, _undone(outcome))
    return redirect(address(kind, outcome.memory_id))


@require_POST
@member_page
def pin(request: HttpRequest, principal: Principal, kind: Kind, memory_id: UUID) -> HttpResponse:
    """Pin a fact, or unpin it."""
    pinned = PinForm(request.POST).values()["pinned"]
    get_memory(principal, kind, memory_id)
    try:
        pin_fact(principal, fact_id=memory_id, pinned=pinned)
    except Conflict as error:
        messages.error(request, str(error))
    else:
        messages.success(
            request, "Pinned: it comes first, and is always on your agent's mind." if pinned else "Unpinned."
        )
    return redirect(next_address(request, address(kind, memory_id)))


def _undone(outcome: WriteOutcome) -> str:
    """The result of an undo, in a sentence or two."""
    if outcome.memory_id in outcome.superseded_ids:
        return "Undone: it is not believed any more. It stays in the history, marked as wrong."
    mistaken = " What had taken its place stays in the history, marked as wrong." if outcome.superseded_ids else ""
    return f"Undone: it is believed again.{mistaken}"


def _blocked(
    request: HttpRequest, principal: Principal, kind: Kind, memory_id: UUID, *, text: str, error: Blocked
) -> HttpResponse:
    """The form again, with the value masked in its text and a sentence that says where it was."""
    without = Screen(principal).said(text).text
    told = f"{telling.whereabouts(error)}. It is not stored and was taken out here: save it so, or say it otherwise."
    return _page(request, principal, kind, memory_id, correction=without, correction_error=told)


def _page(
    request: HttpRequest,
    principal: Principal,
    kind: Kind,
    memory_id: UUID,
    *,
    correction: str = "",
    correction_error: str = "",
) -> HttpResponse:
    row = get_memory(principal, kind, memory_id)
    (card,) = cards_of(principal, [row], quotes=True)
    using = messages_using(principal, memory_id)
    learned = cards_of(principal, list(supported_facts(principal, memory_id))) if kind is Kind.EPISODIC else ()
    uses = [
        QuestionUsing(each.text, f"{_session(each.session_id)}?turn={each.turn}#turn-{each.turn}", each.created_at)
        for each in questions_of(principal, using[:USES_SHOWN])
    ]
    context: dict[str, Any] = {
        "section": SECTIONS[kind],
        "card": card,
        "body": row.text if isinstance(row, Playbook | CatalogEntry) else "",
        "states": states_of(principal, kind, memory_id),
        "review": review_about(principal, memory_id),
        "learned": learned,
        "uses": uses,
        "more_uses": max(using.count() - USES_SHOWN, 0),
        "details": details_of(row),
        "session_url": _session(card.session_id) if card.session_id else "",
        "source_url": row.source_url if isinstance(row, CatalogEntry) else "",
        "has_original": has_original(principal, memory_id),
        "correction": correction,
        "correction_error": correction_error,
    }
    return render(request, "remember/memory.html", context, status=400 if correction_error else 200)


def _session(session_id: UUID) -> str:
    return reverse("chat:session", args=[session_id])


@require_http_methods(["GET", "POST"])
@member_page
def forget(request: HttpRequest, principal: Principal, kind: Kind, memory_id: UUID) -> HttpResponse:
    """Ask, then erase. `more` takes along the words that a fact came from, or the facts that only an event supports."""
    row = get_memory(principal, kind, memory_id)
    if is_shared(row):
        raise Forbidden("Only an administrator can remove what is shared with everybody.")
    if request.method == "POST":
        more = ForgetForm(request.POST).values()["more"]
        try:
            outcome = forget_memory(principal, kind=kind, memory_id=memory_id, cascade=more, sources=more)
        except Conflict as error:
            messages.error(request, str(error))
            return redirect(request.get_full_path())
        messages.success(request, _told(kind, outcome))
        return redirect(_back(request, kind, memory_id))
    alone = preview_forget(principal, kind=kind, memory_id=memory_id).rows
    gone = {erased for _, erased, _ in alone}
    widest = preview_forget(principal, kind=kind, memory_id=memory_id, cascade=True, sources=True).rows
    context = {
        "section": SECTIONS[kind],
        "card": cards_of(principal, [row])[0],
        "rows": [(each, text) for each, _, text in alone],
        "extra": [(each, text) for each, erased, text in widest if erased not in gone],
        "next": next_address(request, ""),
    }
    return render(request, "remember/forget.html", context)


def _told(kind: Kind, outcome: ForgetOutcome) -> str:
    """The result of an erasure, in a sentence or two."""
    others = len(outcome.erased) - 1
    along = f", and {counted(others, 'memory', 'memories')} with it" if others else ""
    emptied = f" Emptied too: {counted(outcome.redacted_messages, 'message')}." if outcome.redacted_messages else ""
    return f"Forgotten for good: one {SECTIONS[kind].noun}{along}.{emptied}"


def _back(request: HttpRequest, kind: Kind, memory_id: UUID) -> str:
    """The page that the reader came from, unless it was that of the erased memory."""
    onward = next_address(request, reverse("remember:list", kwargs={"kind": kind}))
    return reverse("remember:list", kwargs={"kind": kind}) if str(memory_id) in onward else onward


@require_POST
@never_cache
@member_page
def show_original(request: HttpRequest, principal: Principal, kind: Kind, memory_id: UUID) -> HttpResponse:
    """Show the original, once. A form leads here and no link does, because opening it is an event of the audit log."""
    row = get_memory(principal, kind, memory_id)
    text = open_original(principal, memory_id=memory_id)
    (card,) = cards_of(principal, [row])
    return render(request, "remember/original.html", {"section": SECTIONS[kind], "card": card, "text": text})
