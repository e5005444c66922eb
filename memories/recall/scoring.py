"""From a loaded pool to scores: every signal of the recipe for every candidate, then the adjustments. Pure.

The recipe is a sum on absolute scales: a candidate's score depends on the question, on itself and on the turns around
it, and on no other candidate. Reciprocal rank fusion, the reference design's, measures lower (docs/recall.md).

Stored word pieces tell whether a text is a question, speaks of its speaker or names a time: recall scores thousands of
texts for each question and loads none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from memories.embedding.base import TokenVectors
from memories.recall import adjust
from memories.recall.adjust import RECIPE, RRF_K, YEAR_SHARE, Weights
from memories.recall.late_interaction import Coverage, Texts, coverage
from memories.recall.pool import Moment, Pool
from memories.recall.query import Query
from memories.recall.words_en import FIRST_PERSON, TIME_WORDS
from memories.types import Kind

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class CandidateEvidence:
    """What is known of each candidate beside its words; arrays of one length.

    `meaning`: cosine with the query. `session`: mean cosine of its session, or its own without a session (`alone`).
    `by_named`: said by a speaker that the query names. `follows_question`: the turn before it holds a question.
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
    evidence: CandidateEvidence,
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
    """The sum of the contributions."""
    return np.asarray(np.stack(list(parts.values())).sum(axis=0), np.float32)


def reciprocal_rank(listings: Mapping[str, Floats], k: int = RRF_K) -> Floats:
    """Reciprocal rank fusion: the sum over the rankings of 1 / (k + rank), rank from 1; a score of 0 means "not found".

    Equal scores share the better rank, so the order of the candidates decides nothing.
    """
    return np.asarray(np.stack([_shares(values, k) for values in listings.values()]).sum(axis=0), np.float32)


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


_SECONDS_PER_DAY = 86_400.0
_BEFORE, _ITSELF = 3, 4  # columns of Pool.neighbours


class Fusion(StrEnum):
    """How signals become one score: the recipe's sum, or reciprocal rank fusion of words, meaning and coverage."""

    SUM = "sum"
    RRF = "rrf"


@dataclass(frozen=True, slots=True)
class Scores:
    """One value for each candidate. `fused` is before adjustment, `final` after; `signals` by name, for the trace.

    `added`: the signals that make up the sum; `adjustments`: the factors that make up `factor`, before its bounds.
    """

    fused: Floats
    factor: Floats
    final: Floats
    signals: dict[str, Floats]
    added: dict[str, Floats]
    adjustments: adjust.Parts


@dataclass(frozen=True, slots=True)
class Inputs:
    """A pool's `texts`, the pieces that mark them, and each candidate's cosine and lexical score."""

    texts: Texts
    markers: Markers
    cosines: Floats
    lexical: Floats


def score(
    pool: Pool,
    inputs: Inputs,
    query: Query,
    *,
    query_pieces: NDArray[np.uint16],
    directions: Floats,
    weights: Floats,
    plain_forms: NDArray[np.intp] | None = None,
    now: datetime,
    fusion: Fusion = Fusion.SUM,
) -> Scores:
    """Score every candidate of the pool as of `now`."""
    covered = coverage(inputs.texts, pool.neighbours, query_pieces, directions, weights, plain_forms)
    evidence = _evidence(pool, inputs, query)
    parts = contributions(covered, evidence, months=query.months, years=query.years, asks_when=query.asks_when)
    fused = total(parts) if fusion is Fusion.SUM else _by_rank(inputs, covered, evidence)
    adjustments = adjust.parts(_circumstances(pool, now))
    factor = adjust.bounded(adjustments)
    signals = {
        "cosine": evidence.meaning,
        "lexical": inputs.lexical,
        "coverage": covered.own,
        "coverage_before": covered.before,
        "coverage_around": covered.around,
        **parts,
    }
    return Scores(fused, factor, adjust.apply(fused, factor), signals, parts, adjustments)


def _by_rank(inputs: Inputs, covered: Coverage, evidence: CandidateEvidence) -> Floats:
    listings = {"lexical": inputs.lexical, "meaning": evidence.meaning, "coverage": covered.own + covered.before}
    return reciprocal_rank(listings)


def _evidence(pool: Pool, inputs: Inputs, query: Query) -> CandidateEvidence:
    before = pool.neighbours[:, _BEFORE]
    beside = np.delete(pool.neighbours, _ITSELF, axis=1)
    month, year = _month_and_year([row.since for row in pool.rows])
    asks = inputs.texts.any_of(inputs.markers.question)
    by_named = np.array([row.speaker in query.named for row in pool.rows], np.bool_)
    first_person = says_when = np.zeros(len(pool), np.bool_)
    if by_named.any():
        first_person = (inputs.texts.any_of(inputs.markers.first_person) & ~asks)[pool.own]
    if query.asks_when:
        says_when = inputs.texts.any_of(inputs.markers.time)[pool.own]
    return CandidateEvidence(
        meaning=inputs.cosines,
        session=_session_means(pool, inputs.cosines),
        alone=np.asarray((beside < 0).all(axis=1)),
        by_named=by_named,
        follows_question=np.append(asks, [False])[before],
        first_person=first_person,
        month=month,
        year=year,
        says_when=says_when,
    )


def _session_means(pool: Pool, cosines: Floats) -> Floats:
    """For each candidate the mean cosine of the candidates of its session.

    The mean over the whole session measures the same (docs/recall.md) and costs a look at all of it.
    """
    count = np.bincount(pool.session)
    summed = np.bincount(pool.session, weights=cosines)
    means = summed[pool.session] / count[pool.session]
    return means.astype(np.float32)


def _circumstances(pool: Pool, now: datetime) -> adjust.Circumstances:
    return adjust.Circumstances(
        age_days=_age_days([row.aged_from for row in pool.rows], now, unknown=0.0),
        use_count=np.array([row.use_count for row in pool.rows], np.float32),
        successes=np.array([row.successes for row in pool.rows], np.float32),
        failures=np.array([row.failures for row in pool.rows], np.float32),
        success_age_days=_age_days([row.last_success_at for row in pool.rows], now, unknown=np.inf),
        catalog=np.array([row.kind is Kind.CATALOG for row in pool.rows], np.bool_),
        stale=_stale(pool, now),
    )


def _stale(pool: Pool, now: datetime) -> NDArray[np.bool_]:
    """Stale candidates: by status, or because their confirmation is overdue."""
    present = f"{now.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    return np.array(
        [row.stale or (row.review_after is not None and row.review_after <= present) for row in pool.rows], np.bool_
    )


def _month_and_year(moments: Sequence[Moment]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The month (1 to 12) and year of each moment, 0 where unknown."""
    dates = np.array([moment[:7] if moment else "NaT" for moment in moments], "datetime64[M]")
    known = ~np.isnat(dates)
    months = np.where(known, dates, np.datetime64("1970-01")).astype(np.int64)
    return np.where(known, months % 12 + 1, 0), np.where(known, months // 12 + 1970, 0)


def _age_days(moments: Sequence[Moment], now: datetime, *, unknown: float) -> Floats:
    """Days from each moment to `now`; `unknown` where there is none."""
    stamps = np.array([moment or "NaT" for moment in moments], "datetime64[s]")
    present = np.datetime64(now.astimezone(UTC).replace(tzinfo=None), "s")
    days = (present - stamps).astype(np.float64) / _SECONDS_PER_DAY
    return np.where(np.isnat(stamps), unknown, days).astype(np.float32)
