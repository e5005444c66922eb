"""How it was before anybody attacked or wrote: what must still be so afterwards, and all the while.

Watchers write nothing and their recalls leave no trace, so whatever changes for them was done by others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memories.constants import CANDIDATES_PER_LEG
from memories.embedding import Floats, encoder
from memories.errors import SearchUnavailable
from memories.recall.pipeline import recall
from memories.recall.query import parse
from memories.search import search_plane
from memories.selectors.memories import count_memories
from memories.types import ALL_KINDS, CandidateRequest, Kind
from proof.building import snapshot_of
from proof.residents import QUESTIONS, Part, Resident, World

# Scores are sums of 32-bit floats, which may be added up in another order (measured: 3e-8); another owner's document
# moves one by 1e-3 and more, where it moves it at all.
TOLERANCE = 1e-5

Answer = tuple[tuple[UUID | str, tuple[float | None, ...]], ...]
"""Ids in their order, with their scores."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Rows, counts, answers and candidates as they were at `now`."""

    now: datetime
    questions: tuple[str, ...]
    vectors: dict[str, Floats]
    rows: dict[UUID, tuple[object, ...]]
    counts: dict[int, dict[Kind, int]]
    answers: dict[tuple[int, str], Answer]
    candidates: dict[tuple[int, str], Answer]
    firsts: dict[object, Answer] = field(default_factory=dict)

    def first(self, question: object, answer: Answer) -> Answer:
        """The answer that this question got when it was first asked."""
        return self.firsts.setdefault(question, answer)

    def asked(self, watcher: Resident, question: str) -> Answer:
        """What a watcher is given for a question, in its order, with the scores. Raises SearchUnavailable."""
        answer = recall(watcher.principal, question, limit=100, record=False, now=self.now)
        if answer.degraded:
            raise SearchUnavailable("An answer without the search plane cannot be compared with one that had it.")
        return tuple((item.id, (item.score,)) for item in answer.items)

    def looked_up(self, watcher: Resident, question: str) -> Answer:
        """What the search plane finds for a watcher, with what each leg says of it."""
        vector = self.vectors[question]
        request = CandidateRequest(ALL_KINDS, parse(question, ()).terms, lambda: vector, CANDIDATES_PER_LEG)
        hits = search_plane().candidates(watcher.principal, request).hits
        return tuple((hit.id, (hit.lexical, hit.dense)) for hit in sorted(hits, key=lambda hit: hit.id))

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


def moved(before: Answer, now: Answer) -> bool:
    """Whether an answer holds other memories than before, in another order, or with other scores."""
    if [id_ for id_, _ in before] != [id_ for id_, _ in now]:
        return True
    pairs = (pair for (_, old), (_, new) in zip(before, now, strict=True) for pair in zip(old, new, strict=True))
    return any(not _close(old, new) for old, new in pairs)


def _close(old: float | None, new: float | None) -> bool:
    return old == new if old is None or new is None else abs(old - new) <= TOLERANCE
