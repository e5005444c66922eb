"""Explaining a recall: the same run as any other, stage by stage.

It reads the results of `pipeline.run`, records nothing and counts no use: an explanation changes no later
answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.utils import timezone
from numpy.typing import NDArray

from memories.constants import DEFAULT_RECALL_LIMIT
from memories.models import MEMORY_MODELS
from memories.recall.adjust import NEIGHBOURS, WINDOW_AROUND, reasons
from memories.recall.candidates import CandidateIds
from memories.recall.loading import Memory, texts
from memories.recall.pipeline import Run, run
from memories.recall.query import Query
from memories.recall.request import Request, checked, screened
from memories.recall.selection import Cut, likeness
from memories.types import ALL_KINDS, Kind, Recall, Status
from tenants.principal import Principal

# Candidates whose texts are loaded.
LISTED = 60
_CENTER = -WINDOW_AROUND[0]


class Origin(StrEnum):
    """What made a memory a candidate."""

    WORDS = "words"
    MEANING = "meaning"
    CONTEXT = "context"
    TAIL = "tail"
    DATABASE = "database"


@dataclass(frozen=True, slots=True)
class SubQueryRank:
    """A candidate's score in one sub-query, and its rank among the hits of its kind, from 1."""

    score: float
    rank: int


@dataclass(frozen=True, slots=True)
class ConsideredCandidate:
    """A candidate at every stage. `memory` is None for one that is not listed or was deleted meanwhile.

    `beside`: the hits that brought it along, if it is only their neighbour. `signals` are all signals by name, `added`
    those that make up the sum, `adjustments` the factors before their bounds. `rank` and `fused_rank` count from 1.
    `like`: the memory that it repeats, if that is why it was left out.
    """

    kind: Kind
    id: UUID
    origins: tuple[Origin, ...]
    words: SubQueryRank | None
    meaning: SubQueryRank | None
    beside: tuple[UUID, ...]
    signals: Mapping[str, float]
    added: Mapping[str, float]
    fused: float
    fused_rank: int
    adjustments: Mapping[str, float]
    factor: float
    score: float
    rank: int
    cut: Cut
    like: UUID | None
    memory: Memory | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unloaded:
    """A candidate that the database did not load. `status` is its present one, None if it was deleted."""

    kind: Kind
    id: UUID
    status: Status | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """A recall's answer and its derivation. `considered` is the whole pool, best first.

    `stages` maps each stage to its milliseconds and, where it has one, its count.
    """

    answer: Recall
    request: Request
    query: Query
    stages: Mapping[str, Mapping[str, float]]
    considered: tuple[ConsideredCandidate, ...]
    unloaded: tuple[Unloaded, ...]

    @property
    def found(self) -> int:
        """Candidates from the search plane, the tail and the database."""
        return int(self.stages["candidates"]["count"])

    @property
    def by_context(self) -> int:
        """Candidates that are only neighbours of a hit."""
        return sum(Origin.CONTEXT in each.origins for each in self.considered)


def explain(
    principal: Principal,
    query: str,
    *,
    types: Iterable[Kind | str] = ALL_KINDS,
    limit: int = DEFAULT_RECALL_LIMIT,
    task: str = "",
    include_superseded: bool = False,
    as_of: datetime | None = None,
    token_budget: int | None = None,
    threshold: float | None = None,
    now: datetime | None = None,
) -> Explanation:
    """The answer of `recall` to the same arguments, explained. Raises as `recall` does."""
    request = checked(
        screened(principal, query),
        types=types,
        limit=limit,
        task=screened(principal, task),
        include_superseded=include_superseded,
        as_of=as_of,
        token_budget=token_budget,
        threshold=threshold,
        now=now or timezone.now(),
    )
    ran = run(principal, request)
    return Explanation(
        answer=ran.answer,
        request=request,
        query=ran.query,
        stages=ran.stages.stages,
        considered=_considered(ran, _memories(principal, ran)),
        unloaded=tuple(_unloaded(principal, ran)),
    )


def _memories(principal: Principal, ran: Run) -> dict[str, Memory]:
    """The rows of the best LISTED candidates."""
    rows = [ran.pool.rows[index] for index in ran.selection.order[:LISTED]]
    missing = [(row.kind, row.id) for row in rows if row.id not in ran.selection.loaded]
    return {**ran.selection.loaded, **texts(principal, ran.request, missing)}


def _considered(ran: Run, memories: Mapping[str, Memory]) -> tuple[ConsideredCandidate, ...]:
    explainer = _Explainer(
        ran=ran,
        memories=memories,
        words=_places(ran.found, ran.found.lexical),
        meaning=_places(ran.found, ran.found.dense),
        fused_rank=_fused_ranks(ran),
        hits=_hits(ran),
        given=_given(ran),
    )
    return tuple(explainer.of(index, rank) for rank, index in enumerate(ran.selection.order, start=1))


