"""The card of a proposal to forget, as the chat and "What I remember" show it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from django.utils import timezone
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memories.models import ForgetProposal, ProposalState
from memories.presenting.lines import SECTIONS
from memories.selectors.sessions import TurnView
from memories.services.erasure.proposals import (
    ForgetPlan,
    can_undo,
    find_proposal,
    finish_due,
    is_open,
    open_proposals,
    plan_of,
)
from memories.types import Kind, Owner
from tenants.audit.sentences import actor_names
from tenants.principal import ActorKind, Principal

FORGET_TOOL = "forget_memory"
CARDS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class ForgetCard:
    """A proposal with what it lists, as far as that exists. `counts` is such as "1 fact and 2 events".

    `proposer` is who made it, where the page says so.
    """

    proposal: ForgetProposal
    plan: ForgetPlan
    counts: str
    can_decide: bool
    can_undo: bool
    proposer: str = ""

    @property
    def seconds(self) -> int:
        """The seconds in which an undo is possible."""
        left = self.proposal.erase_at - timezone.now() if self.proposal.erase_at else timedelta(0)
        return max(1, math.ceil(left.total_seconds()))

    @property
    def erased(self) -> bool:
        """Whether it is erased for good."""
        return self.proposal.state == ProposalState.ERASED

    @property
    def undone(self) -> bool:
        """Whether the member confirmed and then took it back."""
        return self.proposal.state == ProposalState.KEPT and (bool(self.proposal.hidden) or self.everything)

    @property
    def everything(self) -> bool:
        """Whether all of the member's memory goes."""
        return self.proposal.counts is not None


def forget_card(principal: Principal, proposal: ForgetProposal) -> ForgetCard:
    """The card of one proposal; what is due is erased first."""
    if proposal.state == ProposalState.CONFIRMED and not can_undo(proposal):
        finish_due(Owner(principal.tenant_id, principal.user_id))
        proposal = find_proposal(principal, proposal.pk)
    undoable, opened = can_undo(proposal), is_open(proposal)
    plan = plan_of(principal, proposal) if undoable or opened else ForgetPlan(())
    return ForgetCard(proposal, plan, counts_in_words(proposal), opened, undoable)


def forget_cards(principal: Principal, views: Iterable[TurnView]) -> Mapping[int, ForgetCard]:
    """The latest card of each turn that proposed to forget; no query if none did."""
    places: dict[UUID, list[int]] = {}
    for view in views:
        if any(call.get("name") == FORGET_TOOL for step in view.steps for call in step.tool_calls):
            places.setdefault(view.session_id, []).append(view.turn)
    cards: dict[int, ForgetCard] = {}
    for session_id, turns in places.items():
        rows = ForgetProposal.objects.of(principal).filter(session=session_id, turn__in=turns)
        for proposal in rows.order_by("created_at", "pk"):
            cards[proposal.turn] = forget_card(principal, proposal)
    return cards


def cards_to_settle(principal: Principal) -> list[ForgetCard]:
    """The latest open proposals of agents and programs, at most CARDS_SHOWN, each with who proposes."""
    proposed = open_proposals(principal)[:CARDS_SHOWN]
    names = actor_names(principal.tenant_id, [event for _proposal, event in proposed])
    return [
        replace(
            forget_card(principal, proposal),
            proposer=_("your agent") if event.actor_kind == ActorKind.AGENT else names.who(event),
        )
        for proposal, event in proposed
    ]


def counts_in_words(proposal: ForgetProposal) -> str:
    """How many memories of each kind it lists, in words; if everything goes, of conversations and items, too."""
    numbers = Counter(proposal.counts or (kind for kind, _id in proposal.goes))
    number = {name: numbers[name] for name in (*(kind.value for kind in SECTIONS), "item", "session")}
    words = {
        Kind.SEMANTIC.value: ngettext("%(count)d fact", "%(count)d facts", number[Kind.SEMANTIC]),
        Kind.PROCEDURAL.value: ngettext("%(count)d how-to", "%(count)d how-tos", number[Kind.PROCEDURAL]),
        Kind.EPISODIC.value: ngettext("%(count)d event", "%(count)d events", number[Kind.EPISODIC]),
        Kind.CATALOG.value: ngettext("%(count)d shared entry", "%(count)d shared entries", number[Kind.CATALOG]),
        "item": ngettext("%(count)d item", "%(count)d items", number["item"]),
        "session": ngettext("%(count)d conversation", "%(count)d conversations", number["session"]),
    }
    parts = [words[name] % {"count": count} for name, count in number.items() if count]
    if not parts:
        return _("nothing")
    return get_text_list(parts, _("and"))
