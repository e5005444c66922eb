"""Scores the outcomes of questions, with bootstrap intervals. Pure.

recall@k is the mean, over the questions, of the share of a question's evidence among the first k recalled memories. mrr
is the mean of 1 / rank of the first piece of evidence, or 0 if none was recalled. An interval covers 95 % of the means
of RESAMPLES samples of the questions, drawn with replacement; the fixed seed makes it repeatable. A difference is
paired: both settings answer the same resampled questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memories.evaluation.cases import LEAK, UNANSWERABLE

Values = NDArray[np.float64]

RANKS = (1, 5, 10, 20)
# The columns of `_values`.
METRICS = (*(f"recall@{rank}" for rank in RANKS), "mrr")
RESAMPLES = 2_000
SEED = 20
DIGITS = 4
_TAIL = 2.5  # percent on each side of an interval
# Shares of the unanswerable questions that thresholds are chosen to let through.
LET_THROUGH = (0.75, 0.5, 0.25, 0.1)


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """The answer to one question.

    `ranks` (from 1) and `scores` of each piece of evidence are None if it was not recalled. `best` is the score of the
    best memory that an automatic recall may put into the prompt, None without one. `leaked`: another member's memory
    was recalled; None if there is no other member.
    """

    category: str
    ranks: tuple[int | None, ...]
    took_ms: float
    scores: tuple[float | None, ...] = ()
    best: float | None = None
    leaked: bool | None = None


def report(outcomes: Sequence[QuestionOutcome], *, threshold: float | None = None) -> dict[str, Any]:
    """Return the scores of the questions with evidence, by category too, and latency, injections and leaks of all.

    `threshold` is that of the automatic recall of a chat turn.
    """
    answerable = [outcome for outcome in outcomes if outcome.ranks]
    unanswerable = [outcome for outcome in outcomes if outcome.category == UNANSWERABLE]
    categories = sorted({outcome.category for outcome in answerable})
    by_category = {name: scores([each for each in answerable if each.category == name]) for name in categories}
    return {
        **scores(answerable),
        "by_category": by_category,
        **({"unanswerable": injections(answerable, unanswerable, threshold)} if unanswerable else {}),
        "leaks": {
            "questions": sum(outcome.leaked is not None for outcome in outcomes),
            "probes": sum(outcome.category == LEAK for outcome in outcomes),
            "leaked": sum(outcome.leaked is True for outcome in outcomes),
        },
        "latency_ms": latency(outcomes),
    }


def scores(outcomes: Sequence[QuestionOutcome]) -> dict[str, Any]:
    """Return the number of questions and, for each metric, [mean, low, high]."""
    return {"questions": len(outcomes), **_summary(_values(outcomes))}


def gains(outcomes: Sequence[QuestionOutcome], others: Sequence[QuestionOutcome]) -> dict[str, Any]:
    """Return [gain, low, high] of `others` over `outcomes` by metric; both answer the same questions in one order."""
    return _summary(_values(others) - _values(outcomes))


def latency(outcomes: Sequence[QuestionOutcome]) -> dict[str, float]:
    """Return the median and 95th percentile in milliseconds."""
    times = sorted(outcome.took_ms for outcome in outcomes)
    return {"p50": _percentile(times, 0.5), "p95": _percentile(times, 0.95)}


def injections(
    answerable: Sequence[QuestionOutcome], unanswerable: Sequence[QuestionOutcome], threshold: float | None
) -> dict[str, Any]:
    """Return the share of unanswerable questions with an injected memory, and what other thresholds would do.

    `thresholds` lists, for each share of LET_THROUGH, the lowest threshold that lets at most this share through, not
    rounded, because just below it another question passes, and the gain (below 0) of recall@10.
    """
    best = sorted((outcome.best for outcome in unanswerable if outcome.best is not None), reverse=True)

    def injected(at: float | None) -> float:
        return _rounded(sum(at is None or score >= at for score in best) / len(unanswerable))

    passing = [int(share * len(unanswerable)) for share in LET_THROUGH]
    considered = [float(np.nextafter(best[count], np.inf)) for count in passing if count < len(best)]
    return {
        "questions": len(unanswerable),
        "threshold": threshold,
        "injected": injected(threshold),
        "thresholds": [
            {
                "threshold": value,
                "injected": injected(value),
                "gain": gains(answerable, [_cut(outcome, value) for outcome in answerable])["recall@10"],
            }
            for value in considered
        ],
    }


def _cut(outcome: QuestionOutcome, threshold: float) -> QuestionOutcome:
    kept = zip(outcome.ranks, outcome.scores, strict=True)
    ranks = tuple(rank if score is not None and score >= threshold else None for rank, score in kept)
    return QuestionOutcome(outcome.category, ranks, outcome.took_ms)


def _values(outcomes: Sequence[QuestionOutcome]) -> Values:
    """Return the value of each metric for each question, shape (questions, metrics)."""
    rows = [
        [*(_share(outcome, rank) for rank in RANKS), max((1 / rank for rank in outcome.ranks if rank), default=0.0)]
        for outcome in outcomes
    ]
    return np.array(rows, np.float64).reshape(len(rows), len(METRICS))


def _share(outcome: QuestionOutcome, k: int) -> float:
    return sum(rank is not None and rank <= k for rank in outcome.ranks) / len(outcome.ranks)


def _summary(values: Values) -> dict[str, list[float]]:
    """Return [mean, low, high] of each column of `values`, by metric."""
    count = len(values)
    if not count:
        return {metric: [0.0, 0.0, 0.0] for metric in METRICS}
    drawn = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
    low, high = np.percentile(drawn @ values / count, [_TAIL, 100 - _TAIL], axis=0)
    columns = zip(METRICS, values.mean(axis=0), low, high, strict=True)
    return {metric: [_rounded(figure) for figure in figures] for metric, *figures in columns}


def _rounded(value: Any) -> float:
    return round(float(value), DIGITS)


def _percentile(ordered: Sequence[float], share: float) -> float:
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2) if ordered else 0.0
