"""A memory in plain values: it applies what the planner lets through, as the services do with rows.

Invariant: the same guards as in the database decide (they are the planner's); one fact of a key is current.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import UUID, uuid4

from memories.consolidation.material import (
    EpisodeText,
    Extractor,
    KnownFact,
    KnownPlaybook,
    Material,
    ProposedEnd,
    ProposedFact,
)
from memories.consolidation.planner import Planner, PlanVerdict
from memories.hygiene.text import normalised
from memories.types import CONFIDENCE_OF_SOURCE, Contradiction, Source, Status

LONG_BEFORE = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Memory:
    """The facts of one person, with which statement ended each and what took its place."""

    facts: dict[UUID, KnownFact] = field(default_factory=dict)
    kinds: dict[UUID, Contradiction] = field(default_factory=dict)
    successors: dict[UUID, UUID] = field(default_factory=dict)
    playbooks: tuple[KnownPlaybook, ...] = ()

    def know(self, text: str, key: str = "", category: str = "", at: datetime = LONG_BEFORE) -> KnownFact:
        """A fact that is known already."""
        fact = KnownFact(uuid4(), text, key, category, Source.IMPORTED, 0.9, Status.ACTIVE, at)
        self.facts[fact.id] = fact
        return fact

    def current(self) -> set[str]:
        """The texts of what is believed."""
        return {fact.text for fact in self.facts.values() if fact.current}

    def consolidate(self, extractor: Extractor, episodes: Sequence[EpisodeText]) -> list[UUID]:
        """Read one batch; the ids of the facts that it stored."""
        material = Material("Ada", tuple(episodes), tuple(self.facts.values()), self.playbooks)
        planner = Planner(material, tuple(self.facts.values()))
        decisions = planner.plan(extractor.extract(material).proposals)
        stored: dict[int, UUID] = {}
        for decision in decisions:
            match decision.verdict, decision.proposal, decision.said_at:
                case PlanVerdict.STORE, ProposedFact() as fact, datetime() as said_at:
                    stored[decision.place] = self._store(fact, said_at, stored)
                case PlanVerdict.STORE, ProposedEnd() as end, datetime() as said_at:
                    over = [*end.fact_ids, *(stored[place] for place in end.fact_places)]
                    self._end(over, said_at, end.contradiction, None)
                case PlanVerdict.CONFIRM, ProposedFact() as fact, datetime() as said_at if decision.known:
                    over = [*fact.supersedes, *(stored[place] for place in fact.supersedes_places)]
                    self._end(over, said_at, fact.contradiction, decision.known.id)
                    known = self.facts[decision.known.id]
                    learned = known.learned_from | set(fact.supporting_episode_ids)
                    self.facts[known.id] = replace(known, learned_from=learned)
        return list(stored.values())

    def _store(self, fact: ProposedFact, said_at: datetime, stored: dict[int, UUID]) -> UUID:
        new = KnownFact(
            uuid4(), fact.text, fact.key, fact.category, fact.source, CONFIDENCE_OF_SOURCE[fact.source], Status.ACTIVE,
            said_at, valid_from=fact.valid_from, valid_to=fact.valid_to,
            learned_from=frozenset(fact.supporting_episode_ids),
        )  # fmt: skip
        same_key = [each.id for each in self.facts.values() if each.current and fact.key and each.key == fact.key]
        over = [*fact.supersedes, *(stored[place] for place in fact.supersedes_places), *same_key]
        self._end(over, said_at, fact.contradiction, new.id)
        assert normalised(new.text) not in {normalised(text) for text in self.current()}
        self.facts[new.id] = new
        return new.id

    def _end(self, ids: Sequence[UUID], at: datetime, kind: Contradiction, successor: UUID | None) -> None:
        for pk in dict.fromkeys(ids):
            fact = self.facts[pk]
            assert fact.current
            harsh = kind is Contradiction.HARSH
            self.facts[pk] = replace(fact, status=Status.SUPERSEDED, superseded_at=at, retracted=harsh)
            self.kinds[pk] = kind
            if successor is not None:
                self.successors[pk] = successor


def said(
    text: str, at: datetime, ordinal: int = 1, *, before: str = "", own: bool = True, recalled: tuple[UUID, ...] = ()
) -> EpisodeText:
    """An episode of the owner."""
    speaker = "Ada" if own else "Bob"
    return EpisodeText(uuid4(), ordinal, uuid4(), text, speaker, own, at, before, recalled)
