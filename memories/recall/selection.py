"""From scores to what is given out: the best candidates with their texts, past the boundary, with reasons and trace.

Invariant: order is by score, then by id, so equal scores never depend on how candidates arrived.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memories.recall.adjust import reasons
from memories.recall.boundary import Contender, Cut, select
from memories.recall.candidates import Found
from memories.recall.hydration import Memory, recalled, texts
from memories.recall.pool import Pool, Row
from memories.recall.request import Request
from memories.recall.scoring import Scores
from memories.recall.trace import MAX_CANDIDATES, TracedCandidate
from memories.types import Recalled, Status
from tenants.principal import Principal

# Texts loaded beyond the limit, for what collapses or does not fit.
SPARE = 4
# Where the budget leaves something out, so many times the limit are looked at for what fits.
FARTHEST = 8


@dataclass(frozen=True, slots=True)
class Selection:
    """What is given out, best first, and the candidates near it for the trace.

    `order`: all of the pool, best first; `loaded`: the texts of the first `looked_at` of them, by hex id; `cuts`: the
    verdict on each of these, by its index in the pool.
    """

    items: tuple[Recalled, ...]
    traced: tuple[TracedCandidate, ...]
    order: Sequence[int]
    loaded: Mapping[str, Memory]
    cuts: Mapping[int, Cut]
    looked_at: int

    def cut_of(self, index: int, rank: int) -> Cut:
        """What became of the candidate at `rank`, from 1."""
        return _cut(self.cuts, self.looked_at, index, rank)


def choose(principal: Principal, request: Request, pool: Pool, scores: Scores, found: Found) -> Selection:
    """Rank the pool, load the texts of the best, and give out those that pass the boundary."""
    order = _ranked(pool, scores)
    rows, cuts, size = _judged(principal, request, pool, scores, order)
    traced = order[:MAX_CANDIDATES]
    signals = _signals(scores, list(dict.fromkeys([*traced, *cuts])))
    return Selection(
        items=tuple(
            _recalled(pool, scores, found, index, rows, signals[index])
            for index, verdict in cuts.items()
            if verdict is Cut.NO
        ),
        traced=tuple(
            TracedCandidate(
                _row(pool, index).kind,
                _row(pool, index).id,
                rank,
                float(scores.final[index]),
                signals[index],
                _cut(cuts, size, index, rank),
            )
            for rank, index in enumerate(order[: max(MAX_CANDIDATES, size)], start=1)
            if rank <= MAX_CANDIDATES or cuts.get(index) is Cut.NO
        ),
        order=order,
        loaded=rows,
        cuts=cuts,
        looked_at=size,
    )


def _judged(
    principal: Principal, request: Request, pool: Pool, scores: Scores, order: Sequence[int]
) -> tuple[dict[str, Memory], dict[int, Cut], int]:
    """The texts of the best, the verdict on each that is still there, and how far down was looked for what fits."""
    size = request.limit + SPARE
    while True:
        rows = _texts(principal, request, pool, order[:size])
        present = [index for index in order[:size] if _row(pool, index).id in rows]
        contenders = [_contender(request, pool, scores, index, rows) for index in present]
        verdicts = select(
            contenders,
            limit=request.limit,
            asked=request.query,
            token_budget=request.token_budget,
            threshold=request.threshold,
        )
        # Whoever comes after one below the threshold is below it, too.
        if verdicts.count(Cut.NO) >= request.limit or Cut.THRESHOLD in verdicts or size >= len(order):
            break
        # Nor is what fits a nearly used up budget worth reading all that was found.
        if Cut.BUDGET in verdicts and size >= FARTHEST * request.limit:
            break
        size *= 2
    return rows, dict(zip(present, verdicts, strict=True)), size


def _cut(cuts: Mapping[int, Cut], looked_at: int, index: int, rank: int) -> Cut:
    """What became of a candidate: of those that were looked at, who is not there any more went meanwhile."""
    return cuts.get(index, Cut.GONE if rank <= looked_at else Cut.RANK)


def _row(pool: Pool, index: int) -> Row:
    return pool.rows[index]


def _texts(principal: Principal, request: Request, pool: Pool, indices: Sequence[int]) -> dict[str, Memory]:
    return texts(principal, request, [(row.kind, row.id) for row in (_row(pool, index) for index in indices)])


def _signals(scores: Scores, indices: Sequence[int]) -> dict[int, dict[str, float]]:
    """The signals of these candidates by name."""
    names = [*scores.signals, "fused", "adjustment"]
    columns = np.stack([*scores.signals.values(), scores.fused, scores.factor])[:, indices]
    return {
        index: dict(zip(names, values, strict=True)) for index, values in zip(indices, columns.T.tolist(), strict=True)
    }


def _recalled(
    pool: Pool, scores: Scores, found: Found, index: int, rows: dict[str, Memory], signals: dict[str, float]
) -> Recalled:
    row = _row(pool, index)
    found_itself = found.holds(row.kind, rows[row.id].pk)
    why = reasons(signals, speaker=row.speaker, tail=row.id in found.tail, neighbour=not found_itself)
    return recalled(rows[row.id], float(scores.final[index]), signals, why)


def _ranked(pool: Pool, scores: Scores) -> list[int]:
    final = scores.final.tolist()
    return sorted(range(len(pool)), key=lambda index: (-final[index], pool.rows[index].id))


def _contender(request: Request, pool: Pool, scores: Scores, index: int, rows: dict[str, Memory]) -> Contender:
    loaded = _row(pool, index)
    row = rows[loaded.id]
    return Contender(
        id=loaded.id,
        kind=loaded.kind,
        status=Status(row.status),
        score=float(scores.final[index]),
        text=row.searchable_text,
        tokens=request.cost(recalled(row, 0.0, {}, ())) if request.cost else len(loaded.pieces) // 2,
    )
