"""The pool: candidates and their neighbouring episodes as arrays for the signals. Pure.

Candidate i is `rows[i]`, and `own[i]` is the index of its text in `pieces`. `neighbours[i]` holds the indices of the
texts at offsets -4 to +4 in its session, -1 where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.recall.adjust import WINDOW_AROUND
from memories.types import Kind, Status

Integers = NDArray[np.intp]
Moment = str | None

# Combines session and sequence into one sortable integer.
_SESSION_STRIDE = 1 << 40
_MOMENT_CHARACTERS = 19


class CandidateRow(NamedTuple):
    """A candidate as loaded for scoring, without its text. `id` is the hex form of a UUID.

    Times are "YYYY-MM-DD HH:MM:SS" in UTC. `since` is compared with dates in the query, `aged_from` determines the
    decay. Only episodes have a `speaker`, only facts have uses, and only playbooks have outcomes. After `review_after`
    a fact counts as stale.
    """

    kind: Kind
    id: str
    pieces: bytes
    vector: bytes | None
    stale: bool
    since: Moment = None
    aged_from: Moment = None
    speaker: str = ""
    use_count: int = 0
    successes: int = 0
    failures: int = 0
    last_success_at: Moment = None
    review_after: Moment = None


# An episode as loaded, as a plain tuple for speed: session, sequence, pieces; then id, vector, status, speaker and time
# for candidates, all None for mere neighbours. Ids are hex or UUIDs, depending on the driver.
Turn = tuple[Any, int, bytes | None, Any, bytes | None, str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates and texts; see the module docstring.

    `session` numbers each candidate's session; a memory without one has its own number.
    """

    rows: Sequence[CandidateRow]
    pieces: Sequence[bytes]
    own: Integers
    neighbours: Integers
    session: Integers

    def __len__(self) -> int:
        return len(self.rows)

    def only(self, kept: NDArray[np.bool_]) -> Pool:
        """Return the pool of the candidates that `kept` marks, with all texts."""
        return replace(
            self,
            rows=[row for row, keep in zip(self.rows, kept, strict=True) if keep],
            own=self.own[kept],
            neighbours=self.neighbours[kept],
            session=self.session[kept],
        )


def assemble(turns: Sequence[Turn], alone: Sequence[CandidateRow]) -> Pool:
    """Build the pool from the candidates among `turns` (any order, possibly repeated) and from other memories."""
    numbers: dict[str, int] = {}
    of_session = np.array([numbers.setdefault(turn[0], len(numbers)) for turn in turns], np.int64)
    is_candidate = np.array([turn[3] is not None for turn in turns], np.bool_)
    places = of_session * _SESSION_STRIDE + np.array([turn[1] for turn in turns], np.int64)
    # A turn may be loaded both as a candidate and as a neighbour of another; the candidate row is kept.
    order = np.lexsort((~is_candidate, places))
    places = places[order]
    first = np.append([True], places[1:] != places[:-1])[: len(places)]
    order, places = order[first], places[first]
    chosen = np.flatnonzero(is_candidate[order])
    loaded = [turns[index] for index in order.tolist()]
    offsets = np.arange(WINDOW_AROUND[0], WINDOW_AROUND[1] + 1)
    themselves = len(loaded) + np.arange(len(alone))
    alone_neighbours = np.full((len(alone), len(offsets)), -1, np.intp)
    alone_neighbours[:, -WINDOW_AROUND[0]] = themselves
    return Pool(
        rows=[*(_episode(loaded[index]) for index in chosen.tolist()), *alone],
        pieces=[*(turn[2] or b"" for turn in loaded), *(row.pieces for row in alone)],
        own=np.concatenate([chosen, themselves]).astype(np.intp),
        neighbours=np.concatenate([_find(places, places[chosen][:, None] + offsets), alone_neighbours]),
        session=np.concatenate([of_session[order][chosen], len(numbers) + np.arange(len(alone))]).astype(np.intp),
    )


def hex_of(id_: str | UUID) -> str:
    """Return the hex form of an id."""
    return id_ if isinstance(id_, str) else id_.hex


def moment_of(stored: str | None) -> Moment:
    """Cut a stored time after the seconds; the rest is a fraction, or an offset of zero."""
    return stored[:_MOMENT_CHARACTERS] if stored else None


def _episode(turn: Turn) -> CandidateRow:
    _, _, pieces, id_, vector, status, speaker, happened_at = turn
    moment = moment_of(happened_at)
    return CandidateRow(
        Kind.EPISODIC, hex_of(id_), pieces or b"", vector, status == Status.STALE, moment, moment, speaker or ""
    )


def _find(places: NDArray[np.int64], wanted: NDArray[np.int64]) -> Integers:
    """Return the index of each wanted place, or -1 if absent; `places` must be ascending."""
    if not len(places):
        return np.full(wanted.shape, -1, np.intp)
    index = np.searchsorted(places, wanted).clip(max=len(places) - 1)
    return np.where(places[index] == wanted, index, -1).astype(np.intp)
