"""The just-written tail: rows that have no vector yet are encoded on demand, so that they can be scored like any other.

Invariant: only rows that passed `visible_rows` are encoded, and nothing but vectors and word pieces is kept.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from dataclasses import replace

from memories.embedding import encoder, pack_pieces, quantize, token_vectors
from memories.recall.hydration import texts
from memories.recall.pool import Pool, Row
from memories.recall.request import Request
from memories.types import Kind
from tenants.principal import Principal

# Texts encoded within one recall (4 ms each); the others of a long tail are matched by their words alone until the
# outbox has carried them.
MAX_ENCODED = 32
MAX_REMEMBERED = 4_096

Encoded = tuple[bytes, bytes]  # word pieces, vector


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
    """`pool` with a vector and word pieces for the latest of the candidates that lack them."""
    bare = [row for row in pool.rows if row.vector is None]
    if not bare:
        return pool
    if unknown := [row for row in bare if _remembered.get(row.id) is None]:
        _encode(principal, request, unknown)
    rows, pieces = list(pool.rows), list(pool.pieces)
    for index, row in enumerate(rows):
        if row.vector is None and (encoded := _remembered.get(row.id)) is not None:
            pieces[pool.own[index]], vector = encoded
            rows[index] = row._replace(pieces=encoded[0], vector=vector)
    return replace(pool, rows=rows, pieces=pieces)


def _encode(principal: Principal, request: Request, rows: Iterable[Row]) -> None:
    by_kind: dict[Kind, list[Row]] = defaultdict(list)
    for row in rows:
        by_kind[row.kind].append(row)
    for kind, of_kind in by_kind.items():
        found = texts(principal, request, [(kind, row.id) for row in of_kind])
        for row in sorted(of_kind, key=lambda row: row.aged_from or "", reverse=True)[:MAX_ENCODED]:
            if (memory := found.get(row.id)) is not None:
                text = memory.searchable_text
                vector = quantize(encoder().encode([text])[0])
                _remembered.put(row.id, (pack_pieces(token_vectors().piece_ids(text)), vector))
