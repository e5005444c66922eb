"""Selects the answer from the scored candidates, with texts, reasons and trace.

`select` decides which ranked candidates are returned, and why the others are not. Candidates are ordered by score, then
by id, so ties do not depend on the order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

import numpy as np

from memories.recall.adjust import reasons
from memories.recall.candidates import CandidateIds
from memories.recall.loading import Memory, recalled, texts
from memories.recall.pool import CandidateRow, Pool
from memories.recall.query import words
from memories.recall.request import Request
from memories.recall.scoring import Scores
from memories.recall.words_en import FILLERS, QUESTION_WORDS
from memories.types import Kind, Recalled, Status
from tenants.principal import Principal


class Cut(StrEnum):
    """Why a candidate was not returned; NO if it was."""

    NO = ""
    RANK = "rank"
    DUPLICATE = "duplicate"
    ASKED_BEFORE = "asked before"
    BUDGET = "budget"
    THRESHOLD = "threshold"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Contender:
    """A ranked candidate as `select` needs it; `tokens` is the cost of its text in a prompt."""

    kind: Kind
    status: Status
    score: float
    text: str
    tokens: int


def select(
    ranked: Sequence[Contender],
    *,
    limit: int,
    asked: str = "",
    token_budget: int | None = None,
    threshold: float | None = None,
) -> list[Cut]:
    """Return the verdict on each contender; `ranked` is best first.

    An episode that only asks the same question (`asked`) matches best but answers nothing, so it is omitted. A near
    duplicate of a returned candidate is omitted, but for items, which their keys tell apart. A candidate over the token
    budget is skipped, so that a long text does not exclude shorter ones after it.
    """
    verdicts: list[Cut] = []
    seen: set[tuple[str, ...]] = set()
    left = token_budget
    given = 0
    for contender in ranked:
        alike = likeness(contender.kind, contender.status, contender.text)
        if threshold is not None and contender.score < threshold:
            verdict = Cut.THRESHOLD
        elif _only_asks(contender, asked):
            verdict = Cut.ASKED_BEFORE
        elif alike in seen and contender.kind is not Kind.ITEM:
            verdict = Cut.DUPLICATE
        elif given >= limit:
            verdict = Cut.RANK
        elif left is not None and contender.tokens > left:
            verdict = Cut.BUDGET
        else:
            verdict = Cut.NO
            seen.add(alike)
            given += 1
            left = None if left is None else left - contender.tokens
        verdicts.append(verdict)
    return verdicts


def likeness(kind: Kind, status: Status, text: str) -> tuple[str, ...]:
    """Return a key that is equal for near duplicates: same kind, status and words in order, ignoring fillers.

    It is deliberately narrow: to an encoder, two facts that differ in one number, name or "not" are nearly identical,
    and that difference is the answer.
    """
    return (kind, status, *(_said(text) or [text]))


def _only_asks(contender: Contender, asked: str) -> bool:
    """True if an episode asks the same question in the same words."""
    if contender.kind is not Kind.EPISODIC:
        return False
    said = _said(contender.text)
    asks = contender.text.rstrip().endswith("?") or bool(said and said[0] in QUESTION_WORDS)
    return asks and said == _said(asked)


def _said(text: str) -> list[str]:
    return [word for word in words(text) if word not in FILLERS]


# Texts loaded beyond the limit, to replace duplicates and texts over the budget.
SPARE = 4
# Once the budget has excluded a candidate, no further batch is loaded after this many times the limit.
FARTHEST = 8
# The best-ranked candidates in a trace; returned ones are always added.
MAX_TRACED = 40
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Selection:
    """The answer, best first, and the trace, which contains ids and numbers but no text.

    `order`: indices of the pool's rows of the wanted kinds, best first. `cuts`: the verdict on each examined candidate,
    by index; the examined ones are the first of `order`. `loaded`: their rows, by hex id.
    """

    items: tuple[Recalled, ...]
    traced: tuple[dict[str, Any], ...]
    order: Sequence[int]
    loaded: Mapping[str, Memory]
    cuts: Mapping[int, Cut]


def choose(principal: Principal, request: Request, pool: Pool, scores: Scores, found: CandidateIds) -> Selection:
    """Rank the pool's rows of the wanted kinds, load the texts of the best candidates, and select the answer."""
    final = scores.final.tolist()
    ids = [row.id for row in pool.rows]
    order = [index for index, row in enumerate(pool.rows) if row.kind in request.kinds]
    # Two sorts by one value each take a third of the time of one by two.
    order.sort(key=ids.__getitem__)
    order.sort(key=(-scores.final).tolist().__getitem__)
    rows, cuts = _judged(principal, request, pool, final, order)
    traced = [
        (rank, index)
        for rank, index in enumerate(order[: max(MAX_TRACED, len(cuts))], start=1)
        if rank <= MAX_TRACED or cuts.get(index) is Cut.NO
    ]
    signals = _signals(scores, list(cuts))
    rounded = _signals(scores, [index for _, index in traced], digits=_DIGITS)
    return Selection(
        items=tuple(
            _recalled(found, pool.rows[index], rows[pool.rows[index].id], final[index], signals[index])
            for index, verdict in cuts.items()
            if verdict is Cut.NO
        ),
        traced=tuple(
            _line(pool.rows[index], rank, final[index], rounded[index], cuts.get(index, Cut.RANK))
            for rank, index in traced
        ),
        order=order,
        loaded=rows,
        cuts=cuts,
    )


