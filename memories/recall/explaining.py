"""Explains a recall stage by stage, from the results of `pipeline.run`.

It records no trace and counts no use, so an explanation does not change later recalls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Unpack
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.models import MEMORY_MODELS
from memories.recall.adjust import NEIGHBOURS, WINDOW_AROUND, reasons
from memories.recall.candidates import CandidateIds
from memories.recall.loading import Memory, texts
from memories.recall.pipeline import Run, run
from memories.recall.pool import CandidateRow
from memories.recall.query import Query
from memories.recall.request import RecallOptions, Request, checked
from memories.recall.selection import Cut, likeness
from memories.types import Kind, Recall, Status
from tenants.principal import Principal

# Candidates whose texts are loaded.
LISTED = 60
_CENTER = -WINDOW_AROUND[0]


class Origin(StrEnum):
    """How a memory became a candidate."""

    WORDS = "words"
    MEANING = "meaning"
    CONTEXT = "context"
    TAIL = "tail"
    DATABASE = "database"


@dataclass(frozen=True, slots=True)
class SubQueryRank:
    """A candidate's score in one sub-query, and its rank from 1 among the hits of its kind."""

    score: float
    rank: int


@dataclass(frozen=True, slots=True)
class ConsideredCandidate:
    """A candidate at every stage. `memory` is None if it is not listed or was deleted meanwhile.

    `beside`: the hits that brought it in, if it is only their neighbour. `signals` holds all signals by name, `added`
    those that make up the sum, `adjustments` the factors before clipping. `rank` and `fused_rank` count from 1. `like`:
    the memory that it duplicates, if it was left out for that.
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
    """A candidate that the database did not load. `status` is its current status, or None if it was deleted."""

    kind: Kind
    id: UUID
    status: Status | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """A recall's answer and its derivation. `considered` is the whole pool, best first.

    `stages` maps each stage to its milliseconds and, if it has one, its count.
    """

    answer: Recall
    request: Request
    query: Query
    stages: Mapping[str, Mapping[str, float]]
    considered: tuple[ConsideredCandidate, ...]
    unloaded: tuple[Unloaded, ...]

    @property
    def found(self) -> int:
        """The number of candidates from the search plane, the outbox and the database."""
        return int(self.stages["candidates"]["count"])

    @property
    def by_context(self) -> int:
        """The number of candidates that are only neighbours of a hit."""
        return sum(Origin.CONTEXT in each.origins for each in self.considered)


def explain(principal: Principal, query: str, **options: Unpack[RecallOptions]) -> Explanation:
    """Explain the answer that `recall` gives to the same arguments. Raises the same errors."""
    ran = run(principal, checked(principal, query, **options))
    return Explanation(
        answer=ran.answer,
        request=ran.request,
        query=ran.query,
        stages=ran.stages.stages,
        considered=tuple(_considered(ran, _memories(principal, ran))),
        unloaded=tuple(_unloaded(principal, ran)),
    )


def _memories(principal: Principal, ran: Run) -> dict[str, Memory]:
    """Load the rows of the best LISTED candidates, by hex id."""
    rows = [ran.pool.rows[index] for index in ran.selection.order[:LISTED]]
    missing = [(row.kind, row.id) for row in rows if row.id not in ran.selection.loaded]
    return {**ran.selection.loaded, **texts(principal, ran.request, missing)}


def _considered(ran: Run, memories: Mapping[str, Memory]) -> Iterator[ConsideredCandidate]:
    """Yield every candidate of the pool, best first."""
    scores, pool = ran.scores, ran.pool
    words, meaning = _places(ran.found, ran.found.lexical), _places(ran.found, ran.found.dense)
    fused_rank, hits = _fused_ranks(ran), _hits(ran)
    given = {_likeness(ran.selection.loaded[item.id.hex]): item.id for item in ran.answer.items}
    for rank, index in enumerate(ran.selection.order, start=1):
        row = pool.rows[index]
        signals = _at(scores.signals, index)
        origins = _origins(ran.found, row)
        by_context = Origin.CONTEXT in origins
        cut = _cut(ran, index)
        said = reasons(signals, speaker=row.speaker, tail=Origin.TAIL in origins, neighbour=by_context)
        yield ConsideredCandidate(
            kind=row.kind,
            id=UUID(row.id),
            origins=origins,
            words=words.get(row.id),
            meaning=meaning.get(row.id),
            beside=_beside(pool.neighbours[index], hits) if by_context else (),
            signals=signals,
            added={name: signals[name] for name in scores.added},
            fused=float(scores.fused[index]),
            fused_rank=fused_rank[index],
            adjustments=_at(scores.adjustments, index),
            factor=float(scores.factor[index]),
            score=float(scores.final[index]),
            rank=rank,
            cut=cut,
            like=given.get(_likeness(memories[row.id])) if cut is Cut.DUPLICATE else None,
            memory=memories.get(row.id),
            reasons=tuple(said),
        )


def _origins(found: CandidateIds, row: CandidateRow) -> tuple[Origin, ...]:
    if not found.holds(row.kind, UUID(row.id)):
        return (Origin.CONTEXT,)
    named = ((Origin.WORDS, found.lexical), (Origin.MEANING, found.dense), (Origin.TAIL, found.tail))
    return tuple(origin for origin, ids in named if row.id in ids) or (Origin.DATABASE,)


def _beside(around: NDArray[np.intp], hits: Mapping[int, str]) -> tuple[UUID, ...]:
    """Return the hits that brought in a candidate as one of their NEIGHBOURS."""
    texts_of_hits = (int(around[_CENTER - offset]) for offset in NEIGHBOURS if offset)
    return tuple(UUID(hits[text]) for text in texts_of_hits if text in hits)


def _cut(ran: Run, index: int) -> Cut:
    """Return the recorded verdict; unexamined candidates below the threshold count as cut by it."""
    threshold = ran.request.threshold
    below = threshold is not None and float(ran.scores.final[index]) < threshold
    return ran.selection.cuts.get(index, Cut.THRESHOLD if below else Cut.RANK)


def _at(by_name: Mapping[str, NDArray[Any]], index: int) -> dict[str, float]:
    return {name: float(values[index]) for name, values in by_name.items()}


def _places(found: CandidateIds, scores: Mapping[str, float]) -> dict[str, SubQueryRank]:
    """Return the rank of each hit of a sub-query within its kind, by hex id."""
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
    """Map the pool's text index of each direct hit to the hit's hex id."""
    own = zip(ran.pool.own.tolist(), ran.pool.rows, strict=True)
    return {text: row.id for text, row in own if ran.found.holds(row.kind, UUID(row.id))}


def _likeness(memory: Memory) -> tuple[str, ...]:
    return likeness(memory.kind, Status(memory.status), memory.searchable_text)


def _unloaded(principal: Principal, ran: Run) -> Iterator[Unloaded]:
    """Yield candidates that ended, expired or were deleted before the search plane was updated."""
    loaded = {row.id for row in ran.pool.rows}
    for kind, ids in ran.found.ids.items():
        missing = sorted(id_ for id_ in ids if id_.hex not in loaded)
        if not missing:
            continue
        rows = MEMORY_MODELS[kind].objects.visible_to(principal, ran.request.task).filter(pk__in=missing)
        status = dict(rows.values_list("pk", "status"))
        for id_ in missing:
            yield Unloaded(kind, id_, Status(status[id_]) if id_ in status else None)
