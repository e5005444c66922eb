"""The pool: candidates with the texts around them, as arrays for the signals. Pure.

Candidate i is `rows[i]` and its text is number `own[i]`; `neighbours[i]` are the texts at offsets -4 to +4 of its
session, -1 where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.recall.adjust import WINDOW_AROUND
from memories.types import Kind, Status

Integers = NDArray[np.intp]
Moment = str | None

# Room for the sequence in one number with the session.
_SESSION_STRIDE = 1 << 40
_MOMENT_CHARACTERS = 19


class CandidateRow(NamedTuple):
    """A candidate as loaded for scoring, without its text. `id` is the hex of a UUID.

    Times are "YYYY-MM-DD HH:MM:SS", in UTC: `since` dates it for the question ("in May"), `aged_from` for the decay.
    `speaker` is of episodes, uses of facts, outcomes of playbooks. After `review_after` a fact counts as stale.
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


# An episode as loaded, a plain tuple, for there are thousands: session, sequence, pieces; then id, vector, status,
# speaker and time of a candidate, all None for its neighbours. Ids are hex or UUIDs, as drivers give them.
Turn = tuple[Any, int, bytes | None, Any, bytes | None, str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Pool:
    """See the module. `session` numbers the session of each candidate; a memory without one has its own."""

    rows: Sequence[CandidateRow]
    pieces: Sequence[bytes]
    own: Integers
    neighbours: Integers
    session: Integers

    def __len__(self) -> int:
        return len(self.rows)


def assemble(turns: Sequence[Turn], alone: Sequence[CandidateRow]) -> Pool:
    """The pool of the candidates among `turns` (in any order, perhaps repeated) and of those that stand alone."""
    numbers: dict[str, int] = {}
    of_session = np.array([numbers.setdefault(turn[0], len(numbers)) for turn in turns], np.int64)
    is_candidate = np.array([turn[3] is not None for turn in turns], np.bool_)
    places = of_session * _SESSION_STRIDE + np.array([turn[1] for turn in turns], np.int64)
    # A turn may be loaded once as a candidate and again as the surroundings of another: the candidate counts.
    order = np.lexsort((~is_candidate, places))
    places = places[order]
    first = np.append([True], places[1:] != places[:-1])[: len(places)]
    order, places = order[first], places[first]
    chosen = np.flatnonzero(is_candidate[order])
    loaded = [turns[index] for index in order.tolist()]
    offsets = np.arange(WINDOW_AROUND[0], WINDOW_AROUND[1] + 1)
    themselves = len(loaded) + np.arange(len(alone))
    lonely = np.full((len(alone), len(offsets)), -1, np.intp)
    lonely[:, -WINDOW_AROUND[0]] = themselves
    return Pool(
        rows=[*(_episode(loaded[index]) for index in chosen.tolist()), *alone],
        pieces=[*(turn[2] or b"" for turn in loaded), *(row.pieces for row in alone)],
        own=np.concatenate([chosen, themselves]).astype(np.intp),
        neighbours=np.concatenate([_find(places, places[chosen][:, None] + offsets), lonely]),
        session=np.concatenate([of_session[order][chosen], len(numbers) + np.arange(len(alone))]).astype(np.intp),
    )


def hex_of(id_: str | UUID) -> str:
    """An id as recall names it."""
    return id_ if isinstance(id_, str) else id_.hex


def moment_of(stored: str | None) -> Moment:
    """A stored time to the second; what follows is a fraction, or an offset of zero."""
    return stored[:_MOMENT_CHARACTERS] if stored else None


def _episode(turn: Turn) -> CandidateRow:
    _, _, pieces, id_, vector, status, speaker, happened_at = turn
    moment = moment_of(happened_at)
    return CandidateRow(
        Kind.EPISODIC, hex_of(id_), pieces or b"", vector, status == Status.STALE, moment, moment, speaker or ""
    )


def _find(places: NDArray[np.int64], wanted: NDArray[np.int64]) -> Integers:
    """The index of each wanted place, -1 where there is none; `places` ascend."""
    if not len(places):
        return np.full(wanted.shape, -1, np.intp)
    index = np.searchsorted(places, wanted).clip(max=len(places) - 1)
    return np.where(places[index] == wanted, index, -1).astype(np.intp)
