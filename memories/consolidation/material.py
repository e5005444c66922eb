"""What a consolidation reads, and what an extractor proposes from it.

A batch holds some episodes of one owner and the memories that they may bear on, all of that owner. A proposal is not
true until the planner has checked it and the runner has stored it; it may name nothing outside the batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from memories.types import Contradiction, Source, Status


@dataclass(frozen=True, slots=True)
class EpisodeText:
    """One episode. `own`: the owner said it, not somebody else in an imported conversation.

    `before` is the assistant's answer just before it: context for a "yes, that worked", and never evidence itself.
    `recalled` holds the ids of the memories that the agent had been given when the session reached this turn.
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
    """A fact of the owner, also a superseded or retracted one that the batch might tell again.

    `learned_from` holds the episodes of the batch that support it already.
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
    """One batch: `episodes` in order, and the facts and playbooks that a recall on their words finds."""

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


@dataclass(frozen=True, slots=True)
class ProposedFact:
    """A new fact, and every current fact that it makes false.

    `quote` is the piece of the user's own words that says it. `supersedes` holds ids of the material's facts,
    `supersedes_places` places of earlier proposals of the batch. Without `confidence` that of the source counts.
    """

    text: str
    supporting_episode_ids: tuple[UUID, ...]
    key: str = ""
    category: str = ""
    source: Source = Source.USER_STATED
    confidence: float | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    supersedes: tuple[UUID, ...] = ()
    supersedes_places: tuple[int, ...] = ()
    contradiction: Contradiction = Contradiction.NATURAL
    quote: str = ""


@dataclass(frozen=True, slots=True)
class ProposedEnd:
    """Facts that are no longer true, or (harsh) never were, with nothing in their place."""

    fact_ids: tuple[UUID, ...]
    supporting_episode_ids: tuple[UUID, ...]
    fact_places: tuple[int, ...] = ()
    contradiction: Contradiction = Contradiction.NATURAL
    valid_to: datetime | None = None
    quote: str = ""


@dataclass(frozen=True, slots=True)
class ProposedPlaybook:
    """A way to do something that nothing known matches."""

    title: str
    trigger: str
    steps: tuple[str, ...]
    supporting_episode_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class ProposedOutcome:
    """The user confirmed or rejected a playbook; `refined_steps` are the steps as they should have been."""

    playbook_id: UUID
    success: bool
    supporting_episode_ids: tuple[UUID, ...]
    refined_steps: tuple[str, ...] = ()


Proposal = ProposedFact | ProposedEnd | ProposedPlaybook | ProposedOutcome


@dataclass(frozen=True, slots=True)
class Extraction:
    """The result of an extractor: its proposals in the order of the episodes that they come from.

    `output` is the answer as plain values, for the record. Decisions name proposals by their place in `proposals`.
    """

    proposals: tuple[Proposal, ...]
    output: Mapping[str, Any]
    input_tokens: int = 0
    output_tokens: int = 0


class FaultKind(StrEnum):
    """How to handle a fault: retry later, retry with less, or give up."""

    PASSING = "passing"
    UNUSABLE = "unusable"
    REFUSED = "refused"


class ExtractionFault(Exception):
    """No usable answer, so nothing is written. The message is a sentence for staff, without keys or texts.

    `retry_after`: seconds that the endpoint asks to wait. `output`: the answer for the record, if there was one.
    """

    def __init__(
        self,
        message: str,
        kind: FaultKind,
        *,
        retry_after: float = 0.0,
        output: str = "",
        input_tokens: int = 0,
        output_tokens: int = 0,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.retry_after = retry_after
        self.output = output
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens


class Extractor(Protocol):
    """Reads a batch and proposes. It never sees the database."""

    @property
    def name(self) -> str:
        """The name shown to people: the model's, or "rules"."""
        ...

    def extract(self, material: Material) -> Extraction:
        """The proposals that the batch supports. Raises ExtractionFault."""
        ...
