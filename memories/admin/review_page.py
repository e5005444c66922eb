"""What the page of one review shows: both memories with their words, where they came from and what became of them.

Invariant: all of it is read through the selectors of one principal, whom the trail has told of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memories.hygiene.differences import Piece, differences
from memories.models import Episode, Fact, Playbook, ReviewItem
from memories.selectors.memories import ChainLink, chain_of, history_of
from memories.selectors.reviews import told_of_review
from memories.selectors.sources import supporting_episodes
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
class Side:
    """One of the memories."""

    row: Fact | Playbook
    name: str
    pieces: tuple[Piece, ...]
    episodes: Sequence[Episode]
    chain: Sequence[ChainLink]
    events: Sequence[Happening]


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
