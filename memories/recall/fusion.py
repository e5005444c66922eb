"""From signals to one score. Pure.

The recipe is a sum on absolute scales, so a score depends neither on how many candidates there are nor on what the
others score. Reciprocal rank fusion is here because the reference design uses it; it measures lower (docs/recall.md).

Word pieces that mark a memory as a question, as speaking of its speaker, or as saying when. Pure.

Recall sees thousands of texts for each question and loads none of them: their stored pieces say all it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memories.embedding.base import TokenVectors
from memories.recall.adjust import RECIPE, RRF_K, YEAR_SHARE, Weights
from memories.recall.late_interaction import Coverage
from memories.recall.words_en import FIRST_PERSON, TIME_WORDS

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of each candidate beside its words; arrays of one length.

    `meaning`: cosine with the query. `session`: mean cosine of its session, its own for what stands alone (`alone`).
    `by_named`: said by a speaker whom the query names. `follows_question`: the turn before it holds a question.
    `first_person`: speaks of its speaker, and is no question (looked at only if a speaker is named). `month`, `year`: 0
    where unknown. `says_when`: holds a time word (looked at only if the query asks when).
    """

    meaning: Floats
    session: Floats
    alone: Flags
    by_named: Flags
    follows_question: Flags
    first_person: Flags
    month: NDArray[np.int64]
    year: NDArray[np.int64]
    says_when: Flags


def contributions(
    coverage: Coverage,
    evidence: Evidence,
    *,
    months: frozenset[int],
    years: frozenset[int],
    asks_when: bool,
    weights: Weights = RECIPE,
) -> dict[str, Floats]:
    """What each signal adds to the score of each candidate, by the signal's name."""
    power = weights.coverage_power
    dated = np.isin(evidence.month, list(months)) + YEAR_SHARE * np.isin(evidence.year, list(years))
    parts = {
        "meaning": weights.meaning * evidence.meaning,
        "words": weights.words * coverage.own**power,
        "words_before": weights.words_before * coverage.before**power,
        "words_around": weights.words_around * coverage.around**power,
        "session": weights.session * evidence.session,
        "alone": weights.alone * evidence.alone,
        "speaker": weights.speaker * evidence.by_named,
        "answers": weights.answers * evidence.follows_question * coverage.previous**power,
        "first_person": weights.first_person * (evidence.by_named & evidence.first_person),
        "date": weights.date * dated,
        "when": weights.when * (evidence.says_when & asks_when),
    }
    return {name: np.asarray(part, np.float32) for name, part in parts.items()}


def total(parts: Mapping[str, Floats]) -> Floats:
    """The score of the recipe: the sum of what each signal adds."""
    return np.asarray(np.stack(list(parts.values())).sum(axis=0), np.float32)


def reciprocal_rank(legs: Mapping[str, Floats], k: int = RRF_K) -> Floats:
    """Reciprocal rank fusion: the sum over the legs of 1 / (k + rank), rank from 1; a leg's 0 means "not found".

    Equal values share the better rank, so the order of the candidates decides nothing.
    """
    return np.asarray(np.stack([_shares(values, k) for values in legs.values()]).sum(axis=0), np.float32)


def _shares(values: Floats, k: int) -> Floats:
    """1 / (k + rank) of each value that was found, rank 1 for the highest; equal values share the better rank."""
    rank = len(values) - np.searchsorted(np.sort(values), values, side="right") + 1
    return np.where(values > 0, 1.0 / (k + rank), 0.0).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Markers:
    """For each piece id, whether it marks a question, the first person, or a time."""

    question: Flags
    first_person: Flags
    time: Flags


def markers(vectors: TokenVectors) -> Markers:
    """The markers in this vocabulary."""
    size = len(vectors.weights)

    def flags(pieces: Iterable[str]) -> Flags:
        marked = np.zeros(size, np.bool_)
        marked[[found for piece in pieces if (found := vectors.id_of(piece)) is not None]] = True
        return marked

    return Markers(flags(["?"]), flags(FIRST_PERSON), flags(TIME_WORDS))
