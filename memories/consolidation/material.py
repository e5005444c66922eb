"""The input of a consolidation and the proposals of an extractor.

A batch holds some episodes of one owner and the owner's memories that they may affect. A proposal takes effect only
after the planner has accepted it and the runner has stored it. It may name nothing outside the batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from memories.types import Contradiction, Source, Status


@dataclass(frozen=True, slots=True)
class EpisodeText:
    """One episode. `own` is False if somebody else said it in an imported conversation.

    `before` is the assistant's preceding answer. It gives context to a "yes, that worked" and is never evidence itself.
    `recalled` holds the ids of the memories that the agent had been shown by this turn of the session.
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
    """A fact of the owner, current or ended; the batch may repeat either.

    `learned_from` holds the episodes of the batch that already support it.
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
        """Whether the fact is believed now."""
        return self.status in (Status.ACTIVE, Status.STALE)


@dataclass(frozen=True, slots=True)
class KnownPlaybook:
    """A current playbook of the owner, with its reported outcomes."""

    id: UUID
    title: str
    trigger: str
    steps: tuple[str, ...]
    success_count: int = 0
    failure_count: int = 0


@dataclass(frozen=True, slots=True)
class Guidance:
    """What a tenant tells a model that extracts: instructions, the categories to use, and what never to propose.

    A category may be followed by a colon and what it is for.
    """

    instructions: str = ""
    categories: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    def categorised(self, proposal: Proposal) -> Proposal:
        """The proposal with a category in the tenant's spelling, and without one that the tenant does not have."""
        if not isinstance(proposal, ProposedFact) or not self.categories:
            return proposal
        names = {name.casefold(): name for name in (line.partition(":")[0].strip() for line in self.categories)}
        return replace(proposal, category=names.get(proposal.category.casefold(), ""))


@dataclass(frozen=True, slots=True)
class Material:
    """One batch: `episodes` in order, and the facts and playbooks that a recall by their texts returns."""

    speaker: str
    episodes: tuple[EpisodeText, ...]
    facts: tuple[KnownFact, ...] = ()
    playbooks: tuple[KnownPlaybook, ...] = ()
    guidance: Guidance = Guidance()

    def episode(self, episode_id: UUID) -> EpisodeText | None:
        """The episode with this id, or None if it is not in the batch."""
        return next((episode for episode in self.episodes if episode.id == episode_id), None)

    @property
    def facts_by_id(self) -> Mapping[UUID, KnownFact]:
        """The known facts by id."""
        return {fact.id: fact for fact in self.facts}


@dataclass(frozen=True, slots=True)
class ProposedFact:
    """A new fact and every current fact that it makes false.

    `quote` is the passage of the user's own words that states it. `supersedes` holds ids of the material's facts, and
    `supersedes_places` positions of earlier proposals in the batch. Without `confidence`, the source's value applies.
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
    """Facts that are no longer true, or never were (harsh), without a replacement."""

    fact_ids: tuple[UUID, ...]
    supporting_episode_ids: tuple[UUID, ...]
    fact_places: tuple[int, ...] = ()
    contradiction: Contradiction = Contradiction.NATURAL
    valid_to: datetime | None = None
    quote: str = ""


@dataclass(frozen=True, slots=True)
class ProposedPlaybook:
    """A procedure that no known playbook covers."""

    title: str
    trigger: str
    steps: tuple[str, ...]
    supporting_episode_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class ProposedOutcome:
    """The user confirmed or rejected a playbook. `refined_steps` are all its steps, corrected."""

    playbook_id: UUID
    success: bool
    supporting_episode_ids: tuple[UUID, ...]
    refined_steps: tuple[str, ...] = ()


Proposal = ProposedFact | ProposedEnd | ProposedPlaybook | ProposedOutcome


@dataclass(frozen=True, slots=True)
class Extraction:
    """The result of an extractor: its proposals, ordered by the episodes that they come from.

    `output` is the raw answer as plain values, for the run's record. Decisions refer to proposals by position.
    """

    proposals: tuple[Proposal, ...]
    output: Mapping[str, Any]
    input_tokens: int = 0
    output_tokens: int = 0


class FaultKind(StrEnum):
    """How to handle a fault: retry later, retry with a smaller batch, or give up."""

    PASSING = "passing"
    UNUSABLE = "unusable"
    REFUSED = "refused"


class ExtractionFault(Exception):
    """The extractor gave no usable answer, so nothing is written. The message is for staff, without keys or texts.

    `retry_after` is the pause that the endpoint asked for, in seconds. `output` is the raw answer, if there was one.
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
    """Reads a batch and returns proposals. An extractor never accesses the database."""

    @property
    def name(self) -> str:
        """The name shown to people: the model's, or "rules"."""
        ...

    def extract(self, material: Material) -> Extraction:
        """The proposals that the batch supports. Raises ExtractionFault."""
        ...
