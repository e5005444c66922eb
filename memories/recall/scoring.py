"""Scores a loaded pool: all signals of every candidate, then the adjustments. Pure.

The score is a sum on absolute scales. It depends on the query, the candidate and the turns around it, and on other
candidates only through the mean of its session and the learned ranker, which compares the best. Reciprocal rank fusion,
the reference design's method, measured lower (docs/recall.md). Whether a text is a question, speaks in the first person
or names a time is derived from stored word pieces, because thousands of candidates are scored without loading texts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from memories.embedding.base import TokenVectors
from memories.recall import adjust, words_en
from memories.recall.adjust import RECIPE, RRF_K, YEAR_SHARE
from memories.recall.codes import holds, share_held, spellings
from memories.recall.features import describe
from memories.recall.late_interaction import Coverage, Texts, coverage, pack
from memories.recall.periods import closeness
from memories.recall.pool import SECONDS_PER_DAY, Moment, Pool, stamps
from memories.recall.query import Query
from memories.recall.ranker import READ, gains
from memories.recall.slot_words import GENERAL, keys_by_word
from memories.types import Kind

Floats = NDArray[np.float32]


def reciprocal_rank(listings: Mapping[str, Floats], k: int = RRF_K) -> Floats:
    """Reciprocal rank fusion: the sum over the rankings of 1 / (k + rank), rank from 1; a score of 0 is no hit.

    Equal scores share the better rank, so the order of the candidates has no effect.
    """
    shares = np.zeros(len(next(iter(listings.values()))), np.float32)
    for values in listings.values():
        rank = len(values) - np.searchsorted(np.sort(values), values, side="right") + 1
        shares += np.where(values > 0, 1.0 / (k + rank), 0.0).astype(np.float32)
    return shares


# What a piece may mark, a bit each: a question, a word that begins one, the first person, a time, a number, small talk
# (it greets, thanks or agrees, or is punctuation), the end of a statement.
QUESTION, QUESTION_WORD, FIRST_PERSON, TIME, NUMBER, IDLE, STATEMENT = (1 << bit for bit in range(7))


@functools.cache
def marks_of(vectors: TokenVectors) -> NDArray[np.uint8]:
    """Return for each piece id of these vectors the bits of what it marks. Cached."""
    numbers = (f"{mark}{number}" for number in range(_NUMBERS) for mark in ("", "##", "0", "##0"))
    marking: dict[int, Iterable[str]] = {
        QUESTION: ["?"],
        QUESTION_WORD: words_en.QUESTION_WORDS,
        FIRST_PERSON: words_en.FIRST_PERSON,
        TIME: words_en.TIME_WORDS,
        NUMBER: numbers,
        IDLE: words_en.SMALL_TALK | _PUNCTUATION,
        STATEMENT: [".", "!"],
    }
    marks = np.zeros(len(vectors.weights), np.uint8)
    for bit, pieces in marking.items():
        marks[[found for piece in pieces if (found := vectors.id_of(piece)) is not None]] |= bit
    return marks


@dataclass(frozen=True, slots=True)
class Marked:
    """What the texts mark: each of their pieces, and for each text all of its pieces, the first and the last."""

    pieces: NDArray[np.uint8]
    any: NDArray[np.uint8]
    first: NDArray[np.uint8]
    last: NDArray[np.uint8]
    lengths: NDArray[np.intp]

    @classmethod
    def of(cls, texts: Texts, vectors: TokenVectors) -> Marked:
        """Look up the marks of all texts."""
        pieces = marks_of(vectors)[texts.pieces]  # type: ignore[arg-type]  # a class that follows a Protocol is hashable
        ends = np.append(texts.starts[1:], len(pieces))
        if not len(texts):
            return cls(pieces, pieces, pieces, pieces, ends[:0])
        return cls(
            pieces,
            np.bitwise_or.reduceat(pieces, texts.starts),
            pieces[texts.starts],
            pieces[ends - 1],
            ends - texts.starts,
        )


@functools.lru_cache(maxsize=1024)
def key_pieces(vectors: TokenVectors, words: tuple[str, ...]) -> NDArray[np.intp]:
    """Return the pieces of words of keys, of which there are few (`slot_words.py`). Cached."""
    return np.concatenate([vectors.piece_ids(word) for word in words]).astype(np.intp)


@functools.cache
def keys_by_piece(vectors: TokenVectors) -> Mapping[int, NDArray[np.intp]]:
    """Return by piece of an English word the pieces of the keys that it asks for. Cached."""
    words = ((vectors.id_of(word), keys) for word, keys in keys_by_word("en").items())
    # A class that follows a Protocol is hashable.
    return {piece: key_pieces(vectors, keys) for piece, keys in words if piece is not None}  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Signs:
    """What the sum and the ranker read of each candidate besides the coverage, from 0 to 1.

    `exact`: the share of the query's codes that it has literally. `period`: how close it is to the times that the query
    names, and `period_meant` to those that it means for certain. `slot`: its label is what the query asks for.
    `same_question`: an episode that asks the same. `small_talk`: the share of words that greet, thank or agree.
    """

    exact: Floats
    period: Floats
    period_meant: Floats
    slot: Floats
    same_question: Floats
    small_talk: Floats
    superseded: Floats


_NUMBERS = 10_000  # numbers of this many are pieces of their own
_PUNCTUATION = frozenset("!.,:;?)(-")
# Suppresses keys that say more, or less, than what is asked for.
_SLOT_POWER = 2
# Small talk is what has at most this share of other words.
_TELLING = 0.2
# A question is the same from this cosine on, or from this share of its words and of the other's.
_SAME_QUESTION = 0.75
# A text that begins as a question and has all of this one in it, of at least so many pieces, asks it, too.
_A_QUESTION = 3
_BEFORE, _ITSELF = 3, 4  # columns of Pool.neighbours


class Fusion(StrEnum):
    """How signals are combined: a weighted sum, or reciprocal rank fusion of words, meaning and coverage."""

    SUM = "sum"
    RRF = "rrf"


@dataclass(frozen=True, slots=True)
class Scores:
    """Arrays with one value per candidate. `fused` is before adjustment, `final` after it.

    `signals`: all signals by name, for the trace. `added`: those that make up the sum. `adjustments`: the factors that
    make up `factor`, before clipping. `read`: the candidates that the ranker read, and their features.
    """

    fused: Floats
    factor: Floats
    final: Floats
    signals: dict[str, Floats]
    added: dict[str, Floats]
    adjustments: adjust.Parts
    read: tuple[NDArray[np.intp], Mapping[str, Floats]] | None = None


def score(
    pool: Pool,
    query: Query,
    vectors: TokenVectors,
    *,
    cosines: Floats,
    lexical: Floats,
    now: datetime,
    fusion: Fusion = Fusion.SUM,
    candidates: Floats | None = None,
) -> Scores:
    """Score every candidate of the pool as of `now`. `cosines` and `lexical` hold one value per candidate.

    `candidates` are their vectors of the bundled encoder, for the learned ranker; without them it adds nothing.
    """
    texts = pack(pool.pieces)
    of_terms = [vectors.piece_ids(term) for term in query.terms]
    covered = _covered(pool, query, texts, vectors, of_terms)
    marks = Marked.of(texts, vectors)
    signs = _signs(pool, query, texts, vectors, marks, cosines, covered)
    parts = contributions(pool, query, marks, cosines, covered, signs)
    read = None
    if fusion is Fusion.SUM:
        fused = np.asarray(np.stack(list(parts.values())).sum(axis=0), np.float32)
        if candidates is not None and len(pool):
            chosen, features = _features(pool, query, marks, candidates, cosines, covered, fused, parts, signs)
            rows, places = [pool.rows[index] for index in chosen], pool.own[chosen].tolist()
            own = pack([pool.pieces[place] for place in places])
            features["literal"] = share_held(own, [[pieces] for pieces in of_terms], vectors.continues)
            # In whole days: the trees ask whether it is from this moment, and a second later would answer otherwise.
            ages = np.floor(_age_days([row.since for row in rows], now, unknown=0.0))
            features["age"] = np.log1p(np.maximum(ages, 0.0))
            read = chosen, features
            parts["ranker"] = np.zeros(len(pool), np.float32)
            parts["ranker"][chosen] = gains(features)
            fused = fused + parts["ranker"]
    else:
        fused = reciprocal_rank({"lexical": lexical, "meaning": cosines, "coverage": covered.own + covered.before})
    adjustments = _adjustments(pool, now, query.asks_past)
    factor = adjust.bounded(adjustments)
    signals = {
        "cosine": cosines,
        "lexical": lexical,
        "coverage": covered.own,
        "coverage_before": covered.before,
        "coverage_around": covered.around,
        **parts,
    }
    return Scores(fused, factor, adjust.apply(fused, factor), signals, parts, adjustments, read)


def _covered(
    pool: Pool, query: Query, texts: Texts, vectors: TokenVectors, of_terms: Sequence[NDArray[np.uint16]]
) -> Coverage:
    """Return the coverage of the query, whose terms have the pieces `of_terms`."""
    slips = [
        (pieces, kin_of(vectors, meant))
        for term, pieces in zip(query.terms, of_terms, strict=True)
        if len(pieces) > 1 and len(meant := vectors.meant_by(term))
    ]
    return coverage(
        texts,
        pool.neighbours,
        np.concatenate([*of_terms, np.array([], np.uint16)]),
        vectors.directions,
        vectors.weights,
        vectors.plain_forms,
        slips=slips,
        colon=vectors.id_of(":"),
        keys=_keys(query, vectors, slips),
        general=[pieces for term, pieces in zip(query.terms, of_terms, strict=True) if term in GENERAL],
    )


def kin_of(vectors: TokenVectors, pieces: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the pieces and all forms of their words."""
    return np.flatnonzero(np.isin(vectors.plain_forms, vectors.plain_forms[pieces]))


