"""The pool: candidates and their neighbouring episodes as arrays for the signals. Pure.

Candidate i is `rows[i]`, and `own[i]` is the index of its text in `pieces`. `neighbours[i]` holds the indices of the
texts at offsets -4 to +4 in its session, -1 where there is none. `assemble` builds a pool from loaded rows, `surround`
from the turns that a search plane holds as arrays; both give the same for the same memories.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.constants import EMBEDDING_DIMENSIONS, SESSION_STRIDE
from memories.embedding.base import Floats, dequantize_many
from memories.recall.adjust import NEIGHBOURS, WINDOW_AROUND
from memories.types import Kind, Status, Turns

Integers = NDArray[np.intp]
Moment = str | None

SECONDS_PER_DAY = 86_400.0


class CandidateRow(NamedTuple):
    """A candidate as loaded for scoring, without its text. `id` is the hex form of a UUID.

    Times are "YYYY-MM-DD HH:MM:SS" in UTC. `since` is compared with dates in the query, `aged_from` determines the
    decay. Only episodes have a `speaker`, only facts have uses, and only playbooks have outcomes. After `review_after`
    a fact counts as stale. One whose vector is in `Pool.known_vectors` has none here. `until` is the end of a fact's
    validity.
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
    until: Moment = None
    superseded: bool = False


_KIND = itemgetter(0)

# An episode as loaded, as a plain tuple for speed: session, sequence, pieces; then id, vector, status, speaker and time
# for candidates, all None for mere neighbours. Ids are hex or UUIDs, depending on the driver.
Turn = tuple[Any, int, bytes | None, Any, bytes | None, str | None, str | None, str | None]


@dataclass(frozen=True)
class Pool:
    """Candidates and texts; see the module docstring.

    `session` numbers each candidate's session; a memory without one has its own number. `known_vectors` are those of
    the first candidates, which the search plane holds.
    """

    rows: Sequence[CandidateRow]
    pieces: Sequence[bytes]
    own: Integers
    neighbours: Integers
    session: Integers
    known_vectors: Floats = field(default_factory=lambda: np.zeros((0, EMBEDDING_DIMENSIONS), np.float32))

    def __len__(self) -> int:
        return len(self.rows)

    @functools.cached_property
    def kinds(self) -> NDArray[np.object_]:
        """The kind of each candidate."""
        return np.fromiter(map(_KIND, self.rows), np.object_, len(self.rows))

    def only(self, kept: NDArray[np.bool_]) -> Pool:
        """Return the pool of the candidates that `kept` marks, with all texts."""
        return replace(
            self,
            rows=[row for row, keep in zip(self.rows, kept, strict=True) if keep],
            own=self.own[kept],
            neighbours=self.neighbours[kept],
            session=self.session[kept],
            known_vectors=self.known_vectors[kept[: len(self.known_vectors)]],
        )

    def bare(self) -> list[CandidateRow]:
        """Return the candidates that have no vector yet."""
        return [row for row in self.rows[len(self.known_vectors) :] if row.vector is None]

    def vectors(self, dimensions: int) -> Floats:
        """Return the vectors of all candidates, which have this length; zero for those without one."""
        none = bytes(dimensions)
        stored = [row.vector or none for row in self.rows[len(self.known_vectors) :]]
        if not stored:
            return self.known_vectors if len(self.known_vectors) else np.zeros((0, dimensions), np.float32)
        loaded = dequantize_many(stored)
        return np.concatenate([self.known_vectors, loaded]) if len(self.known_vectors) else loaded


def assemble(turns: Sequence[Turn], alone: Sequence[CandidateRow]) -> Pool:
    """Build the pool from the candidates among `turns` (any order, possibly repeated) and from other memories."""
    numbers: dict[str, int] = {}
    of_session = np.array([numbers.setdefault(turn[0], len(numbers)) for turn in turns], np.int64)
    is_candidate = np.array([turn[3] is not None for turn in turns], np.bool_)
    places = of_session * SESSION_STRIDE + np.array([turn[1] for turn in turns], np.int64)
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


