"""The vectors of one part in memory, and what decides whether a row may be found.

Invariant: row `place - 1` of every array is the row `place` of the file, as of `change`. A snapshot is refreshed by
the rows that changed since; the arrays that decide visibility are replaced, never edited, so a search in flight keeps
its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.constants import EMBEDDING_DIMENSIONS
from memories.embedding import Floats, dequantize_many
from memories.search.embedded.schema import CURRENT, GONE, KIND_CODES
from memories.types import Kind

# The code of a name that no row has, and of having no thread.
UNKNOWN = NO_THREAD = -1
_MIN_ROWS = 64
# place, id, kind, state, task, thread, vector
Row = tuple[int, bytes, int, int, str, bytes | None, bytes | None]
Number = TypeVar("Number", np.uint8, np.int32)


@dataclass(slots=True)
class Names:
    """Small numbers for names that repeat (tasks, threads)."""

    codes: dict[bytes, int] = field(default_factory=dict)
    names: list[bytes] = field(default_factory=list)

    def code(self, name: bytes) -> int:
        """The number of `name`, a new one if need be."""
        code = self.codes.setdefault(name, len(self.names))
        if code == len(self.names):
            self.names.append(name)
        return code


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One part as of `change` of `generation`. `vectors` may have spare rows; the other arrays have none."""

    generation: str
    change: int
    ids: tuple[bytes, ...]
    vectors: Floats
    kind: NDArray[np.uint8]
    state: NDArray[np.uint8]
    task: NDArray[np.int32]
    thread: NDArray[np.int32]
    tasks: Names
    threads: Names

    @property
    def rows(self) -> int:
        """How many rows there are, removed ones included."""
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Memory that the snapshot holds, about."""
        return self.vectors.nbytes + self.rows * 120

    def visible(self, kinds: tuple[Kind, ...], task: str, *, include_superseded: bool) -> NDArray[np.bool_]:
        """Which rows a request may find."""
        codes = np.array([KIND_CODES[kind] for kind in kinds], np.uint8)
        allowed: NDArray[np.bool_] = np.isin(self.kind, codes)
        allowed &= (self.state != GONE) if include_superseded else (self.state == CURRENT)
        no_task, of_task = self.tasks.codes.get(b"", UNKNOWN), self.tasks.codes.get(task.encode(), UNKNOWN)
        allowed &= (self.task == no_task) | (self.task == of_task)
        return allowed

    def cosines(self, vector: Floats) -> Floats:
        """The cosine of every row with `vector`; removed rows have whatever was there."""
        return self.vectors[: self.rows] @ vector

    def thread_means(self, cosines: Floats, rows: NDArray[np.intp], task: str) -> dict[UUID, float]:
        """The mean cosine of all current episodes of each session that one of `rows` lies in."""
        episodes = self.visible((Kind.EPISODIC,), task, include_superseded=False) & (self.thread != NO_THREAD)
        wanted = np.unique(self.thread[rows])
        wanted = wanted[wanted != NO_THREAD]
        if not len(wanted):
            return {}
        of = self.thread[episodes]
        count = np.bincount(of, minlength=len(self.threads.names))
        total = np.bincount(of, weights=cosines[episodes], minlength=len(self.threads.names))
        return {
            UUID(bytes=self.threads.names[code]): float(total[code] / count[code]) for code in wanted if count[code]
        }


def read(connection: sqlite3.Connection, previous: Snapshot | None) -> Snapshot:
    """The part as it is now: `previous` with what changed since, or all of it. Inside a read transaction."""
    generation, change = connection.execute("SELECT generation, change FROM meta").fetchone()
    if previous is not None and previous.generation == generation:
        if previous.change == change:
            return previous
        since, base = previous.change, previous
    else:
        since, base = -1, _empty(generation)
    rows = connection.execute(
        "SELECT place, id, kind, state, task, thread, vector FROM documents WHERE change > ? ORDER BY place", (since,)
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
        thread=np.zeros(0, np.int32),
        tasks=Names(),
        threads=Names(),
    )


def _with_rows(base: Snapshot, change: int, rows: Sequence[Row]) -> Snapshot:
    size = max([base.rows, *(row[0] for row in rows[-1:])])
    ids = [*base.ids, *[b""] * (size - base.rows)]
    kind, state = _grown(base.kind, size), _grown(base.state, size)
    task, thread = _grown(base.task, size), _grown(base.thread, size)
    vectors = base.vectors if len(base.vectors) >= size else _with_room(base.vectors, base.rows, size)
    nothing = bytes(EMBEDDING_DIMENSIONS)
    for place, id_, kind_code, state_code, task_name, thread_name, _vector in rows:
        row = place - 1
        ids[row] = id_
        kind[row], state[row] = kind_code, state_code
        task[row] = base.tasks.code(task_name.encode())
        thread[row] = NO_THREAD if thread_name is None else base.threads.code(thread_name)
    if rows:
        # In place: a row's text and so its vector never change, and a removed row must leave nothing in memory.
        vectors[[row[0] - 1 for row in rows]] = dequantize_many([row[6] or nothing for row in rows])
    return Snapshot(base.generation, change, tuple(ids), vectors, kind, state, task, thread, base.tasks, base.threads)


def _grown(array: NDArray[Number], size: int) -> NDArray[Number]:
    return np.concatenate([array, np.zeros(size - len(array), array.dtype)])


def _with_room(vectors: Floats, rows: int, size: int) -> Floats:
    grown = np.zeros((max(_MIN_ROWS, size + size // 8), EMBEDDING_DIMENSIONS), np.float32)
    grown[:rows] = vectors[:rows]
    return grown