def _keys(
    query: Query, vectors: TokenVectors, slips: Sequence[tuple[NDArray[np.uint16], NDArray[np.intp]]]
) -> list[tuple[NDArray[np.uint16], NDArray[np.intp]]]:
    """Return the pieces of each term with those of the keys that it, or the word that it may stand for, asks for."""
    by_piece = keys_by_piece(vectors)  # type: ignore[arg-type]  # a class that follows a Protocol is hashable
    asking = [(vectors.piece_ids(term), key_pieces(vectors, asked)) for term, asked in query.slots]  # type: ignore[arg-type]
    for pieces, meant in slips:
        asking += [(pieces, by_piece[piece]) for piece in meant.tolist() if piece in by_piece]
    return asking


def _features(
    pool: Pool,
    query: Query,
    marks: Marked,
    candidates: Floats,
    cosines: Floats,
    covered: Coverage,
    fused: Floats,
    parts: Mapping[str, Floats],
    signs: Signs,
) -> tuple[NDArray[np.intp], dict[str, Floats]]:
    """Return the candidates that the ranker reads, by index, and their features."""
    chosen = _best(pool, fused)
    asks = marks.any & QUESTION > 0
    says = {
        "asks": asks,
        "begins as question": marks.first & QUESTION_WORD > 0,
        "ends as question": marks.last & QUESTION > 0,
        "first person": marks.any & FIRST_PERSON > 0,
        "says time": marks.any & TIME > 0,
        "says number": marks.any & NUMBER > 0,
        "length": np.log1p(marks.lengths),
    }
    marked = {name: values[pool.own] for name, values in says.items()}
    marked["follows question"] = np.append(asks, [False])[pool.neighbours[:, _BEFORE]]
    features = describe(
        pool,
        query,
        chosen=chosen,
        vectors=candidates,
        cosines=cosines,
        covered=covered,
        fused=fused,
        added=parts,
        marked=marked,
        signs={field.name.replace("_", " "): getattr(signs, field.name) for field in fields(signs)},
    )
    return chosen, features


