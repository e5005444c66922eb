"""The pool: candidates with the texts around them, as arrays that the signals work on. Pure.

Invariant: candidate i is `rows[i]` and speaks through text `own[i]`; `neighbours[i]` are the texts at offsets -4 to +4
of its session, -1 where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memories.recall.weights import WINDOW_AROUND
from memories.types import Kind

Integers = NDArray[np.intp]
Moment = str | None

# Room for the sequence in one number with the session.
_SESSION_STRIDE = 1 << 40


class Row(NamedTuple):
    """A candidate as loaded for scoring, without its text. `id` is the hex of a UUID.

    Times are "YYYY-MM-DD HH:MM:SS", in UTC: `since` dates it for the question ("in May"), `aged_from` for the decay.
    `speaker` is of episodes, uses of facts, outcomes of playbooks.
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


class Turn(NamedTuple):
    """An episode in its session; `row` if it is a candidate, else it only stands around one."""

    session: str
    sequence: int
    pieces: bytes
    row: Row | None


@dataclass(frozen=True, slots=True)
class Pool:
    """See the module. `session` numbers the session of each candidate; what stands alone has one of its own."""

    rows: Sequence[Row]
    pieces: Sequence[bytes]
    own: Integers
    neighbours: Integers
    session: Integers

    def __len__(self) -> int:
        return len(self.rows)


def assemble(turns: Sequence[Turn], alone: Sequence[Row]) -> Pool:
    """The pool of the candidates among `turns` (in any order, perhaps repeated) and of those that stand alone."""
    numbers: dict[str, int] = {}
    of_session = np.array([numbers.setdefault(turn.session, len(numbers)) for turn in turns], np.int64)
    is_candidate = np.array([turn.row is not None for turn in turns], np.bool_)
    places = of_session * _SESSION_STRIDE + np.array([turn.sequence for turn in turns], np.int64)
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
        rows=[*(row for turn in loaded if (row := turn.row) is not None), *alone],
        pieces=[*(turn.pieces for turn in loaded), *(row.pieces for row in alone)],
        own=np.concatenate([chosen, themselves]).astype(np.intp),
        neighbours=np.concatenate([_find(places, places[chosen][:, None] + offsets), lonely]),
        session=np.concatenate([of_session[order][chosen], len(numbers) + np.arange(len(alone))]).astype(np.intp),
    )


def _find(places: NDArray[np.int64], wanted: NDArray[np.int64]) -> Integers:
    """The index of each wanted place, -1 where there is none; `places` ascend."""
    if not len(places):
        return np.full(wanted.shape, -1, np.intp)
    index = np.searchsorted(places, wanted).clip(max=len(places) - 1)
    return np.where(places[index] == wanted, index, -1).astype(np.intp)
