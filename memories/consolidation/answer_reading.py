"""A model's answer as proposals, in the order of the episodes that they come from.

Invariant: each part of the answer becomes exactly one proposal. A label that the question did not have becomes an id
that names nothing, so that the planner refuses it where everybody can see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from memories.consolidation.answer_shape import Answer, EndedFacts, NewFact, NewPlaybook, Outcome, moment
from memories.consolidation.proposals import (
    Proposal,
    ProposedEnd,
    ProposedFact,
    ProposedOutcome,
    ProposedPlaybook,
)
from memories.consolidation.question import NOTHING, Labels
from memories.types import Contradiction


@dataclass(frozen=True, slots=True)
class Reading:
    """The proposals; where in the answer each stands (list, place); and labels that the question did not have."""

    proposals: tuple[Proposal, ...]
    found_at: tuple[tuple[str, int], ...]
    unknown: tuple[str, ...]


def read_answer(answer: Answer, labels: Labels) -> Reading:
    """What `answer` proposes, its labels resolved."""
    names = _Names(labels, len(answer.facts))
    order = {pk: place for place, pk in enumerate(labels.episodes.values())}

    def last(found: tuple[str, int, Proposal]) -> int:
        return max((order.get(pk, -1) for pk in found[2].supporting_episode_ids), default=-1)

    # Facts stand before what may name them; sorting keeps that order where the episode is the same.
    every = sorted(_parts(answer, names), key=last)
    places = {number: place for place, (part, number, _) in enumerate(every) if part == "facts"}
    return Reading(
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


def _outcome(part: Outcome, names: _Names) -> ProposedOutcome:
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
