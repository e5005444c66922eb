"""What the page of one review shows: both memories with their words, where they came from and what became of them.

Invariant: all of it is read through the selectors of one principal, whom the trail has told of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memories.admin.story_wording import state_word
from memories.hygiene.differences import Piece, differences
from memories.hygiene.staleness import AGE_WEIGHT, CONTRADICTION_WEIGHT, DISUSE_WEIGHT, age, disuse, staleness
from memories.models import Episode, Fact, Playbook, ReviewItem
from memories.selectors.history.stories import supporting_episodes
from memories.selectors.memories import ChainLink, chain_of, history_of
from memories.selectors.retention import rows_of, standing_of, surroundings_of, use_by
from memories.selectors.reviews import told_of_review
from memories.types import Owner
from tenants.models import AuditEvent
from tenants.principal import Principal


@dataclass(frozen=True, slots=True)
class Happening:
    """An event in words: what, by whom, why."""

    event: AuditEvent
    reason: str

    @property
    def did(self) -> str:
        """Such as `fact superseded`."""
        return self.event.action.replace(".", " ").replace("_", " ")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of how stale a memory is, 0 to 1, and how much it weighs."""

    name: str
    value: float
    weight: float


@dataclass(frozen=True, slots=True)
class Side:
    """One of the memories."""

    row: Fact | Playbook
    name: str
    pieces: tuple[Piece, ...]
    episodes: Sequence[Episode]
    chain: Sequence[ChainLink]
    events: Sequence[Happening]

    @property
    def state(self) -> str:
        """Its state in a word or two."""
        return state_word(self.row)


def sides_of(principal: Principal | None, item: ReviewItem) -> list[Side]:
    """The memories of an item, the older fact first."""
    rows = [row for row in (item.first, item.second, item.playbook) if row is not None]
    words = [row.text if isinstance(row, Fact) else row.title for row in rows]
    pieces = differences(*words) if len(words) > 1 else tuple((Piece(text, differs=False),) for text in words)
    names = ("The older one", "The newer one") if len(rows) > 1 else ("",)
    return [_side(principal, row, name, each) for row, name, each in zip(rows, names, pieces, strict=True)]


def told(item: ReviewItem) -> list[Happening]:
    """What happened to the item itself, without who looked at it."""
    return [_happening(event) for event in told_of_review(item).exclude(action="review.read")]


def evidence(item: ReviewItem) -> list[tuple[str, str]]:
    """Why it is asked, as terms and values."""
    return [(name.replace("_", " ").capitalize(), _value(value)) for name, value in item.evidence.items()]


def parts_of(item: ReviewItem, *, now: datetime) -> list[Part]:
    """How stale what is to go is by now, part by part and together; none for what is to go for another reason."""
    row = item.first or item.playbook
    found = rows_of(row.kind, [row.pk]) if row is not None and "staleness" in item.evidence else []
    if not found:
        return []
    owner = Owner(item.tenant_id, item.user_id)
    standing = standing_of(found[0], surroundings_of(owner, use_by(owner, now)), now=now)
    unused = disuse(standing.uses, standing.since, now=now) if standing.asked else 0.0
    return [
        Part("Age", age(standing.confirmed_at, standing.due_at, now=now), AGE_WEIGHT),
        Part("Disuse", unused, DISUSE_WEIGHT),
        Part("Open contradiction", float(standing.contradicted), CONTRADICTION_WEIGHT),
        Part("Staleness now", staleness(standing, now=now), 1.0),
    ]


def _side(principal: Principal | None, row: Fact | Playbook, name: str, pieces: tuple[Piece, ...]) -> Side:
    if principal is None:
        return Side(row, name, pieces, (), (), ())
    chain = chain_of(principal, row.kind, row.pk)
    events = history_of(principal, [row.pk]) if row.user_id else ()
    episodes = supporting_episodes(principal, [row.pk]).get(row.pk, ()) if isinstance(row, Fact) else ()
    return Side(row, name, pieces, episodes, chain, [_happening(event) for event in events])


def _happening(event: AuditEvent) -> Happening:
    payload: Any = getattr(event, "payload", None)
    return Happening(event, str(payload.data.get("reason") or "") if payload else "")


def _value(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)
