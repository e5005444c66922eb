"""Recall@k, reciprocal rank and latency of answered questions. Pure.

recall@k is the mean, over the questions, of the share of a question's evidence that is among the first k memories
recalled; mrr the mean of 1 / rank of the first piece of evidence, 0 beyond the last rank looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

RANKS = (1, 5, 10, 20)
DIGITS = 4


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question: where in the answer (from 1) each piece of evidence was, None if nowhere; `took_ms` in all."""

    category: str
    ranks: tuple[int | None, ...]
    took_ms: float


def report(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """`{"questions", "recall": {"1", …}, "mrr", "by_category", "latency_ms"}` of the outcomes that have evidence."""
    answerable = [outcome for outcome in outcomes if outcome.ranks]
    categories = sorted({outcome.category for outcome in answerable})
    by_category = {name: _scores([each for each in answerable if each.category == name]) for name in categories}
    return {**_scores(answerable), "by_category": by_category, "latency_ms": latency(outcomes)}


def latency(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Median and 95th percentile."""
    times = sorted(outcome.took_ms for outcome in outcomes)
    return {"p50": _percentile(times, 0.5), "p95": _percentile(times, 0.95)}


def _scores(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    return {
        "questions": len(outcomes),
        "recall": {str(k): _mean([_recall(outcome, k) for outcome in outcomes]) for k in RANKS},
        "mrr": _mean([_reciprocal(outcome) for outcome in outcomes]),
    }


def _recall(outcome: Outcome, k: int) -> float:
    return sum(rank is not None and rank <= k for rank in outcome.ranks) / len(outcome.ranks)


def _reciprocal(outcome: Outcome) -> float:
    return max((1 / rank for rank in outcome.ranks if rank is not None), default=0.0)


def _mean(values: Sequence[float]) -> float:
    return round(fmean(values), DIGITS) if values else 0.0


def _percentile(ordered: Sequence[float], share: float) -> float:
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2) if ordered else 0.0
