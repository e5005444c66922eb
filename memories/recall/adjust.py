"""Adjustments of a score by age, use, outcomes and kind; the reasons shown to people; the recipe's weights. Pure.

Adjustments come last, so nothing overrides them, and are bounded together (staleness apart), so they never override
the question. Times are in days; arrays have one length. Every returned memory has at least one reason.

The weights are frozen. They were tuned once on four LoCoMo conversations and one persona, then run once on others
(docs/adr/0003-the-recall-recipe.md). The optimum is flat: any weight times 0.6 to 1.5 moves recall@10 by less than .01
on conversations. Do not tune them on a benchmark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]
Parts = Mapping[str, NDArray[np.floating[Any]]]

# decay: gauss over age, 1 up to OFFSET, one half at OFFSET + SCALE (half a year, and five years more).
OFFSET_DAYS = 180.0
SCALE_DAYS = 1825.0
USE_WEIGHT = 0.2
# A playbook that always worked gains what one that always failed loses; one that worked lately gains a little more.
OUTCOME_WEIGHT = 0.2
RECENT_SUCCESS_WEIGHT = 0.1
# Shared entries are about everybody; a memory of one's own goes first.
CATALOG_PRIOR = 0.85
STALE = 0.5
LOWEST, HIGHEST = 0.7, 1.3


def decay(age_days: Floats) -> Floats:
    """1 for a recent memory, one half at OFFSET_DAYS + SCALE_DAYS, never below 0; the future counts as now."""
    beyond = np.maximum(age_days - OFFSET_DAYS, 0.0) / SCALE_DAYS
    return np.asarray(np.exp2(-(beyond**2)), np.float32)


def use(count: Floats) -> Floats:
    """1 for a memory that was never recalled, 1.2 after nine uses, 1.4 after ninety-nine."""
    return np.asarray(1.0 + USE_WEIGHT * np.log10(1.0 + count), np.float32)


def outcomes(successes: Floats, failures: Floats, success_age_days: Floats) -> Floats:
    """1 without outcomes; the success rate is smoothed by one success and one failure.

    A recent success counts in proportion to the rate: a playbook that failed three times since it worked stays below an
    untried one.
    """
    rate = (successes + 1.0) / (successes + failures + 2.0)
    lately = np.where(np.isfinite(success_age_days), decay(np.nan_to_num(success_age_days, posinf=0.0)), 0.0)
    by_rate = 1.0 + OUTCOME_WEIGHT * (2.0 * rate - 1.0)
    return np.asarray(by_rate * (1.0 + RECENT_SUCCESS_WEIGHT * rate * lately), np.float32)


def parts(
    *,
    age_days: Floats,
    use_count: Floats,
    successes: Floats,
    failures: Floats,
    success_age_days: Floats,
    catalog: Flags,
    stale: Flags,
) -> Parts:
    """The factors by name; all but "stale" are bounded together.

    `age_days`: since it happened (episodes) or was last used (facts), 0 for the rest. `success_age_days`: since a
    playbook last worked, infinite if never.
    """
    return {
        "age": decay(age_days),
        "use": use(use_count),
        "outcome": outcomes(successes, failures, success_age_days),
        "catalog": np.where(catalog, CATALOG_PRIOR, 1.0),
        "stale": np.where(stale, STALE, 1.0),
    }


def bounded(by: Parts) -> Floats:
    """The factor of each candidate out of its parts."""
    together = by["age"] * by["use"] * by["outcome"] * by["catalog"]
    return np.asarray(np.clip(together, LOWEST, HIGHEST) * by["stale"], np.float32)


def apply(scores: Floats, by: Floats) -> Floats:
    """Adjusted scores. A score below zero is divided, so that a factor below 1 always takes away."""
    return np.where(scores >= 0, scores * by, scores / by)


# From here on a person would agree: half of what was asked is in it, and texts this near are about the same thing.
SAME_WORDS = 0.55
SAME_MEANING = 0.35
AROUND = 0.6
ANSWERS = 0.1


def reasons(
    signals: Mapping[str, float], *, speaker: str = "", tail: bool = False, neighbour: bool = False
) -> list[str]:
    """The reasons, strongest first.

    `signals` holds "cosine", "coverage", "coverage_around" and the contribution of each signal of the recipe.
    `neighbour`: no sub-query found it; it is next to a hit.
    """
    said = []
    if signals.get("coverage", 0.0) >= SAME_WORDS:
        said.append("same words")
    if signals.get("cosine", 0.0) >= SAME_MEANING:
        said.append("same meaning")
    if signals.get("answers", 0.0) >= ANSWERS:
        said.append("said just after")
    elif neighbour and not said:
        said.append("said beside it")
    if signals.get("date", 0.0) > 0:
        said.append("about that time")
    if signals.get("when", 0.0) > 0:
        said.append("says when")
    if signals.get("speaker", 0.0) > 0 and speaker:
        said.append(f"said by {speaker}")
    if signals.get("coverage_around", 0.0) >= AROUND and "same words" not in said:
        said.append("same conversation")
    if tail:
        said.append("just written")
    return said or ["nearest in meaning"]


@dataclass(frozen=True, slots=True)
class Weights:
    """One weight for each signal, all on absolute scales. `coverage_power` mutes weak coverage and keeps strong."""

    meaning: float = 1.5
    words: float = 0.8
    words_before: float = 1.0
    words_around: float = 0.8
    session: float = 0.5
    alone: float = 0.08
    speaker: float = 0.6
    answers: float = 1.0
    first_person: float = 0.15
    date: float = 0.5
    when: float = 0.4
    coverage_power: float = 3.0


RECIPE = Weights()

# Late interaction looks at the item, at the turns up to it, and at those around it: first and last offset.
WINDOW_BEFORE = (-2, 0)
WINDOW_AROUND = (-4, 4)
# Answers follow questions: a hit brings these neighbours in its session along as candidates.
NEIGHBOURS = (-1, 0, 1, 2)
# A year that is named counts for half a month that is named.
YEAR_SHARE = 0.5

# Reciprocal rank fusion, selectable: the constant of the reference design.
RRF_K = 30
