"""Adjusts scores by age, use, outcomes and kind, and defines the reasons shown to users and the weights. Pure.

Adjustments are applied last and, except for staleness, clipped together, so they never outweigh relevance. Times are in
days; all arrays have the same length. Every returned memory has at least one reason.

The weights are frozen. They were tuned once on four LoCoMo conversations and one persona, then run once on others
(docs/adr/0003-the-recall-recipe.md). The optimum is flat: scaling any weight by 0.6 to 1.5 changes recall@10 by less
than .01 on conversations. Do not tune them on a benchmark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]
Parts = Mapping[str, NDArray[np.floating[Any]]]

# Gaussian decay over age: 1 up to OFFSET_DAYS (half a year), one half after another SCALE_DAYS (five years).
OFFSET_DAYS = 180.0
SCALE_DAYS = 1825.0
USE_WEIGHT = 0.2
# A playbook that always worked gains as much as one that always failed loses; a recent success adds a little.
OUTCOME_WEIGHT = 0.2
RECENT_SUCCESS_WEIGHT = 0.1
# Shared entries concern everybody, so the owner's own memories rank first.
CATALOG_PRIOR = 0.85
STALE = 0.5
LOWEST, HIGHEST = 0.7, 1.3


def decay(age_days: Floats) -> Floats:
    """Return 1 for a recent memory, one half at OFFSET_DAYS + SCALE_DAYS, approaching 0; the future counts as now."""
    beyond = np.maximum(age_days - OFFSET_DAYS, 0.0) / SCALE_DAYS
    return np.asarray(np.exp2(-(beyond**2)), np.float32)


def use(count: Floats) -> Floats:
    """Return 1 for a memory that no answer was made from, 1.2 after nine answers, 1.4 after ninety-nine."""
    return np.asarray(1.0 + USE_WEIGHT * np.log10(1.0 + count), np.float32)


def outcomes(successes: Floats, failures: Floats, success_age_days: Floats) -> Floats:
    """Return the factor of a playbook's outcomes, 1 without any.

    The success rate is smoothed by one success and one failure. A recent success counts in proportion to the rate: a
    playbook that failed three times since it worked stays below an untried one.
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
    """Return the factors by name; all but "stale" are clipped together.

    `age_days`: since an episode happened or a fact was last used, 0 for other kinds. `success_age_days`: since a
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
    """Combine the parts into one factor per candidate."""
    together = by["age"] * by["use"] * by["outcome"] * by["catalog"]
    return np.asarray(np.clip(together, LOWEST, HIGHEST) * by["stale"], np.float32)


def apply(scores: Floats, by: Floats) -> Floats:
    """Return adjusted scores. A negative score is divided, so that a factor below 1 always lowers it."""
    return np.where(scores >= 0, scores * by, scores / by)


# Thresholds above which a person would agree with the reason: half of the query is covered, or the texts share a topic.
SAME_WORDS = 0.55
SAME_MEANING = 0.35
AROUND = 0.6
ANSWERS = 0.1
ABOUT_TIME = 0.15


def reasons(
    signals: Mapping[str, float], *, speaker: str = "", tail: bool = False, neighbour: bool = False
) -> list[str]:
    """Return the reasons for one candidate, strongest first.

    `signals` holds "cosine", "coverage", "coverage_around" and the weighted value of each signal of the recipe. `tail`:
    the memory was just written. `neighbour`: no sub-query found it, but it is next to a hit.
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
    if signals.get("date", 0.0) >= ABOUT_TIME:
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
    """One weight per signal, all on absolute scales. `coverage_power` suppresses weak coverage."""

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
    exact: float = 0.6
    slot: float = 3.0
    idle: float = 1.5
    ranker: float = 1.0
    coverage_power: float = 3.0


RECIPE = Weights()
# The parts of the sum, in its order.
SIGNALS = tuple(field.name for field in fields(Weights) if field.name != "coverage_power")

# Late interaction covers the item, the turns up to it, and the turns around it; first and last offset in turns.
WINDOW_BEFORE = (-2, 0)
WINDOW_AROUND = (-4, 4)
# Answers follow questions, so these neighbours of a hit in its session become candidates too.
NEIGHBOURS = (-1, 0, 1, 2)
# A matching year counts half as much as a matching month.
YEAR_SHARE = 0.5

# Constant of reciprocal rank fusion, an optional method; the value of the reference design.
RRF_K = 30
