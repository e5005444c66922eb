"""The just-written tail: rows that have no vector yet are encoded on demand, so that they can be scored like any other.

Invariant: only rows that passed `visible_rows` are encoded, and nothing but vectors and word pieces is kept.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from memories.embedding import encoder, pack_pieces, quantize, token_vectors
from memories.recall.hydration import texts
from memories.recall.pool import Pool, Row
from memories.recall.request import Request
from tenants.principal import Principal

# Texts encoded within one recall (4 ms each); the others of a long tail are matched by their words alone until the
# outbox has carried them.
MAX_ENCODED = 32
MAX_REMEMBERED = 512


class Encoded(NamedTuple):
    """A text as stored for scoring."""

    pieces: bytes
    vector: bytes | None


class _Remembered:
    """What was encoded lately, by id: a memory's text never changes, and its tail may be asked again at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._encoded: OrderedDict[str, Encoded] = OrderedDict()

    def get(self, id_: str) -> Encoded | None:
        with self._lock:
            return self._encoded.get(id_)

    def put(self, id_: str, encoded: Encoded) -> None:
        with self._lock:
            self._encoded[id_] = encoded
            while len(self._encoded) > MAX_REMEMBERED:
                self._encoded.popitem(last=False)


_remembered = _Remembered()


def encoded_tail(principal: Principal, request: Request, pool: Pool) -> Pool:
    """`pool` with word pieces for all candidates that lack them, and vectors for the latest."""
    bare = [row for row in pool.rows if row.vector is None]
    if not bare:
        return pool
    known = {row.id: encoded for row in bare if (encoded := _remembered.get(row.id)) is not None}
    known |= _encoded(principal, request, [row for row in bare if row.id not in known])
    rows, pieces = list(pool.rows), list(pool.pieces)
    for index, row in enumerate(rows):
        if row.id in known:
            rows[index] = row._replace(pieces=known[row.id].pieces, vector=known[row.id].vector)
            pieces[pool.own[index]] = known[row.id].pieces
    return replace(pool, rows=rows, pieces=pieces)


def _encoded(principal: Principal, request: Request, rows: Sequence[Row]) -> dict[str, Encoded]:
    """Word pieces of all `rows` and vectors of the latest; those with a vector are remembered."""
    found = texts(principal, request, [(row.kind, row.id) for row in rows])
    encoded: dict[str, Encoded] = {}
    for rank, row in enumerate(sorted(rows, key=lambda row: row.aged_from or "", reverse=True)):
        if (memory := found.get(row.id)) is None:
            continue
        text = memory.searchable_text
        pieces = pack_pieces(token_vectors().piece_ids(text))
        if rank < MAX_ENCODED:
            encoded[row.id] = Encoded(pieces, quantize(encoder().encode([text])[0]))
            _remembered.put(row.id, encoded[row.id])
        else:
            encoded[row.id] = Encoded(pieces, None)
    return encoded
