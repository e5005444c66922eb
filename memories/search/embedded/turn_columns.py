"""The episodes of one owner's part as columns in memory, from which recall scores without reading rows.

Columns are replaced rather than modified, so a running search keeps its own, and what was removed is freed with them.
Their order by session and sequence is kept, so that a search looks up the turns around its hits by bisection.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.constants import SESSION_STRIDE
from memories.embedding import Floats
from memories.types import Turns, TurnsRequest

# place, whether it is stale, pieces, session, sequence, speaker, moment; None from the session on for other rows
TurnRow = tuple[int, int, bytes | None, bytes | None, int | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class TurnColumns:
    """Columns by row of the file. `order` are the rows of episodes by ascending `place`, which is -1 for other rows.

    `keys` are hashes of all ids, of 61 bits. `sessions` maps ids of sessions to numbers and only grows.
    """

    keys: NDArray[np.int64]
    place: NDArray[np.int64]
    order: NDArray[np.intp]
    sessions: dict[bytes, int]
    stale: NDArray[np.bool_]
    ids: Sequence[str]
    pieces: Sequence[bytes]
    speakers: Sequence[str]
    moments: Sequence[str]

    @classmethod
    def empty(cls) -> TurnColumns:
        """Columns without a row."""
        place = np.zeros(0, np.int64)
        return cls(np.zeros(0, np.int64), place, np.zeros(0, np.intp), {}, np.zeros(0, np.bool_), (), (), (), ())

    def with_rows(self, ids: Sequence[UUID], rows: Sequence[TurnRow]) -> TurnColumns:
        """Return the columns for all `ids` after these rows changed."""
        more = len(ids) - len(self.place)
        keys = np.append(self.keys, np.zeros(more, np.int64))
        place, stale = np.append(self.place, np.full(more, -1)), np.append(self.stale, np.zeros(more, np.bool_))
        names, pieces, speakers, moments = (
            [*column, *[nothing] * more]
            for column, nothing in ((self.ids, ""), (self.pieces, b""), (self.speakers, ""), (self.moments, ""))
        )
        named: dict[str, str] = {}
        changed = []
        for number, is_stale, text, session, sequence, speaker, moment in rows:
            row = number - 1
            keys[row] = hash(ids[row])
            stale[row], pieces[row] = bool(is_stale), text or b""
            # One text for each name, however many turns it has.
            speakers[row], moments[row] = named.setdefault(speaker or "", speaker or ""), moment or ""
            was = place[row]
            place[row] = -1
            if session is not None and sequence is not None:
                place[row] = self.sessions.setdefault(session, len(self.sessions)) * SESSION_STRIDE + sequence
                names[row] = ids[row].hex
            if place[row] != was:
                changed.append(row)
        order = self.order if not changed else _reordered(self.order, place, np.array(changed, np.intp))
        return TurnColumns(keys, place, order, self.sessions, stale, names, pieces, speakers, moments)

    def asked(
        self, request: TurnsRequest, vectors: Floats, visible: NDArray[np.bool_], hits: NDArray[np.intp]
    ) -> Turns:
        """Return the turns for a search that may find the rows marked as `visible` and found `hits`."""
        found = hits[self.place[hits] >= 0]
        if request.undelivered:
            known = ~self._among(request.undelivered)
            found, visible = found[known[found]], visible & known
        if request.excluded:
            visible = visible & ~self._among(request.excluded)
        return Turns(
            place=self.place,
            visible=self.order[visible[self.order]],
            hits=found,
            sessions=self.sessions,
            ids=self.ids,
            vectors=vectors,
            pieces=self.pieces,
            speakers=self.speakers,
            moments=self.moments,
            stale=self.stale,
        )

    def _among(self, ids: Collection[UUID]) -> NDArray[np.bool_]:
        """Mark the rows with one of these ids."""
        return np.isin(self.keys, np.array(list(map(hash, ids)), np.int64))


def _reordered(order: NDArray[np.intp], place: NDArray[np.int64], changed: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the rows of episodes by place, given an earlier order and the rows whose place changed since."""
    kept = order[~np.isin(order, changed)] if len(order) else order
    rows = np.concatenate([kept, changed[place[changed] >= 0]])
    return rows[np.argsort(place[rows], kind="stable")]
