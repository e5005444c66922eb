"""Describes each candidate by the features that the learned ranker reads. Pure.

A feature depends on the query, the candidate, the turns around it, and its rank and distance among the candidates, all
of which the principal may read (ADR 7).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memories.recall.late_interaction import Coverage
from memories.recall.pool import Pool
from memories.recall.query import Query
from memories.types import Kind

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]

_CENTER = 4  # the column of the item itself in Pool.neighbours
_FIRST, _TENTH = 5, 10
# Values as close as this count as equal, so that adjustments, not the trees, decide between candidates that are alike.
_SLACK, _SLACK_OF_SUM = 0.02, 0.1
_ALIKE = 0.95  # so do texts of this cosine


def describe(
    pool: Pool,
    query: Query,
    *,
    chosen: NDArray[np.intp],
    vectors: Floats,
    cosines: Floats,
    covered: Coverage,
    fused: Floats,
    added: Mapping[str, Floats],
    marked: Mapping[str, NDArray[Any]],
    signs: Mapping[str, Floats],
) -> dict[str, Floats]:
    """Return the features of the `chosen` candidates by name.

    `fused` is the sum of the signals and `added` holds its parts; `marked` and `signs` hold what the texts of the
    candidates say.
    """
    rows = [pool.rows[index] for index in chosen.tolist()]
    kinds = pool.kinds
    beside = _beside(pool, cosines)
    in_session = np.bincount(pool.session)
    best_of_session = np.full(len(in_session), -1.0, np.float32)
    np.maximum.at(best_of_session, pool.session, cosines)
    top = chosen[np.argsort(-cosines[chosen], kind="stable")]
    close = vectors[chosen] @ vectors[top[:_FIRST]].T
    columns = _compared(chosen, cosines, covered, fused)
    columns |= {
        "around": covered.around[chosen],
        "previous": covered.previous[chosen],
        "following": covered.following[chosen],
        "named": covered.named[chosen],
        "session": added["session"][chosen],
        "session best": best_of_session[pool.session][chosen],
        "session size": np.log1p(in_session[pool.session])[chosen],
        **{name: values[chosen] for name, values in beside.items()},
        "like best": close[:, 0].clip(max=_ALIKE),
        "like first": close.clip(max=_ALIKE).mean(axis=1),
        "episode": (kinds == Kind.EPISODIC)[chosen],
        "fact": (kinds == Kind.SEMANTIC)[chosen],
        "playbook": (kinds == Kind.PROCEDURAL)[chosen],
        "speaker": added["speaker"][chosen],
        "other speaker": np.array(
            [bool(query.named) and bool(row.speaker) and row.speaker not in query.named for row in rows]
        ),
        "answers": added["answers"][chosen],
        "date": added["date"][chosen],
        "stale": np.array([row.stale for row in rows]),
        **{name: values[chosen] for name, values in marked.items()},
    }
    of_query = _of_query(query, float((kinds == Kind.EPISODIC).mean()), cosines)
    columns |= {name: np.full(len(chosen), value, np.float32) for name, value in of_query.items()}
    columns |= {name: values[chosen] for name, values in signs.items()}
    columns["slot gap"] = _gap(signs["slot"], _SLACK)[chosen]
    columns["slot rank"] = np.log1p(_rank(signs["slot"], _SLACK))[chosen]
    columns["slot named"] = covered.slot_named[chosen]
    return {name: np.asarray(column, np.float32) for name, column in columns.items()}


def _compared(chosen: NDArray[np.intp], cosines: Floats, covered: Coverage, fused: Floats) -> dict[str, NDArray[Any]]:
    """Return signals with their distances from the best of the pool and their ranks in it."""
    signals = {
        "cosine": cosines,
        "own": covered.own,
        "before": covered.before,
        "fused": fused,
        "label": covered.label,
        "explained": covered.explained,
    }
    columns: dict[str, NDArray[Any]] = {}
    for name, values in signals.items():
        slack = _SLACK_OF_SUM if name == "fused" else _SLACK
        columns[name] = values[chosen]
        columns[f"{name} gap"] = _gap(values, slack)[chosen]
        columns[f"{name} rank"] = np.log1p(_rank(values, slack))[chosen]
    return columns


def _of_query(query: Query, chat: float, cosines: Floats) -> dict[str, float]:
    """Return the features that all candidates share; `chat` is the share of episodes among them."""
    return {
        "chat": chat,
        "names speaker": bool(query.named),
        "asks when": query.asks_when,
        **{f"asks {name}": query.form == name for name in ("who", "where", "how many", "how", "what", "why")},
        "of oneself": query.of_oneself,
        "content words": max(len(query.terms), 1),
        "dated": bool(query.months or query.years),
        "best cosine": float(cosines.max(initial=0.0)),
        "tenth cosine": float(np.sort(cosines)[-_TENTH:][0]),
        "asks slot": bool(query.slots),
        "has codes": bool(query.codes),
        "names period": bool(query.periods),
        "asks past": query.asks_past,
        "english": query.language == "en",
    }


def _beside(pool: Pool, cosines: Floats) -> dict[str, Floats]:
    """Return the cosines of the turns beside each candidate, 0 for those that are no candidates."""
    of_text = np.zeros(len(pool.pieces) + 1, np.float32)  # the last is that of a missing neighbour
    of_text[pool.own] = cosines
    near = of_text[pool.neighbours]
    return {
        "cosine before": near[:, _CENTER - 1],
        "cosine after": near[:, _CENTER + 1],
        "cosine beside": np.delete(near[:, _CENTER - 2 : _CENTER + 3], 2, axis=1).max(axis=1, initial=0.0),
    }


def _gap(values: NDArray[Any], slack: float) -> NDArray[Any]:
    """Return how much more than `slack` each value is below the highest."""
    beyond: NDArray[Any] = values.max(initial=0.0) - slack - values
    return beyond.clip(min=0.0)


def _rank(values: NDArray[Any], slack: float) -> NDArray[np.intp]:
    """Return for each value how many are higher by more than `slack`."""
    return len(values) - np.searchsorted(np.sort(values), values + slack, side="right")
