"""What a consolidation reads: some episodes of one owner, and the memories that they may bear on.

Invariant: everything in it belongs to the owner whose episodes they are. The proposals made from it may name nothing
else; `planner` sees to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memories.types import Source, Status


@dataclass(frozen=True, slots=True)
class EpisodeText:
    """One thing that was said. `own`: by the owner, not by somebody else in an imported conversation.

    `before` is the assistant's answer just before it: what a "yes, that worked" answers to, and never evidence itself.
    `recalled` are the ids of the memories that the agent had been given when the session reached this turn.
    """

    id: UUID
    ordinal: int
    session_id: UUID
    text: str
    speaker: str
    own: bool
    happened_at: datetime
    before: str = ""
    recalled: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact of the owner. `learned_from` are those of the batch's episodes that support it already.

    Superseded and retracted ones are among them where a batch might tell them again.
    """

    id: UUID
    text: str
    key: str
    category: str
    source: Source
    confidence: float
    status: Status
    learned_at: datetime
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    retracted: bool = False
    superseded_at: datetime | None = None
    learned_from: frozenset[UUID] = frozenset()

    @property
    def current(self) -> bool:
        """Whether it is believed now."""
        return self.status in (Status.ACTIVE, Status.STALE)


@dataclass(frozen=True, slots=True)
class KnownPlaybook:
    """A current playbook of the owner, with how often it worked."""

    id: UUID
    title: str
    trigger: str
    steps: tuple[str, ...]
    success_count: int = 0
    failure_count: int = 0


@dataclass(frozen=True, slots=True)
class Material:
    """One batch: `episodes` in their order, and the facts and playbooks that a recall on their words brings up."""

    speaker: str
    episodes: tuple[EpisodeText, ...]
    facts: tuple[KnownFact, ...] = ()
    playbooks: tuple[KnownPlaybook, ...] = ()

    def episode(self, episode_id: UUID) -> EpisodeText | None:
        """The episode with this id, if it is in the batch."""
        return next((episode for episode in self.episodes if episode.id == episode_id), None)

    @property
    def facts_by_id(self) -> Mapping[UUID, KnownFact]:
        """The known facts."""
        return {fact.id: fact for fact in self.facts}
