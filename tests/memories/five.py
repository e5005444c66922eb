"""A chain of five with a merge and an undo: what the tests of histories look at from several sides.

Two homes become one statement, that one is replaced, and the replacement turns out to be a mistake and is undone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from memories.services.facts.remember import remember_fact
from memories.services.facts.undo import undo
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import Kind
from tenants.principal import Principal

FLAT, BOAT = "Lives in a flat in Bristol", "Has a boat in Cardiff"
BOTH, WRONG = "Lives on a boat in Cardiff", "Lives on a boat in Swansea"
SAID = ("We gave up the flat and live on the boat now", "Swansea it is, I think")


@dataclass(frozen=True)
class Five:
    """`flat` and `boat` became `both`, which `wrong` replaced by mistake; `back` is `both` brought back."""

    flat: UUID
    boat: UUID
    both: UUID
    wrong: UUID
    back: UUID
    said: tuple[UUID, ...]

    @property
    def ids(self) -> tuple[UUID, ...]:
        """In the order of time."""
        return (self.flat, self.boat, self.both, self.wrong, self.back)


def live_five(principal: Principal) -> Five:
    """Live it through the services, over some months."""
    now = timezone.now()

    def ago(days: int) -> datetime:
        return now - timedelta(days=days)

    session_id = start_session(principal).id
    first, second = (
        remember_episode(principal, session_id=session_id, text=text, happened_at=ago(days)).memory_id
        for text, days in zip(SAID, (60, 30), strict=True)
    )

    def learned(text: str, days: int, **more: Any) -> UUID:
        return remember_fact(principal, text=text, learned_at=ago(days), **more).memory_id

    flat = learned(FLAT, 200, key="home", category="home", valid_from=ago(900))
    boat = learned(BOAT, 150)
    moved = {"supersedes_ids": [flat, boat], "supporting_episode_ids": [first], "reason": "moved"}
    both = learned(BOTH, 60, key="home", valid_from=ago(65), **moved)
    wrong = learned(WRONG, 30, key="home", supporting_episode_ids=[second])
    back = undo(principal, kind=Kind.SEMANTIC, memory_id=wrong, reason="misheard").memory_id
    return Five(flat, boat, both, wrong, back, (first, second))