def _best(pool: Pool, fused: Floats) -> NDArray[np.intp]:
    """Return the candidates that the ranker reads, best first, of equal ones the first by id."""
    least = np.partition(fused, -READ)[-READ] if len(fused) > READ else -np.inf
    within = np.flatnonzero(fused >= least)
    ids = np.array([pool.rows[index].id for index in within.tolist()])
    return within[np.lexsort((ids, -fused[within]))][:READ]


def _signs(
    pool: Pool, query: Query, texts: Texts, vectors: TokenVectors, marks: Marked, cosines: Floats, covered: Coverage
) -> Signs:
    """Return the signs of all candidates; codes and periods are only looked for if the query has some."""
    wanted = [[vectors.piece_ids(spelt) for spelt in spellings(code)] for code in query.codes]
    exact = share_held(texts, wanted, vectors.continues) if wanted else np.zeros(len(texts), np.float32)
    said = pool.kinds == Kind.EPISODIC
    ends = (marks.last & QUESTION > 0) & (marks.any & STATEMENT == 0)
    asks = (marks.first & QUESTION_WORD > 0) | ends
    asked = np.zeros(len(vectors.weights), np.bool_)
    asked[vectors.piece_ids(query.text)] = True
    repeated = np.add.reduceat(asked[texts.pieces], texts.starts) / marks.lengths
    alike = np.maximum(cosines, np.minimum(covered.own, repeated[pool.own]))
    alike = np.clip((alike - _SAME_QUESTION) / (1.0 - _SAME_QUESTION), 0.0, 1.0)
    if len(question := vectors.piece_ids(query.text.rstrip("?!. "))) >= _A_QUESTION:
        alike = np.maximum(alike, holds(texts, question.tolist(), vectors.continues)[pool.own])
    idle = (np.add.reduceat(marks.pieces & IDLE > 0, texts.starts) / marks.lengths).astype(np.float32)
    certain, close = closeness(query.periods, pool.rows)
    return Signs(
        exact=exact[pool.own],
        period=close,
        period_meant=certain,
        slot=np.minimum(covered.slot, covered.slot_named),
        same_question=alike * (asks[pool.own] & said),
        small_talk=idle[pool.own] * said,
        superseded=np.array([row.superseded for row in pool.rows], np.float32),
    )