def _judged(
    principal: Principal, request: Request, pool: Pool, final: Sequence[float], order: Sequence[int]
) -> tuple[dict[str, Memory], dict[int, Cut]]:
    """Return the rows of the best candidates and the verdict on each. A missing row was deleted meanwhile."""
    size = request.limit + SPARE
    rows: dict[str, Memory] = {}
    looked_at = 0
    while True:
        more = (pool.rows[index] for index in order[looked_at:size])
        rows |= texts(principal, request, [(row.kind, row.id) for row in more])
        looked_at = size
        present = [index for index in order[:size] if pool.rows[index].id in rows]
        verdicts = select(
            _contenders(request, pool, final, present, rows),
            limit=request.limit,
            asked=request.query,
            token_budget=request.token_budget,
            threshold=request.threshold,
        )
        # All later candidates are below the threshold, too.
        if verdicts.count(Cut.NO) >= request.limit or Cut.THRESHOLD in verdicts or size >= len(order):
            break
        # Filling the rest of a nearly exhausted budget does not justify loading every candidate.
        if Cut.BUDGET in verdicts and size >= FARTHEST * request.limit:
            break
        size *= 2
    return rows, dict.fromkeys(order[:size], Cut.GONE) | dict(zip(present, verdicts, strict=True))


def _contenders(
    request: Request, pool: Pool, final: Sequence[float], present: Iterable[int], rows: Mapping[str, Memory]
) -> list[Contender]:
    contenders = []
    for index in present:
        loaded = pool.rows[index]
        row = rows[loaded.id]
        # Two bytes per piece id.
        tokens = request.cost(recalled(row, 0.0, {}, ())) if request.cost else len(loaded.pieces) // 2
        contenders.append(Contender(loaded.kind, Status(row.status), final[index], row.searchable_text, tokens))
    return contenders


def _signals(scores: Scores, indices: Sequence[int], *, digits: int | None = None) -> dict[int, dict[str, float]]:
    """Return the signals of these candidates by index and name, rounded to `digits`."""
    names = [*scores.signals, "fused", "adjustment"]
    columns = np.stack([values[indices] for values in (*scores.signals.values(), scores.fused, scores.factor)])
    by_index = (columns if digits is None else np.round(columns.astype(np.float64), digits)).T.tolist()
    return {index: dict(zip(names, values, strict=True)) for index, values in zip(indices, by_index, strict=True)}


def _recalled(
    found: CandidateIds, row: CandidateRow, memory: Memory, score: float, signals: Mapping[str, float]
) -> Recalled:
    neighbour = not found.holds(row.kind, memory.pk)
    why = reasons(signals, speaker=row.speaker, tail=row.id in found.tail, neighbour=neighbour)
    return recalled(memory, score, signals, why)


def _line(row: CandidateRow, rank: int, score: float, signals: Mapping[str, float], cut: Cut) -> dict[str, Any]:
    """Return a candidate, with its rounded signals, in the form that the trace stores."""
    return {
        "kind": row.kind.value,
        "id": str(UUID(row.id)),
        "rank": rank,
        "score": round(score, _DIGITS),
        "signals": signals,
        "selected": cut is Cut.NO,
        "cut": cut.value,
    }
