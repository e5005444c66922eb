"""A member's memory to show on pages: an answered turn, a fact with its words and its past, a how-to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memories.models import Playbook
from memories.services.erasure.proposals import propose
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.services.reviews.queue import open_eviction
from memories.services.sessions.turns import add_tool_result, add_tool_step, begin_turn, finish_turn
from memories.services.write import write
from memories.types import Kind
from tenants.principal import Principal


@dataclass(frozen=True)
class Life:
    """The ids of it."""

    session: UUID
    episode: UUID
    bristol: UUID
    edinburgh: UUID
    howto: UUID
    review: UUID
    proposal: UUID

    def of(self, kind: Kind) -> UUID:
        """A memory of that kind."""
        return {Kind.EPISODIC: self.episode, Kind.SEMANTIC: self.edinburgh, Kind.PROCEDURAL: self.howto}[kind]


def live(principal: Principal, words: str = "We left Bristol for Edinburgh") -> Life:
    """Bristol was known; then the member says `words`, and the agent replaces it."""
    slot: dict[str, Any] = {"key": "home_city", "category": "home"}
    bristol = remember_fact(principal, text="Lives in Bristol", **slot)
    turn = begin_turn(principal, text=words)
    assert turn.episode_id
    edinburgh = remember_fact(principal, text="Lives in Edinburgh", **slot, supporting_episode_ids=[turn.episode_id])
    place: dict[str, Any] = {"session_id": turn.session_id, "turn": 1}
    add_tool_step(principal, tool_calls=[{"id": "c1", "name": "write_memory", "arguments": {}}], **place)
    add_tool_result(principal, tool_call_id="c1", written=[edinburgh], **place)
    finish_turn(principal, text="Edinburgh it is.", took_ms=812, **place)
    howto = remember_playbook(principal, title="Reset the hub", steps=["Hold the button", "Wait"], success_count=3)
    with write(principal) as w:
        to_go = Playbook.objects.get(pk=howto.memory_id)
        review = open_eviction(w, to_go, reason="Nobody asked for it in a year.", evidence={"staleness": 0.95})
    assert review
    proposal, _ = propose(principal, targets=[(Kind.PROCEDURAL, howto.memory_id)])
    ids = (bristol.memory_id, edinburgh.memory_id, howto.memory_id, review.pk, proposal.pk)
    return Life(turn.session_id, turn.episode_id, *ids)
