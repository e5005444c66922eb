"""What is to be settled, as its owner reads it: the question, both sides with their sources, what was decided.

Invariant: made from the reader's own selectors; it holds no model, and templates query nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.urls import reverse

from memories.chat.cards import Card, Detail, cards_of, details_of
from memories.hygiene.differences import Piece, differences
from memories.models import Fact, ReviewDecision, ReviewItem, ReviewKind
from memories.presenting.lines import SECTIONS
from memories.selectors.memories import Memory
from memories.selectors.reviews import UNANSWERED, still_open
from tenants.principal import Principal

_QUESTIONS: Mapping[str, str] = {
    ReviewKind.CONTRADICTION: "Two things I remember do not fit together",
    ReviewKind.EVICTION: "I would let this go",
}
_SETTLED: Mapping[str, str] = {
    ReviewDecision.KEEP_ONE: "One of them was right; the other one is history.",
    ReviewDecision.KEEP_BOTH: "Both are true. I will not ask about these two again.",
    ReviewDecision.MERGE: "Neither was quite right; a new wording took the place of both.",
    ReviewDecision.EDIT: "They were worded anew, and both are true.",
    ReviewDecision.EVICT: "It was let go. It is not recalled any more, and is erased after 30 days.",
    ReviewDecision.KEEP: "It was kept, and counts as confirmed.",
    ReviewDecision.WITHDRAWN: "There is nothing to settle any more: what it was about has changed since.",
}


@dataclass(frozen=True, slots=True)
class Side:
    """One of the memories, its words in pieces, and what else is known of it."""

    card: Card
    noun: str
    pieces: tuple[Piece, ...]
    details: tuple[Detail, ...]


@dataclass(frozen=True, slots=True)
class Review:
    """An item. `settled` says what was decided; empty while it can be decided."""

    id: UUID
    url: str
    kind: str
    question: str
    reason: str
    sides: tuple[Side, ...]
    asked_at: datetime
    settled: str
    settled_at: datetime | None
    can_undo: bool


def reviews_of(principal: Principal, items: Sequence[ReviewItem], *, quotes: bool = False) -> tuple[Review, ...]:
    """The items in their order; with the words that facts came from if asked. The cost is that of one."""
    rows = [row for item in items for row in _rows(item)]
    cards = dict(zip([row.pk for row in rows], cards_of(principal, rows, quotes=quotes), strict=True))
    waiting = still_open(items)
    return tuple(_review(item, cards, waits=item.pk in waiting) for item in items)


def _review(item: ReviewItem, cards: Mapping[UUID, Card], *, waits: bool) -> Review:
    decision = ReviewDecision.WITHDRAWN if item.decision == ReviewDecision.OPEN else ReviewDecision(item.decision)
    return Review(
        id=item.pk,
        url=reverse("remember:review", kwargs={"review_id": item.pk}),
        kind=str(item.kind),
        question=_QUESTIONS[item.kind],
        reason=item.reason,
        sides=_sides(item, cards),
        asked_at=item.created_at,
        settled="" if waits else _SETTLED[decision],
        settled_at=item.decided_at,
        can_undo=item.decision not in UNANSWERED,
    )


def _sides(item: ReviewItem, cards: Mapping[UUID, Card]) -> tuple[Side, ...]:
    rows = _rows(item)
    words = [cards[row.pk].text for row in rows]
    pieces = differences(*words) if len(words) > 1 else tuple((Piece(text, differs=False),) for text in words)
    return tuple(
        Side(cards[row.pk], SECTIONS[row.kind].noun, each, tuple(details_of(row)))
        for row, each in zip(rows, pieces, strict=True)
    )


def _rows(item: ReviewItem) -> list[Memory]:
    rows: list[Fact | Memory | None] = [item.first, item.second, item.playbook]
    return [row for row in rows if row is not None]
