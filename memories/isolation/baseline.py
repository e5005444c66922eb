"""How it was before anybody attacked or wrote: what must still be so afterwards, and all the while.

Watchers write nothing and their recalls leave no trace, so whatever changes for them was done by others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memories.constants import CANDIDATES_PER_LEG
from memories.embedding import Floats, encoder
from memories.isolation.building import snapshot_of
from memories.isolation.residents import Part, Resident, World
from memories.isolation.texts import QUESTIONS
from memories.recall.pipeline import recall
from memories.recall.query import parse
from memories.search import search_plane
from memories.selectors.memories import count_memories
from memories.types import ALL_KINDS, CandidateRequest, Kind

# Scores are sums of 32-bit floats, which a cluster may add up in another order.
_DIGITS = 5

Answer = tuple[tuple[UUID, float], ...]


@dataclass(frozen=True, slots=True)
class Baseline:
    """Rows, counts, answers and candidates as they were at `now`."""

    now: datetime
    questions: tuple[str, ...]
    vectors: dict[str, Floats]
    rows: dict[UUID, tuple[object, ...]]
    counts: dict[int, dict[Kind, int]]
    answers: dict[tuple[int, str], Answer]
    candidates: dict[tuple[int, str], frozenset[tuple[UUID, float | None, float | None]]]
    firsts: dict[object, object] = field(default_factory=dict)

    def first(self, question: object, answer: object) -> object:
        """The answer that this question got when it was first asked."""
        return self.firsts.setdefault(question, answer)

    def asked(self, watcher: Resident, question: str) -> Answer:
        """What a watcher is given for a question, in its order, with the scores."""
        answer = recall(watcher.principal, question, limit=100, record=False, now=self.now)
        return tuple((item.id, round(item.score, _DIGITS)) for item in answer.items)

    def looked_up(self, watcher: Resident, question: str) -> frozenset[tuple[UUID, float | None, float | None]]:
        """What the search plane finds for a watcher, with what each leg says of it."""
        vector = self.vectors[question]
        request = CandidateRequest(ALL_KINDS, parse(question, ()).terms, lambda: vector, CANDIDATES_PER_LEG)
        hits = search_plane().candidates(watcher.principal, request).hits
        return frozenset((hit.id, _rounded(hit.lexical), _rounded(hit.dense)) for hit in hits)

    def changed(self, world: World) -> list[UUID]:
        """The memories of watchers and ghosts, and the shared ones, that are not what they were."""
        rows = snapshot_of(world)
        return [id_ for id_, row in self.rows.items() if rows.get(id_) != row]


def taken(world: World, now: datetime) -> Baseline:
    """The state of now; everything that was written must be in the search plane."""
    vectors = dict(zip(QUESTIONS, encoder().encode(QUESTIONS), strict=True))
    baseline = Baseline(now, QUESTIONS, vectors, snapshot_of(world), {}, {}, {})
    for watcher in world.of(Part.WATCHER):
        baseline.counts[watcher.number] = count_memories(watcher.principal)
        for question in QUESTIONS:
            baseline.answers[watcher.number, question] = baseline.asked(watcher, question)
            baseline.candidates[watcher.number, question] = baseline.looked_up(watcher, question)
    return baseline


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, _DIGITS)