def contributions(
    pool: Pool, query: Query, marks: Marked, cosines: Floats, covered: Coverage, signs: Signs
) -> dict[str, Floats]:
    """Return each signal's weighted contribution to the score of each candidate, by name.

    Names and dates are only compared if the query has some.
    """
    asks, none = marks.any & QUESTION > 0, np.zeros(len(pool), np.bool_)
    by_named = np.array([row.speaker in query.named for row in pool.rows], np.bool_) if query.named else none
    first_person = ((marks.any & FIRST_PERSON > 0) & ~asks)[pool.own]
    says_when = (marks.any & TIME > 0)[pool.own] if query.asks_when else none
    follows_question = np.append(asks, [False])[pool.neighbours[:, _BEFORE]]
    alone = (np.delete(pool.neighbours, _ITSELF, axis=1) < 0).all(axis=1)
    dated = none.astype(np.float32)
    if query.months or query.years:
        month, year = _month_and_year([row.since for row in pool.rows])
        dated = np.isin(month, list(query.months)) + YEAR_SHARE * np.isin(year, list(query.years))
    idle = np.maximum(signs.same_question, signs.small_talk > 1.0 - _TELLING)
    weights, power = RECIPE, RECIPE.coverage_power
    parts = {
        "meaning": weights.meaning * cosines,
        "words": weights.words * covered.own**power,
        "words_before": weights.words_before * covered.before**power,
        "words_around": weights.words_around * covered.around**power,
        "session": weights.session * _session_means(pool, cosines),
        "alone": weights.alone * alone,
        "speaker": weights.speaker * by_named,
        "answers": weights.answers * follows_question * covered.previous**power,
        "first_person": weights.first_person * (by_named & first_person),
        "date": weights.date * (np.maximum(dated, signs.period_meant) + query.asks_past * signs.superseded),
        "when": weights.when * says_when,
        "exact": weights.exact * signs.exact,
        "slot": weights.slot * (pool.kinds == Kind.SEMANTIC) * signs.slot**_SLOT_POWER,
        "idle": -weights.idle * idle,
    }
    return {name: np.asarray(part, np.float32) for name, part in parts.items()}


def _session_means(pool: Pool, cosines: Floats) -> Floats:
    """Return the mean cosine of the candidates in each candidate's session.

    The mean over the entire session measures no better (docs/recall.md) and would have to load all of it.
    """
    count = np.bincount(pool.session)
    summed = np.bincount(pool.session, weights=cosines)
    means = summed[pool.session] / count[pool.session]
    return means.astype(np.float32)


def _adjustments(pool: Pool, now: datetime, asks_past: bool) -> adjust.Parts:  # noqa: FBT001 - of the query
    """Return the factors. What is superseded counts as stale, unless the query asks about the past."""
    rows, present = pool.rows, f"{now.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    stale = [
        row.stale
        or (row.review_after is not None and row.review_after <= present)
        or (row.superseded and not asks_past)
        for row in rows
    ]
    return adjust.parts(
        age_days=_age_days([row.aged_from for row in rows], now, unknown=0.0),
        use_count=np.array([row.use_count for row in rows], np.float32),
        successes=np.array([row.successes for row in rows], np.float32),
        failures=np.array([row.failures for row in rows], np.float32),
        success_age_days=_age_days([row.last_success_at for row in rows], now, unknown=np.inf),
        catalog=pool.kinds == Kind.CATALOG,
        stale=np.array(stale, np.bool_),
    )


def _month_and_year(moments: Sequence[Moment]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the month (1 to 12) and year of each moment, 0 where unknown."""
    dates = np.array([moment[:7] if moment else "NaT" for moment in moments], "datetime64[M]")
    known = ~np.isnat(dates)
    months = np.where(known, dates, np.datetime64("1970-01")).astype(np.int64)
    return np.where(known, months % 12 + 1, 0), np.where(known, months // 12 + 1970, 0)


def _age_days(moments: Sequence[Moment], now: datetime, *, unknown: float) -> Floats:
    """Return the days from each moment to `now`; `unknown` where there is no moment."""
    known = stamps(moments)
    present = np.datetime64(now.astimezone(UTC).replace(tzinfo=None), "s")
    days = (present - known).astype(np.float64) / SECONDS_PER_DAY
    return np.where(np.isnat(known), unknown, days).astype(np.float32)
