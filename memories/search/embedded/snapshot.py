"""The vectors of one shelf of a part in memory, and what decides whether a row may be found.

Invariant: row `place - 1` of every array is the row `place` of the file, as of `change`. A snapshot is refreshed by
the rows that changed since; the arrays that decide visibility are replaced, never edited, so a search in flight keeps
its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.constants import EMBEDDING_DIMENSIONS
from memories.embedding import Floats, dequantize_many
from memories.search.embedded.schema import CURRENT, GONE, KIND_CODES, Shelf
from memories.types import Kind

# The code of a name that no row has.
UNKNOWN = -1
_MIN_ROWS = 64
K1, B = 1.2, 0.3
_NOBODY = UUID(int=0)
# place, id, kind, state, task, length, vector
Row = tuple[int, bytes, int, int, str, int, bytes | None]
Number = TypeVar("Number", np.uint8, np.int32)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One shelf as of `change` of `generation`, by row.

    `vectors` may have spare rows; `tasks` numbers the names of tasks; `length` counts the words of a text.
    """

    generation: str
    change: int
    ids: tuple[UUID, ...]
    vectors: Floats
    kind: NDArray[np.uint8]
    state: NDArray[np.uint8]
    task: NDArray[np.int32]
    tasks: dict[str, int]
    length: NDArray[np.int32]

    @property
    def rows(self) -> int:
        """How many rows there are, removed ones included."""
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Memory that the snapshot holds, about."""
        return self.vectors.nbytes + self.rows * 200

    def visible(self, kinds: tuple[Kind, ...], task: str, *, include_superseded: bool) -> NDArray[np.bool_]:
        """Which rows a request may find."""
        codes = np.array([KIND_CODES[kind] for kind in kinds], np.uint8)
        allowed: NDArray[np.bool_] = np.isin(self.kind, codes)
        allowed &= (self.state != GONE) if include_superseded else (self.state == CURRENT)
        no_task, of_task = self.tasks.get("", UNKNOWN), self.tasks.get(task, UNKNOWN)
        allowed &= (self.task == no_task) | (self.task == of_task)
        return allowed

    def cosines(self, vector: Floats) -> Floats:
        """The cosine of every row with `vector`; removed rows have whatever was there."""
        return self.vectors[: self.rows] @ vector

    def lexical(self, rows_by_term: Sequence[NDArray[np.intp]]) -> Floats:
        """The BM25 of every row, from the rows that hold each term: k1 1.2, b 0.3, a term counts once in a text.

        Texts of a sentence or two hardly repeat a word, and counting would cost three times as much. The statistics are
        of this shelf alone.
        """
        scores = np.zeros(self.rows, np.float32)
        if not rows_by_term:
            return scores
        relative = self.length / max(float(self.length.mean()), 1.0)
        share = (K1 + 1.0) / (1.0 + K1 * (1.0 - B + B * relative))
        for rows in rows_by_term:
            rarity = np.log1p((self.rows - len(rows) + 0.5) / (len(rows) + 0.5))
            scores[rows] += (rarity * share[rows]).astype(np.float32)
        return scores


def read(connection: sqlite3.Connection, shelf: Shelf, previous: Snapshot | None) -> Snapshot:
    """The shelf as it is now: `previous` with what changed since, or all of it. Inside a read transaction."""
    generation, change = connection.execute("SELECT generation, change FROM meta").fetchone()
    if previous is not None and previous.generation == generation:
        if previous.change == change:
            return previous
        since, base = previous.change, previous
    else:
        since, base = -1, _empty(generation)
    rows = connection.execute(
        f"SELECT place, id, kind, state, task, length, vector FROM {shelf.documents}"  # noqa: S608 - see Shelf
        " WHERE change > ? ORDER BY place",
        (since,),
    ).fetchall()
    return _with_rows(base, change, rows)


def _empty(generation: str) -> Snapshot:
    return Snapshot(
        generation=generation,
        change=0,
        ids=(),
        vectors=np.zeros((0, EMBEDDING_DIMENSIONS), np.float32),
        kind=np.zeros(0, np.uint8),
        state=np.zeros(0, np.uint8),
        task=np.zeros(0, np.int32),
        tasks={},
        length=np.zeros(0, np.int32),
    )


def _with_rows(base: Snapshot, change: int, rows: Sequence[Row]) -> Snapshot:
    size = max([base.rows, *(row[0] for row in rows[-1:])])
    ids = [*base.ids, *[_NOBODY] * (size - base.rows)]
    kind, state = _grown(base.kind, size), _grown(base.state, size)
    task, length = _grown(base.task, size), _grown(base.length, size)
    vectors = base.vectors if len(base.vectors) >= size else _with_room(base.vectors, base.rows, size)
    nothing = bytes(EMBEDDING_DIMENSIONS)
    for place, id_, kind_code, state_code, task_name, words, _vector in rows:
        row = place - 1
        ids[row] = UUID(bytes=id_)
        kind[row], state[row], length[row] = kind_code, state_code, words
        task[row] = base.tasks.setdefault(task_name, len(base.tasks))
    if rows:
        # In place: a row's text and so its vector never change, and a removed row must leave nothing in memory.
        vectors[[row[0] - 1 for row in rows]] = dequantize_many([row[6] or nothing for row in rows])
    return Snapshot(base.generation, change, tuple(ids), vectors, kind, state, task, base.tasks, length)


def _grown(array: NDArray[Number], size: int) -> NDArray[Number]:
    return np.concatenate([array, np.zeros(size - len(array), array.dtype)])


def _with_room(vectors: Floats, rows: int, size: int) -> Floats:
    grown = np.zeros((max(_MIN_ROWS, size + size // 8), EMBEDDING_DIMENSIONS), np.float32)
    grown[:rows] = vectors[:rows]
    return grown
