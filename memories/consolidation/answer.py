"""A model's answer to a batch: its shape, and the proposals that it becomes.

An answer names episodes, facts and playbooks by the short labels of its question alone. A part that may be empty may be
missing, for not every endpoint holds a model to a schema; anything unknown is refused. A label that the question did
not have becomes an id that names nothing, so the planner refuses it where everybody can see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from memories.consolidation.material import (
    Proposal,
    ProposedEnd,
    ProposedFact,
    ProposedOutcome,
    ProposedPlaybook,
)
from memories.consolidation.question import NOTHING, Labels
from memories.constants import (
    FIRST_YEAR,
    LAST_YEAR,
    MAX_KEY_CHARACTERS,
    MAX_MEMORY_CHARACTERS,
    MAX_MESSAGE_CHARACTERS,
    MAX_STEPS,
    MAX_TITLE_CHARACTERS,
)
from memories.types import Contradiction

_KEY = re.compile(r"[a-z0-9_]*")
_DAY = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(T.+)?)?)?")
MAX_STEP_CHARACTERS = 1_000
MAX_LABELS = 100


def moment(text: str) -> datetime | None:
    """The beginning of a year, month or day, or a time, in UTC unless it names a zone. Raises ValueError."""
    if not text:
        return None
    if not (found := _DAY.fullmatch(text)):
        raise ValueError("not an ISO date")
    year, month, day, time = found.groups()
    if time:
        told = datetime.fromisoformat(text)
        told = told if told.tzinfo else told.replace(tzinfo=UTC)
    else:
        told = datetime(int(year), int(month or 1), int(day or 1), tzinfo=UTC)
    if not FIRST_YEAR < told.year < LAST_YEAR:
        raise ValueError("too far away")
    return told


def _checked_moment(text: str) -> str:
    moment(text)
    return text


def _checked_key(text: str) -> str:
    if not _KEY.fullmatch(text):
        raise ValueError("not snake_case")
    return text


class AnswerPart(BaseModel):
    """A part of an answer; unknown members are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Label = Annotated[str, Field(max_length=20)]
LabelList = Annotated[list[Label], Field(max_length=MAX_LABELS)]
Support = Annotated[LabelList, Field(description="Labels of the episodes in which the user says it, such as E1.")]
Quote = Annotated[
    str, Field(max_length=MAX_MESSAGE_CHARACTERS, description="The user's exact words that say it, from one episode.")
]
Moment = Annotated[
    str,
    AfterValidator(_checked_moment),
    Field(
        max_length=40, description="ISO date, as exact as the words are: 2024, 2024-03, 2024-03-09. Empty: not said."
    ),
]
Ended = Annotated[Literal["natural", "harsh"], Field(description="Why: the world changed, or it was never true.")]
Steps = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=MAX_STEP_CHARACTERS)]], Field(max_length=MAX_STEPS)
]


class NewFact(AnswerPart):
    """A stable assertion about the user."""

    text: Annotated[
        str,
        Field(min_length=1, max_length=MAX_MEMORY_CHARACTERS, description='Without a subject: "Lives in Edinburgh".'),
    ]
    key: Annotated[
        str,
        AfterValidator(_checked_key),
        Field(max_length=MAX_KEY_CHARACTERS, description="snake_case slot of one value at a time, or empty."),
    ] = ""
    category: Annotated[
        str, Field(max_length=MAX_KEY_CHARACTERS, description="Such as home, work, health, preference.")
    ] = ""
    confidence: Annotated[float, Field(ge=0, le=1, description="0 to 1: how sure the words are.")]
    quote: Quote
    episodes: Support
    supersedes: Annotated[
        LabelList, Field(description="Every fact that this makes false: F labels, or N labels of earlier new facts.")
    ] = []
    contradiction: Ended = "natural"
    valid_from: Moment = ""
    valid_to: Moment = ""


class EndedFacts(AnswerPart):
    """Facts that the user says no longer hold, or never did, with nothing in their place."""

    facts: Annotated[LabelList, Field(description="F labels, or N labels of new facts.")]
    quote: Quote
    episodes: Support
    contradiction: Ended = "natural"
    valid_to: Moment = ""


class NewPlaybook(AnswerPart):
    """A way to do something, in several steps."""

    title: Annotated[str, Field(min_length=1, max_length=MAX_TITLE_CHARACTERS, description="What it achieves.")]
    trigger: Annotated[str, Field(max_length=MAX_TITLE_CHARACTERS, description="When to use it.")] = ""
    steps: Steps
    episodes: Support


class ReportedOutcome(AnswerPart):
    """The user tried a playbook and says whether it worked."""

    playbook: Annotated[str, Field(max_length=20, description="A P label.")]
    success: bool
    episodes: Support
    refined_steps: Annotated[Steps, Field(description="All steps as they should have been, or none.")] = []


