"""The member's decision on a proposal to forget: its card, confirm, keep and undo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from memories.chat.forgetting import counts_in_words, forget_card
from memories.chat.presenting import member_page, refusals_shown
from memories.errors import Conflict
from memories.models import ForgetProposal
from memories.services.erasure.proposals import confirm, find_proposal, keep, undo
from memoryhub.redirects import next_address
from tenants.principal import Principal

_DECISIONS: Mapping[str, Callable[[Principal, UUID], ForgetProposal]] = {"confirm": confirm, "keep": keep, "undo": undo}


@member_page()
def show(request: HttpRequest, principal: Principal, proposal_id: UUID) -> HttpResponse:
    """The card of a proposal as a page; as JSON with its HTML, if a script asks."""
    if _wants_json(request):
        return _as_json(request, principal, proposal_id)
    return render(
        request, "chat/forgetting.html", {"forget": forget_card(principal, find_proposal(principal, proposal_id))}
    )


@member_page("POST")
def decide(request: HttpRequest, principal: Principal, proposal_id: UUID, decision: str) -> HttpResponse:
    """POST: confirm or keep a proposal, or undo its confirmation."""
    proposal = find_proposal(principal, proposal_id)
    if _wants_json(request):
        try:
            _DECISIONS[decision](principal, proposal_id)
        except Conflict as error:
            return _as_json(request, principal, proposal_id, message=str(error))
        return _as_json(request, principal, proposal_id)
    with refusals_shown(request):
        proposal = _DECISIONS[decision](principal, proposal_id)
        if "next" in request.POST:  # the page it leads to has no card to say so
            _say(request, proposal, decision)
    onward = reverse("chat:forgetting", args=[proposal_id])
    if proposal.session_id:
        onward = f"{reverse('chat:session', args=[proposal.session_id])}#turn-{proposal.turn}"
    return redirect(next_address(request, onward))


def _say(request: HttpRequest, proposal: ForgetProposal, decision: str) -> None:
    if decision == "confirm":
        card = reverse("chat:forgetting", args=[proposal.pk])
        messages.success(request, _("Deleted: %(counts)s.") % {"counts": counts_in_words(proposal)}, extra_tags=card)
    elif decision == "undo":
        messages.success(request, _("Brought back: %(counts)s.") % {"counts": counts_in_words(proposal)})


def _wants_json(request: HttpRequest) -> bool:
    return "application/json" in request.headers.get("Accept", "")


def _as_json(request: HttpRequest, principal: Principal, proposal_id: UUID, message: str = "") -> JsonResponse:
    card = forget_card(principal, find_proposal(principal, proposal_id))
    html = render_to_string("chat/_forget_card.html", {"forget": card, "csrf_token": get_token(request)})
    return JsonResponse({"html": html, "message": message}, status=409 if message else 200)
