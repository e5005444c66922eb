"""Scores one recall again with a stage or signal switched off. Pure.

The search plane and the database are asked once; every variant is computed from the pool and the signals of that run.
A switched-off sub-query takes with it the neighbours that only its hits brought in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memories.constants import EMBEDDING_DIMENSIONS
from memories.embedding import token_vectors
from memories.recall import adjust
from memories.recall.adjust import NEIGHBOURS, SIGNALS, WINDOW_AROUND
from memories.recall.pipeline import Run
from memories.recall.pool import Pool
from memories.recall.scoring import Fusion, Scores, score

Flags = NDArray[np.bool_]
Variant = Callable[[Run], tuple[Pool, Scores]]

_CENTER = -WINDOW_AROUND[0]
_WINDOWS = ("words", "words_before", "words_around")
_ADJUSTMENTS = ("age", "use", "outcome", "catalog", "stale")


def _without_signals(*names: str) -> Variant:
    def variant(ran: Run) -> tuple[Pool, Scores]:
        kept = [values for name, values in ran.scores.added.items() if name not in names]
        fused = np.asarray(np.stack(kept).sum(axis=0), np.float32)
        return ran.pool, replace(ran.scores, fused=fused, final=adjust.apply(fused, ran.scores.factor))

    return variant


def _without_adjustments(*names: str) -> Variant:
    def variant(ran: Run) -> tuple[Pool, Scores]:
        parts = {
            name: np.ones_like(values) if name in names else values for name, values in ran.scores.adjustments.items()
        }
        factor = adjust.bounded(parts)
        return ran.pool, replace(ran.scores, factor=factor, final=adjust.apply(ran.scores.fused, factor))

    return variant


def _by_rank(ran: Run) -> tuple[Pool, Scores]:
    return ran.pool, _scored(ran, ran.pool, np.ones(len(ran.pool), np.bool_), Fusion.RRF)


def _only(reached: Callable[[Run], Flags]) -> Variant:
    """A variant whose candidates are those that `reached` marks."""

    def variant(ran: Run) -> tuple[Pool, Scores]:
        kept = reached(ran)
        pool = ran.pool.only(kept)
        return pool, _scored(ran, pool, kept, Fusion.SUM)

    return variant


def _scored(ran: Run, pool: Pool, kept: Flags, fusion: Fusion) -> Scores:
    cosines, lexical = (ran.scores.signals[name][kept] for name in ("cosine", "lexical"))
    now = ran.request.as_of or ran.request.now
    vectors = None
    if "ranker" in ran.scores.added and len(pool):
        vectors = pool.vectors(EMBEDDING_DIMENSIONS)
    return score(
        pool, ran.query, token_vectors(), cosines=cosines, lexical=lexical, now=now, fusion=fusion, candidates=vectors
    )


def _hits(ran: Run, *found_by: Mapping[str, float]) -> Flags:
    """Mark the candidates that these sub-queries found, and the just-written ones."""
    tail = ran.found.tail
    return np.array([row.id in tail or any(row.id in hits for hits in found_by) for row in ran.pool.rows], np.bool_)


def _with_neighbours(ran: Run, hits: Flags) -> Flags:
    """Mark the hits and the candidates that a hit brings in from its session."""
    is_hit = np.zeros(len(ran.pool.pieces) + 1, np.bool_)  # the last is that of a missing neighbour
    is_hit[ran.pool.own[hits]] = True
    seen_from = [_CENTER - offset for offset in NEIGHBOURS]
    return np.asarray(is_hit[ran.pool.neighbours[:, seen_from]].any(axis=1) | hits, np.bool_)


def _by_words(ran: Run) -> Flags:
    return _with_neighbours(ran, _hits(ran, ran.found.lexical))


def _by_meaning(ran: Run) -> Flags:
    return _with_neighbours(ran, _hits(ran, ran.found.dense))


def _found(ran: Run) -> Flags:
    return _hits(ran, ran.found.lexical, ran.found.dense)


# What is switched off, by name; the order is that of the table.
VARIANTS: Mapping[str, Variant] = {
    "sub-query by words": _only(_by_meaning),
    "sub-query by meaning": _only(_by_words),
    "neighbours of hits": _only(_found),
    **{f"signal {name}": _without_signals(name) for name in SIGNALS},
    "signals of all windows": _without_signals(*_WINDOWS),
    "sum (by rank instead)": _by_rank,
    **{f"adjustment {name}": _without_adjustments(name) for name in _ADJUSTMENTS},
    "adjustments, all": _without_adjustments(*_ADJUSTMENTS),
}


def variants(ran: Run) -> Iterator[tuple[str, Pool, Scores]]:
    """Yield the name, pool and scores of each variant of a run."""
    for name, variant in VARIANTS.items():
        pool, scores = variant(ran)
        yield name, pool, scores