def surround(
    known: Turns, late: Sequence[Turn], alone: Sequence[CandidateRow], *, excluded: Collection[UUID] = ()
) -> Pool:
    """Build the pool from the hits among the `known` turns and the turns beside them, and from other memories.

    `late` turns are those that the search plane does not hold yet; each is a hit. Those `excluded` are no candidates.
    """
    fresh: dict[bytes, int] = {}
    late_places = np.array([_place(known, fresh, turn) for turn in late], np.int64)
    hits = np.concatenate([known.place[known.hits], late_places])
    if excluded:
        kept = np.array([UUID(hex_of(turn[3])) not in excluded for turn in late], np.bool_)
        late, late_places = [turn for turn, keep in zip(late, kept, strict=True) if keep], late_places[kept]
    of_known = len(known.place)  # numbers from here on are those of late turns
    numbers = np.concatenate([known.visible, of_known + np.arange(len(late))]).astype(np.intp)
    places = np.concatenate([known.place[known.visible], late_places])
    if late:
        order = np.argsort(places, kind="stable")
        numbers, places = numbers[order], places[order]
    chosen = _marked(len(places), _find(places, hits[:, None] + np.array(NEIGHBOURS)))
    chosen = chosen[np.argsort(numbers[chosen] >= of_known, kind="stable")]
    offsets = np.arange(WINDOW_AROUND[0], WINDOW_AROUND[1] + 1)
    near = _find(places, places[chosen][:, None] + offsets)
    used = _marked(len(places), near)
    used = used[np.argsort(numbers[used] >= of_known, kind="stable")]
    number_of = np.full(len(places) + 1, -1, np.intp)  # the last is that of a missing neighbour
    number_of[used] = np.arange(len(used))
    themselves = len(used) + np.arange(len(alone))
    alone_neighbours = np.full((len(alone), len(offsets)), -1, np.intp)
    alone_neighbours[:, -WINDOW_AROUND[0]] = themselves
    _, session = np.unique(places[chosen] // SESSION_STRIDE, return_inverse=True)
    known_rows, late_rows = _parted(numbers[chosen], of_known)
    known_texts, late_texts = _parted(numbers[used], of_known)
    return Pool(
        rows=[*_known_rows(known, known_rows), *(_episode(late[place]) for place in late_rows.tolist()), *alone],
        pieces=[
            *map(known.pieces.__getitem__, known_texts.tolist()),
            *(late[place][2] or b"" for place in late_texts.tolist()),
            *(row.pieces for row in alone),
        ],
        own=np.concatenate([number_of[chosen], themselves]).astype(np.intp),
        neighbours=np.concatenate([number_of[near], alone_neighbours]),
        session=np.concatenate([session, len(chosen) + np.arange(len(alone))]).astype(np.intp),
        known_vectors=known.vectors[known_rows],
    )


def _place(known: Turns, fresh: dict[bytes, int], turn: Turn) -> int:
    """Return the place of a late turn; sessions that the search plane does not know get numbers below zero."""
    session = bytes.fromhex(hex_of(turn[0]))
    number = known.sessions.get(session)
    if number is None:
        number = fresh.setdefault(session, -1 - len(fresh))
    return number * SESSION_STRIDE + turn[1]


def _parted(numbers: Integers, of_known: int) -> tuple[Integers, Integers]:
    """Split numbers, the known ones first, into those of known turns and the places of late ones."""
    count = int((numbers < of_known).sum())
    return numbers[:count], numbers[count:] - of_known


def _known_rows(known: Turns, numbers: Integers) -> Iterable[CandidateRow]:
    wanted = numbers.tolist()
    columns = (known.ids, known.pieces, known.moments, known.moments, known.speakers)
    ids, pieces, since, aged_from, speakers = (map(column.__getitem__, wanted) for column in columns)
    stale = known.stale[numbers].tolist()
    first = (repeat(Kind.EPISODIC), ids, pieces, repeat(None), stale, since, aged_from, speakers)
    others = (repeat(CandidateRow._field_defaults[name]) for name in CandidateRow._fields[len(first) :])
    return map(CandidateRow._make, zip(*first, *others, strict=False))


def _marked(count: int, indices: Integers) -> Integers:
    """Return the distinct indices, all below `count`, in ascending order; -1 is none."""
    marks = np.zeros(count + 1, np.bool_)
    marks[indices] = True
    return np.flatnonzero(marks[:count])


def hex_of(id_: str | UUID) -> str:
    """Return the hex form of an id."""
    return id_ if isinstance(id_, str) else id_.hex


def stamps(moments: Iterable[Moment]) -> NDArray[np.datetime64]:
    """Return moments in seconds, NaT where unknown."""
    return np.array([moment or "NaT" for moment in moments], "datetime64[s]")


def _episode(turn: Turn) -> CandidateRow:
    _, _, pieces, id_, vector, status, speaker, moment = turn
    return CandidateRow(
        Kind.EPISODIC, hex_of(id_), pieces or b"", vector, status == Status.STALE, moment, moment, speaker or ""
    )


def _find(places: NDArray[np.int64], wanted: NDArray[np.int64]) -> Integers:
    """Return the index of each wanted place, or -1 if absent; `places` must be ascending."""
    if not len(places):
        return np.full(wanted.shape, -1, np.intp)
    index = np.searchsorted(places, wanted).clip(max=len(places) - 1)
    return np.where(places[index] == wanted, index, -1).astype(np.intp)