class Answer(AnswerPart):
    """All that a batch says; any list may be empty."""

    facts: list[NewFact]
    ends: list[EndedFacts]
    playbooks: list[NewPlaybook]
    outcomes: list[ReportedOutcome]


@dataclass(frozen=True, slots=True)
class AnswerReading:
    """The proposals; where in the answer each is (list, place); and labels that the question did not have."""

    proposals: tuple[Proposal, ...]
    found_at: tuple[tuple[str, int], ...]
    unknown: tuple[str, ...]


def read_answer(answer: Answer, labels: Labels) -> AnswerReading:
    """What `answer` proposes, its labels resolved."""
    names = _Names(labels, len(answer.facts))
    order = {pk: place for place, pk in enumerate(labels.episodes.values())}

    def last(found: tuple[str, int, Proposal]) -> int:
        return max((order.get(pk, -1) for pk in found[2].supporting_episode_ids), default=-1)

    # Facts stand before what may name them; sorting keeps that order where the episode is the same.
    every = sorted(_parts(answer, names), key=last)
    places = {number: place for place, (part, number, _) in enumerate(every) if part == "facts"}
    return AnswerReading(
        tuple(_with_places(proposal, places) for _, _, proposal in every),
        tuple((part, number) for part, number, _ in every),
        tuple(sorted(names.unknown)),
    )


class _Names:
    """What the labels of an answer stand for. `unknown` are those that stand for nothing."""

    def __init__(self, labels: Labels, new_facts: int) -> None:
        self._labels = labels
        self._new = {f"N{number + 1}": number for number in range(new_facts)}
        self.unknown: set[str] = set()

    def episodes(self, labels: list[str]) -> tuple[UUID, ...]:
        return tuple(self._named(label, self._labels.episodes) for label in labels)

    def playbook(self, label: str) -> UUID:
        return self._named(label, self._labels.playbooks)

    def old_facts(self, labels: list[str]) -> tuple[UUID, ...]:
        return tuple(self._named(label, self._labels.facts) for label in labels if label not in self._new)

    def new_facts(self, labels: list[str]) -> tuple[int, ...]:
        """Their numbers in the answer."""
        return tuple(self._new[label] for label in labels if label in self._new)

    def _named(self, label: str, known: Mapping[str, UUID]) -> UUID:
        if label not in known:
            self.unknown.add(label)
        return known.get(label, NOTHING)


def _parts(answer: Answer, names: _Names) -> Iterator[tuple[str, int, Proposal]]:
    yield from (("facts", number, _fact(part, names)) for number, part in enumerate(answer.facts))
    yield from (("ends", number, _end(part, names)) for number, part in enumerate(answer.ends))
    yield from (("playbooks", number, _playbook(part, names)) for number, part in enumerate(answer.playbooks))
    yield from (("outcomes", number, _outcome(part, names)) for number, part in enumerate(answer.outcomes))


def _fact(part: NewFact, names: _Names) -> ProposedFact:
    return ProposedFact(
        text=part.text.strip(),
        supporting_episode_ids=names.episodes(part.episodes),
        key=part.key,
        category=part.category.strip(),
        confidence=part.confidence,
        valid_from=moment(part.valid_from),
        valid_to=moment(part.valid_to),
        supersedes=names.old_facts(part.supersedes),
        supersedes_places=names.new_facts(part.supersedes),
        contradiction=Contradiction(part.contradiction),
        quote=part.quote,
    )


def _end(part: EndedFacts, names: _Names) -> ProposedEnd:
    return ProposedEnd(
        fact_ids=names.old_facts(part.facts),
        supporting_episode_ids=names.episodes(part.episodes),
        fact_places=names.new_facts(part.facts),
        contradiction=Contradiction(part.contradiction),
        valid_to=moment(part.valid_to),
        quote=part.quote,
    )


def _playbook(part: NewPlaybook, names: _Names) -> ProposedPlaybook:
    return ProposedPlaybook(part.title.strip(), part.trigger.strip(), tuple(part.steps), names.episodes(part.episodes))


def _outcome(part: ReportedOutcome, names: _Names) -> ProposedOutcome:
    return ProposedOutcome(
        names.playbook(part.playbook), part.success, names.episodes(part.episodes), tuple(part.refined_steps)
    )


def _with_places(proposal: Proposal, places: Mapping[int, int]) -> Proposal:
    """Its numbers of new facts as places among the proposals."""
    match proposal:
        case ProposedFact():
            return replace(proposal, supersedes_places=tuple(places[each] for each in proposal.supersedes_places))
        case ProposedEnd():
            return replace(proposal, fact_places=tuple(places[each] for each in proposal.fact_places))
        case _:
            return proposal
