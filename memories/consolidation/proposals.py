"""What an extractor proposes. Nothing of it is true until the planner has checked it and the runner has stored it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from memories.consolidation.material import Material
from memories.types import Contradiction, Source


@dataclass(frozen=True, slots=True)
class ProposedFact:
    """A new fact, and every current fact that it makes false.

    `quote` is the piece of the user's own words that says it. `supersedes` are ids of the material's facts;
    `supersedes_places` are places of earlier proposals of the same batch. `confidence` None: as the source is.
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
    """What an extractor made of a batch: proposals in the order of the episodes that they come from.

    `output` is its answer as plain values, for the record; decisions name proposals by their place in `proposals`.
    """

    proposals: tuple[Proposal, ...]
    output: Mapping[str, Any]
    input_tokens: int = 0
    output_tokens: int = 0


class FaultKind(StrEnum):
    """What to do about a fault: wait and try the same again, try less at once, or give up."""

    PASSING = "passing"
    UNUSABLE = "unusable"
    REFUSED = "refused"


class ExtractionFault(Exception):
    """No usable answer; nothing is written from it. The message is a sentence for staff, without keys or texts.

    `retry_after`: seconds that the endpoint asks to wait. `output` is what came, for the record, if anything did.
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
        """What people see: the model's name, or "rules"."""
        ...

    def extract(self, material: Material) -> Extraction:
        """What the batch says. Raises ExtractionFault."""
        ...