@dataclass(frozen=True, slots=True)
class _Explainer:
    """A run with its look-up tables, by hex id. `given`: the returned memories by likeness."""

    ran: Run
    memories: Mapping[str, Memory]
    words: Mapping[str, SubQueryRank]
    meaning: Mapping[str, SubQueryRank]
    fused_rank: Mapping[int, int]
    hits: Mapping[int, str]
    given: Mapping[tuple[str, ...], str]

    def of(self, index: int, rank: int) -> ConsideredCandidate:
        """One candidate."""
        ran, scores = self.ran, self.ran.scores
        row = ran.pool.rows[index]
        signals = _at(scores.signals, index)
        origins = self._origins(index)
        cut = self._cut(index, rank)
        said = reasons(signals, speaker=row.speaker, tail=Origin.TAIL in origins, neighbour=Origin.CONTEXT in origins)
        return ConsideredCandidate(
            kind=row.kind,
            id=UUID(row.id),
            origins=origins,
            words=self.words.get(row.id),
            meaning=self.meaning.get(row.id),
            beside=self._beside(index) if Origin.CONTEXT in origins else (),
            signals=signals,
            added={name: signals[name] for name in scores.added},
            fused=float(scores.fused[index]),
            fused_rank=self.fused_rank[index],
            adjustments=_at(scores.adjustments, index),
            factor=float(scores.factor[index]),
            score=float(scores.final[index]),
            rank=rank,
            cut=cut,
            like=self._like(row.id) if cut is Cut.DUPLICATE else None,
            memory=self.memories.get(row.id),
            reasons=tuple(said),
        )

    def _origins(self, index: int) -> tuple[Origin, ...]:
        found, row = self.ran.found, self.ran.pool.rows[index]
        if not found.holds(row.kind, UUID(row.id)):
            return (Origin.CONTEXT,)
        named = ((Origin.WORDS, found.lexical), (Origin.MEANING, found.dense), (Origin.TAIL, found.tail))
        return tuple(origin for origin, ids in named if row.id in ids) or (Origin.DATABASE,)

    def _beside(self, index: int) -> tuple[UUID, ...]:
        """The hits that bring this candidate along, as one of their NEIGHBOURS."""
        around = self.ran.pool.neighbours[index]
        texts_of_hits = (int(around[_CENTER - offset]) for offset in NEIGHBOURS if offset)
        return tuple(UUID(self.hits[text]) for text in texts_of_hits if text in self.hits)

    def _cut(self, index: int, rank: int) -> Cut:
        """The recorded verdict; candidates below the threshold that were never examined count as cut by it."""
        threshold = self.ran.request.threshold
        if rank > self.ran.selection.looked_at and threshold is not None:
            return Cut.THRESHOLD if float(self.ran.scores.final[index]) < threshold else Cut.RANK
        return self.ran.selection.cut_of(index, rank)

    def _like(self, id_: str) -> UUID | None:
        given = self.given.get(_likeness(self.memories[id_]))
        return None if given is None else UUID(given)


def _at(by_name: Mapping[str, NDArray[Any]], index: int) -> dict[str, float]:
    return {name: float(values[index]) for name, values in by_name.items()}


def _places(found: CandidateIds, scores: Mapping[str, float]) -> dict[str, SubQueryRank]:
    """The place of each hit of a sub-query, by hex id; ranks count within a kind."""
    places: dict[str, SubQueryRank] = {}
    for ids in found.ids.values():
        hits = sorted((-scores[id_.hex], id_.hex) for id_ in ids if id_.hex in scores)
        places |= {id_: SubQueryRank(-score, rank) for rank, (score, id_) in enumerate(hits, start=1)}
    return places


def _fused_ranks(ran: Run) -> dict[int, int]:
    fused = ran.scores.fused.tolist()
    order = sorted(range(len(ran.pool)), key=lambda index: (-fused[index], ran.pool.rows[index].id))
    return {index: rank for rank, index in enumerate(order, start=1)}


def _hits(ran: Run) -> dict[int, str]:
    """The hits (not their neighbours), by the index of their text in the pool."""
    own = zip(ran.pool.own.tolist(), ran.pool.rows, strict=True)
    return {text: row.id for text, row in own if ran.found.holds(row.kind, UUID(row.id))}


def _given(ran: Run) -> dict[tuple[str, ...], str]:
    return {_likeness(ran.selection.loaded[item.id.hex]): item.id.hex for item in ran.answer.items}


def _likeness(memory: Memory) -> tuple[str, ...]:
    return likeness(memory.kind, Status(memory.status), memory.searchable_text)


def _unloaded(principal: Principal, ran: Run) -> Iterator[Unloaded]:
    """Candidates that ended, expired or were deleted without the search plane knowing yet."""
    loaded = {row.id for row in ran.pool.rows}
    for kind, ids in ran.found.ids.items():
        missing = sorted(id_ for id_ in ids if id_.hex not in loaded)
        if not missing:
            continue
        rows = MEMORY_MODELS[kind].objects.visible_to(principal, ran.request.task).filter(pk__in=missing)
        status = dict(rows.values_list("pk", "status"))
        for id_ in missing:
            yield Unloaded(kind, id_, Status(status[id_]) if id_ in status else None)
