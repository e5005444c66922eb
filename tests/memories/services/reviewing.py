"""Facts, questions about them and answers, for the tests of reviews."""

from __future__ import annotations

from memories.models import Fact, Playbook, ReviewDecision, ReviewItem
from memories.services.facts.remember import remember_fact
from memories.services.reviews.decisions import ReviewChoice, decide, undo_decision
from memories.services.reviews.queue import open_contradiction, open_eviction
from memories.services.write import write
from memories.types import Scope, Source
from tenants.models import AuditEvent
from tenants.principal import Principal

THREE, FOUR = "The shed measures three metres", "The shed measures four metres"


def say(principal: Principal, text: str, **fields: object) -> Fact:
    """A fact, stored."""
    return Fact.objects.get(pk=remember_fact(principal, text=text, **fields).memory_id)  # type: ignore[arg-type]  # as named


def two_widths(principal: Principal) -> tuple[Fact, Fact]:
    """Two facts that cannot both be true."""
    first = say(principal, THREE, confidence=0.7, source=Source.TASK_OUTCOME, category="home")
    return first, say(principal, FOUR, key="shed_width", confidence=0.6, source=Source.AGENT_INFERRED, pinned=True)


def asked(principal: Principal, first: Fact, second: Fact) -> ReviewItem:
    """Which of two facts holds."""
    with write(principal, Scope(first.scope)) as w:
        item = open_contradiction(w, first, second, reason="Two widths of one shed.", evidence={})
    assert item is not None
    return item


def proposed(principal: Principal, row: Fact | Playbook) -> ReviewItem:
    """That a memory goes."""
    with write(principal) as w:
        item = open_eviction(w, row, reason="Nobody used it for long.", evidence={"staleness": 0.95})
    assert item is not None
    return item


def answer(principal: Principal, item: ReviewItem, decision: str, **fields: object) -> ReviewItem:
    """The item, decided."""
    return decide(principal, item_id=item.pk, answer=ReviewChoice(ReviewDecision(decision), **fields))  # type: ignore[arg-type]  # as named


def take_back(principal: Principal, item: ReviewItem) -> ReviewItem:
    """The item, open again."""
    return undo_decision(principal, item_id=item.pk)


def current(principal: Principal) -> list[str]:
    """What is believed."""
    return sorted(Fact.objects.of(principal).current().values_list("text", flat=True))


def told(action: str) -> list[str]:
    """What the trail says of each such event."""
    events = AuditEvent.objects.filter(action=action).select_related("payload").order_by("sequence")
    return [event.payload.document for event in events]
