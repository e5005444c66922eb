"""Adjustments of a score by what is known of a memory beside its words: age, use, outcomes, kind. Pure.

They come last, so nothing overrides them, and are bounded together, so they never override what was asked. Only
staleness is outside the bound. Times are in days; arrays of one length, or scalars.
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


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the adjustments look at. `age_days`: since it happened (episodes) or was last used (facts), 0 for the rest.

    `success_age_days`: since a playbook last worked, infinite if never.
    """

    age_days: Floats
    use_count: Floats
    successes: Floats
    failures: Floats
    success_age_days: Floats
    catalog: Flags
    stale: Flags


def decay(age_days: Floats) -> Floats:
    """1 for what is recent, one half at OFFSET_DAYS + SCALE_DAYS, never below 0; a time to come counts as now."""
    beyond = np.maximum(age_days - OFFSET_DAYS, 0.0) / SCALE_DAYS
    return np.asarray(np.exp2(-(beyond**2)), np.float32)


def use(count: Floats) -> Floats:
    """1 for what was never recalled, 1.2 after nine uses, 1.4 after ninety-nine."""
    return np.asarray(1.0 + USE_WEIGHT * np.log10(1.0 + count), np.float32)


def outcomes(successes: Floats, failures: Floats, success_age_days: Floats) -> Floats:
    """1 without outcomes; the success rate is smoothed as if one success and one failure had been seen before.

    A recent success counts as far as it is the rule: what failed three times since it worked is not lifted by that
    above what nobody has tried.
    """
    rate = (successes + 1.0) / (successes + failures + 2.0)
    lately = np.where(np.isfinite(success_age_days), decay(np.nan_to_num(success_age_days, posinf=0.0)), 0.0)
    by_rate = 1.0 + OUTCOME_WEIGHT * (2.0 * rate - 1.0)
    return np.asarray(by_rate * (1.0 + RECENT_SUCCESS_WEIGHT * rate * lately), np.float32)


def parts(of: Circumstances) -> Parts:
    """The factors by what each looks at; all but "stale" are bounded together."""
    return {
        "age": decay(of.age_days),
        "use": use(of.use_count),
        "outcome": outcomes(of.successes, of.failures, of.success_age_days),
        "catalog": np.where(of.catalog, CATALOG_PRIOR, 1.0),
        "stale": np.where(of.stale, STALE, 1.0),
    }


def factors(of: Circumstances) -> Floats:
    """The factor of each candidate: 0.7 to 1.3, and half of that for a stale one."""
    return bounded(parts(of))


def bounded(by: Parts) -> Floats:
    """The factor of each candidate out of its parts."""
    together = by["age"] * by["use"] * by["outcome"] * by["catalog"]
    return np.asarray(np.clip(together, LOWEST, HIGHEST) * by["stale"], np.float32)


def apply(scores: Floats, by: Floats) -> Floats:
    """Adjusted scores. A score below zero is divided, so that a factor below 1 always takes away."""
    return np.where(scores >= 0, scores * by, scores / by)
