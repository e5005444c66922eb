"""One memory: its page, and the forms that correct, retire, undo, pin and forget it or show its original."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from memories.chat.forgetting import counts_in_words
from memories.chat.forms import ActionForm
from memories.chat.history import origin_of, states_of
from memories.chat.presenting import (
    address,
    cards_of,
    member_page,
    refusal,
    refusals_shown,
)
from memories.chat.undo_offer import offer_undo, taken_offer
from memories.errors import Blocked, Conflict, InvalidInput
from memories.hygiene.sensitivity import findings
from memories.models import Fact
from memories.presenting.lines import SECTIONS
from memories.presenting.memory import details_of
from memories.selectors.history.stories import questions_of, supported_facts
from memories.selectors.memories import get_memory, has_original, is_shared, messages_using
from memories.selectors.reviews import review_about
from memories.services.erasure.proposals import forget_now, plan_forget
from memories.services.facts.by_hand import stored_form
from memories.services.facts.remember import pin_fact
from memories.services.facts.supersede import correct as correct_memory
from memories.services.facts.supersede import retire as retire_memory
from memories.services.facts.supersede import supersede
from memories.services.facts.undo import undo as undo_ending
from memories.services.originals import open_original
from memories.services.playbooks import accept_playbook
from memories.services.screening import Screen
from memories.types import Kind, WriteOutcome, WriteResult
from memoryhub.redirects import next_address
from tenants.errors import Forbidden
from tenants.principal import Principal

USES_SHOWN = 10


@member_page()
def show(request: HttpRequest, principal: Principal, kind: Kind, memory_id: UUID) -> HttpResponse:
    """The page of one memory."""
    return _page(request, principal, kind, memory_id)


@member_page("POST")
def correct(request: HttpRequest, principal: Principal, kind: Kind, memory_id: UUID) -> HttpResponse:
    """POST: replace a wrong memory with the submitted text."""
    get_memory(principal, kind, memory_id)
    form = ActionForm(request.POST).values()
    text = form["text"]
    try:
        outcome = _corrected(principal, kind, memory_id, text, changed=form["changed"])
    except InvalidInput as error:
        return _page(
            request, principal, kind, memory_id, correction=text, correction_error=refusal(error, _("The text"))
        )
    except Blocked as error:
        without = Screen(principal).said(text).text
        place = findings.whereabouts(error)
        why = _("%(place)s. It was not stored and is left out below. Save it like this, or reword it.")
        why %= {"place": place}
        return _page(request, principal, kind, memory_id, correction=without, correction_error=why)
    except Conflict as error:
        messages.error(request, str(error))
        return redirect(address(kind, memory_id))
    said = _("Saved. The old one stays in the history.")
    if not form["changed"]:
        said = _("Corrected. The old wording stays in the history, marked as wrong.")
    if outcome.result is WriteResult.SUPERSEDED:
        offer_undo(request, kind, [outcome.memory_id], said)
    else:
        messages.success(request, said)
    return redirect(next_address(request, address(kind, outcome.memory_id)))


def _corrected(principal: Principal, kind: Kind, memory_id: UUID, text: str, *, changed: bool) -> WriteOutcome:
    """A fact that `changed` was true until now; what was wrong never was."""
    if kind is Kind.SEMANTIC:
        text = stored_form(principal, text)
    if changed and kind is Kind.SEMANTIC:
        return supersede(principal, old_ids=[memory_id], text=text)
    return correct_memory(principal, kind=kind, memory_id=memory_id, text=text)


@member_page("POST")
def retire(request: HttpRequest, principal: Principal, kind: Kind, memory_id: UUID) -> HttpResponse:
    """POST: end a memory that is no longer true, without a successor."""
    get_memory(principal, kind, memory_id)
    reason = ActionForm(request.POST).values()["reason"].strip()
    with refusals_shown(request, _("The reason")):
        retire_memory(principal, kind=kind, memory_id=memory_id, reason=reason)
        offer_undo(
            request, kind, [memory_id], _("Marked as outdated. It stays in the history and is not recalled again.")
        )
    return redirect(next_address(request, address(kind, memory_id)))


@member_page("POST")
def undo(request: HttpRequest, principal: Principal, kind: Kind, memory_id: UUID) -> HttpResponse:
    """POST: undo a replacement, a retirement, or an earlier undo."""
    get_memory(principal, kind, memory_id)
    with refusals_shown(request):
        outcome = undo_ending(principal, kind=kind, memory_id=memory_id)
        messages.success(request, _undone(outcome))
        memory_id = outcome.memory_id
    return redirect(address(kind, memory_id))


@member_page("POST")
def pin(request: HttpRequest, principal: Principal, kind: Kind, memory_id: UUID) -> HttpResponse:
    """POST: pin or unpin a fact."""
    pinned = ActionForm(request.POST).values()["pinned"]
    get_memory(principal, kind, memory_id)
    with refusals_shown(request):
        pin_fact(principal, fact_id=memory_id, pinned=pinned)
        messages.success(request, _("Pinned. Always included.") if pinned else _("Unpinned."))
    return redirect(next_address(request, address(kind, memory_id)))


def _undone(outcome: WriteOutcome) -> str:
    """The result of an undo, in a sentence or two."""
    if outcome.memory_id in outcome.superseded_ids:
        return _("Undone. It is outdated again, and stays in the history.")
    if outcome.superseded_ids:
        return _("Undone. It is current again; what had replaced it stays in the history, marked as wrong.")
    return _("Undone. It is current again.")


def _page(
    request: HttpRequest,
    principal: Principal,
    kind: Kind,
    memory_id: UUID,
    *,
    correction: str = "",
    correction_error: str = "",
    asked: Mapping[str, Any] | None = None,
) -> HttpResponse:
    row = get_memory(principal, kind, memory_id)
    (card,) = cards_of(principal, [row], quotes=True)
    using = messages_using(principal, memory_id)
    learned = cards_of(principal, list(supported_facts(principal, memory_id))) if kind is Kind.EPISODIC else ()
    context: dict[str, Any] = {
        "section": SECTIONS[kind],
        "card": card,
        "origin": origin_of(principal, row) if isinstance(row, Fact) and not card.quotes else "",
        "states": states_of(principal, kind, memory_id),
        "review": review_about(principal, memory_id),
        "learned": learned,
        "uses": questions_of(principal, using[:USES_SHOWN]),
        "more_uses": max(using.count() - USES_SHOWN, 0),
        "details": details_of(row),
        "has_original": has_original(principal, memory_id),
        "correction": correction,
        "correction_error": correction_error,
        "undo_offer": taken_offer(request),
        "here": card.url,
        **(asked or {}),
    }
    return render(request, "remember/memory.html", context, status=400 if correction_error else 200)


@member_page("POST")
def accept(request: HttpRequest, principal: Principal, kind: Kind, memory_id: UUID) -> HttpResponse:
    """POST: accept a how-to that the agent proposed."""
    get_memory(principal, kind, memory_id)
    with refusals_shown(request):
        if kind is not Kind.PROCEDURAL:
            raise Conflict(_("Only how-tos are accepted."))
        accept_playbook(principal, playbook_id=memory_id)
        messages.success(request, _("Accepted. Your agent uses it from now on."))
    return redirect(address(kind, memory_id))


@member_page("GET", "POST")
def forget(request: HttpRequest, principal: Principal, kind: Kind, memory_id: UUID) -> HttpResponse:
    """Show what goes, then hide it at once and erase it after the time to undo, as the chat does."""
    row = get_memory(principal, kind, memory_id)
    if is_shared(row):
        raise Forbidden(_("Only an administrator can delete what is shared with everybody."))
    if request.method == "POST":
        onward = request.get_full_path()
        with refusals_shown(request):
            proposal = forget_now(principal, kind=kind, memory_id=memory_id)
            card = reverse("chat:forgetting", args=[proposal.pk])
            messages.success(
                request, _("Deleted: %(counts)s.") % {"counts": counts_in_words(proposal)}, extra_tags=card
            )
            onward = _back(request, kind, memory_id)
        return redirect(onward)
    plan = plan_forget(principal, [(kind, memory_id)])
    return _page(request, principal, kind, memory_id, asked={"plan": plan, "next": next_address(request, "")})


def _back(request: HttpRequest, kind: Kind, memory_id: UUID) -> str:
    """The page that the reader came from; the list instead of the page of the erased memory."""
    onward = next_address(request, reverse("remember:list", kwargs={"kind": kind}))
    return reverse("remember:list", kwargs={"kind": kind}) if str(memory_id) in onward else onward


@never_cache
@member_page("POST")
def show_original(request: HttpRequest, principal: Principal, kind: Kind, memory_id: UUID) -> HttpResponse:
    """POST: show the unmasked original. It has no link, because each opening writes an audit event."""
    row = get_memory(principal, kind, memory_id)
    text = open_original(principal, memory_id=memory_id)
    (card,) = cards_of(principal, [row])
    return render(request, "remember/original.html", {"section": SECTIONS[kind], "card": card, "text": text})
