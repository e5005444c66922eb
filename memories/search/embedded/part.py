"""The owners' parts of the embedded plane: paths, open files, and vectors in memory.

Paths consist of UUIDs and fixed words only. A file that was deleted or replaced while open is detected before each
search and counts as missing. Open parts are limited by memory and number; the least recently used is closed first.

Index `place - 1` of every array of a snapshot is the row `place` of the file, as of `change`. A snapshot is refreshed
with the rows changed since. Arrays that decide visibility are replaced rather than modified, so a running search keeps
its own. Vectors of archived memories are loaded by the first search that needs them.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.attributes.evaluation import exact_tokens, token_range
from memories.constants import EMBEDDING_DIMENSIONS
from memories.embedding import Floats, dequantize_many
from memories.search.embedded.files import (
    ALL_TABLES,
    ARCHIVE,
    CURRENT,
    GONE,
    KIND_CODES,
    MAIN,
    Tables,
    connect,
    is_usable,
)
from memories.search.embedded.turn_columns import TurnColumns
from memories.types import Condition, Filter, Junction, Kind, Negation, Owner, Status

# The code of a task name that occurs in no row.
UNKNOWN = -1
_MIN_ROWS = 64
# The columns of a turn, with word pieces of some 40 words.
_TURN_BYTES = 350
K1, B = 1.2, 0.3
_NOBODY = UUID(int=0)
# place, id, kind, state, task, length, vector, and the rest of a TurnRow
Row = tuple[Any, ...]
_ROW = "place, id, kind, state, task, length, vector, status = ?, pieces, session, sequence, speaker, moment"
Number = TypeVar("Number", np.uint8, np.int32)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One pair of tables as of `change` of `generation`, as arrays by row.

    `vectors`, of `encoder`, may have spare rows; `tasks` maps task names to the codes in `task`; `length` is in words.
    """

    generation: str
    encoder: str
    change: int
    ids: tuple[UUID, ...]
    vectors: Floats
    kind: NDArray[np.uint8]
    state: NDArray[np.uint8]
    task: NDArray[np.int32]
    tasks: dict[str, int]
    length: NDArray[np.int32]
    turns: TurnColumns

    @property
    def rows(self) -> int:
        """The number of rows, including removed ones."""
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """The approximate size in bytes."""
        return self.vectors.nbytes + self.rows * (200 + _TURN_BYTES)

    def visible(self, kinds: tuple[Kind, ...], task: str, *, include_superseded: bool) -> NDArray[np.bool_]:
        """Return a mask of the rows that a request may find."""
        codes = np.array([KIND_CODES[kind] for kind in kinds], np.uint8)
        allowed: NDArray[np.bool_] = np.isin(self.kind, codes)
        allowed &= (self.state != GONE) if include_superseded else (self.state == CURRENT)
        no_task, of_task = self.tasks.get("", UNKNOWN), self.tasks.get(task, UNKNOWN)
        allowed &= (self.task == no_task) | (self.task == of_task)
        return allowed

    def cosines(self, vector: Floats) -> Floats:
        """Return the cosine of every row with `vector`, of the same encoder; undefined for removed rows."""
        if self.vectors.shape[1] != len(vector):
            return np.zeros(self.rows, np.float32)  # no row has a vector yet
        return self.vectors[: self.rows] @ vector

    def lexical(self, rows_by_term: Sequence[NDArray[np.intp]]) -> Floats:
        """Return the BM25 score of every row, given the rows that contain each term; k1 is 1.2 and b is 0.3.

        A term counts once per text: short texts rarely repeat a word, and counting would cost three times as much. The
        statistics are those of this pair of tables.
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


def read(connection: sqlite3.Connection, tables: Tables, previous: Snapshot | None) -> Snapshot:
    """Return the current tables: `previous` plus later changes, or everything. Runs inside a read transaction."""
    generation, encoder, change = connection.execute("SELECT generation, encoder, change FROM meta").fetchone()
    if previous is not None and previous.generation == generation:
        if previous.change == change:
            return previous
        since, base = previous.change, previous
    else:
        since, base = -1, _empty(generation, encoder)
    rows = connection.execute(
        f"SELECT {_ROW} FROM {tables.documents} WHERE change > ? ORDER BY place",  # noqa: S608 - see Tables
        (Status.STALE, since),
    ).fetchall()
    return _with_rows(base, change, rows)


def _empty(generation: str, encoder: str) -> Snapshot:
    return Snapshot(
        generation=generation,
        encoder=encoder,
        change=0,
        ids=(),
        vectors=np.zeros((0, EMBEDDING_DIMENSIONS), np.float32),
        kind=np.zeros(0, np.uint8),
        state=np.zeros(0, np.uint8),
        task=np.zeros(0, np.int32),
        tasks={},
        length=np.zeros(0, np.int32),
        turns=TurnColumns.empty(),
    )


def _with_rows(base: Snapshot, change: int, rows: Sequence[Row]) -> Snapshot:
    size = max([base.rows, *(row[0] for row in rows[-1:])])
    ids = [*base.ids, *[_NOBODY] * (size - base.rows)]
    kind, state = _grown(base.kind, size), _grown(base.state, size)
    task, length = _grown(base.task, size), _grown(base.length, size)
    dimensions = next((len(row[6]) for row in rows if row[6]), base.vectors.shape[1])
    vectors = base.vectors
    if dimensions != vectors.shape[1]:  # the first vectors of the part
        vectors = np.zeros((len(vectors), dimensions), np.float32)
    if len(vectors) < size:
        vectors = _with_room(vectors, base.rows, size)
    nothing = bytes(dimensions)
    for place, id_, kind_code, state_code, task_name, words, *_ in rows:
        row = place - 1
        ids[row] = UUID(bytes=id_)
        kind[row], state[row], length[row] = kind_code, state_code, words
        task[row] = base.tasks.setdefault(task_name, len(base.tasks))
    if rows:
        # Updated in place: only an item changes its text and thus its vector, and a removed row must leave nothing in
        # memory.
        vectors[[row[0] - 1 for row in rows]] = dequantize_many([row[6] or nothing for row in rows])
    turns = base.turns.with_rows(ids, [(row[0], *row[7:]) for row in rows])
    return Snapshot(
        base.generation, base.encoder, change, tuple(ids), vectors, kind, state, task, base.tasks, length, turns
    )


def _grown(array: NDArray[Number], size: int) -> NDArray[Number]:
    return np.concatenate([array, np.zeros(size - len(array), array.dtype)])


def _with_room(vectors: Floats, rows: int, size: int) -> Floats:
    grown = np.zeros((max(_MIN_ROWS, size + size // 8), vectors.shape[1]), np.float32)
    grown[:rows] = vectors[:rows]
    return grown


# Further terms of a query add little and cost one full-text lookup each.
MAX_TERMS = 48


Mask = NDArray[np.bool_]
Searched = tuple[Snapshot, list[NDArray[np.intp]], Mask | None]
"""The tables as they are now, the rows that hold each of the terms, and a mask of those that the filter matches."""


class PartClosed(Exception):
    """The part was closed before the search began; open it again."""


class OwnerPart:
    """An open file of one owner.

    Thread-safe: file access and refresh are serialized, matrix products run outside the lock.
    """

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises FileNotFoundError if it is missing or unusable, and sqlite3.Error if it is damaged.
        """
        self.path = path
        self._lock = threading.Lock()
        self._snapshots: dict[Tables, Snapshot] = {}
        self._closed = False
        self._identity = _identity(path)
        self._connection = connect(path)
        try:
            usable = is_usable(self._connection)
        except BaseException:
            self._connection.close()
            raise
        if not usable:
            self._connection.close()
            raise FileNotFoundError(path)

    @property
    def nbytes(self) -> int:
        """The approximate size in bytes."""
        return sum(snapshot.nbytes for snapshot in self._snapshots.copy().values())

    def is_current(self) -> bool:
        """True if the open file is still the one at the path."""
        try:
            return _identity(self.path) == self._identity
        except FileNotFoundError:
            return False

    def search(
        self, terms: Sequence[str], *, with_archive: bool = False, filters: Filter | None = None
    ) -> list[Searched]:
        """Return the current tables, each with the rows that contain each of `terms` and those that `filters` matches.

        Raises PartClosed, sqlite3.Error, or FileNotFoundError if the file was emptied in place.
        """
        with self._lock:
            if self._closed:
                raise PartClosed
            self._connection.execute("BEGIN")
            try:
                return [self._searched(tables, terms, filters) for tables in (ALL_TABLES if with_archive else (MAIN,))]
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode == sqlite3.SQLITE_ERROR and not is_usable(self._connection):
                    raise FileNotFoundError(self.path) from error
                raise
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("COMMIT")

    def catch_up(self) -> None:
        """Read what changed since the last search, so that nothing stays in memory that was removed from the file."""
        with suppress(PartClosed, OSError, sqlite3.Error):
            self.search((), with_archive=ARCHIVE in self._snapshots)

    def close(self) -> None:
        """Close the file once no search is using it."""
        with self._lock:
            self._closed = True
            self._connection.close()

    def _searched(self, tables: Tables, terms: Sequence[str], filters: Filter | None) -> Searched:
        snapshot = self._snapshots[tables] = read(self._connection, tables, self._snapshots.get(tables))
        wanted = matchable(terms) if snapshot.rows else []
        mask = self._matching(tables, filters, snapshot.rows) if filters else None
        return snapshot, [self._rows_with(tables, term) for term in wanted], mask

    def _rows_with(self, tables: Tables, term: str) -> NDArray[np.intp]:
        query = f"SELECT group_concat(rowid) FROM {tables.words} WHERE {tables.words} MATCH ?"  # noqa: S608 - see Tables
        return self._rows(query, (quoted(term),))

    def _rows(self, query: str, values: tuple[str, ...]) -> NDArray[np.intp]:
        """Return the places that a query gives as one text, which takes a fifth of the time of a row for each."""
        (places,) = self._connection.execute(query, values).fetchone()
        return np.fromstring(places or "", np.intp, sep=",") - 1

    def _matching(self, tables: Tables, filters: Filter, rows: int) -> Mask:
        """Return a mask of the rows that the filter matches."""
        match filters:
            case Negation():
                return ~self._matching(tables, filters.part, rows)
            case Junction():
                mask = np.full(rows, filters.every)
                for part in filters.parts:
                    matching = self._matching(tables, part, rows)
                    mask = mask & matching if filters.every else mask | matching
                return mask
            case Condition():
                mask = np.zeros(rows, np.bool_)
                mask[self._rows(*_tokens_query(tables, filters))] = True
                return mask


_SIGNS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def _tokens_query(tables: Tables, condition: Condition) -> tuple[str, tuple[str, ...]]:
    """Return the query for the places of the memories that meet a condition, and its values."""
    select = f"SELECT group_concat(place) FROM {tables.tokens} WHERE token "  # noqa: S608 - see Tables
    if condition.operator.value in _SIGNS:
        lower, first, upper, last = token_range(condition)
        return f"{select}{_SIGNS[lower]} ? AND token {_SIGNS[upper]} ?", (first, last)
    tokens = exact_tokens(condition)
    return f"{select}IN ({', '.join('?' * len(tokens))})", tokens


def matchable(terms: Sequence[str]) -> list[str]:
    """Return the distinct terms with letters or digits, at most MAX_TERMS."""
    return list(islice((term for term in dict.fromkeys(terms) if any(map(str.isalnum, term))), MAX_TERMS))


def quoted(term: str) -> str:
    """Quote a term for FTS5, so that none of its characters is query syntax."""
    return '"{}"'.format(term.replace("\x00", " ").replace('"', '""'))


def _identity(path: Path) -> tuple[int, int]:
    found = os.stat(path)  # noqa: PTH116 - twice as fast, on the path of every recall
    return found.st_dev, found.st_ino


SUFFIX = ".sqlite3"
_GLOBAL = f"global{SUFFIX}"
_SHARED = f"shared{SUFFIX}"


def path_of(root: Path, owner: Owner) -> Path:
    """Return the file of `owner`. Raises ValueError for a user without a tenant, or an id that is not a UUID."""
    if not all(part is None or isinstance(part, UUID) for part in (owner.tenant_id, owner.user_id)):
        raise ValueError("An owner is named by UUIDs.")
    if owner.tenant_id is None:
        if owner.user_id is not None:
            raise ValueError("A user belongs to a tenant.")
        return root / _GLOBAL
    return root / str(owner.tenant_id) / (f"{owner.user_id}{SUFFIX}" if owner.user_id else _SHARED)


def owners_in(root: Path) -> Iterator[Owner]:
    """Yield the owners that have a file; other files are ignored."""
    if (root / _GLOBAL).exists():
        yield Owner(None, None)
    for path in sorted(root.glob(f"*/*{SUFFIX}")):
        try:
            tenant_id = UUID(path.parent.name)
            yield Owner(tenant_id, None if path.name == _SHARED else UUID(path.stem))
        except ValueError:
            continue


MAX_OPEN_PARTS = 128
# Open parts that nobody searches are brought up to date this often, as long as anybody searches.
CATCH_UP_SECONDS = 30.0


class OpenParts:
    """Cache of open parts by path. Thread-safe; a search whose part another thread closes opens it again."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._parts: OrderedDict[Path, OwnerPart] = OrderedDict()
        self._caught_up_at = time.monotonic()

    def search(
        self, path: Path, terms: Sequence[str], *, with_archive: bool = False, filters: Filter | None = None
    ) -> list[Searched]:
        """Search the part at `path`; see OwnerPart.search. Raises FileNotFoundError or sqlite3.Error."""
        self._catch_up()
        while True:
            try:
                return self._part(path).search(terms, with_archive=with_archive, filters=filters)
            except PartClosed:
                continue  # another thread evicted the part between the two calls

    def _part(self, path: Path) -> OwnerPart:
        with self._lock:
            part = self._parts.get(path)
            if part is not None and not part.is_current():
                del self._parts[path]
                part.close()
                part = None
            if part is None:
                self._parts[path] = part = OwnerPart(path)
            self._parts.move_to_end(path)
            self._shrink()
            return part

    def forget(self, path: Path) -> None:
        """Close the part at `path` if it is open."""
        with self._lock:
            part = self._parts.pop(path, None)
        if part is not None:
            part.close()

    def close(self) -> None:
        """Close all parts."""
        with self._lock:
            parts, self._parts = list(self._parts.values()), OrderedDict()
        for part in parts:
            part.close()

    def _catch_up(self) -> None:
        now = time.monotonic()
        with self._lock:
            if now - self._caught_up_at < CATCH_UP_SECONDS:
                return
            self._caught_up_at = now
            parts = list(self._parts.items())
        for path, part in parts:
            if part.is_current():
                part.catch_up()
            else:
                self.forget(path)

    def _shrink(self) -> None:
        """Close the least recently used parts, except the one just requested."""
        total = sum(part.nbytes for part in self._parts.values())
        while len(self._parts) > 1 and (total > self._max_bytes or len(self._parts) > MAX_OPEN_PARTS):
            _, part = self._parts.popitem(last=False)
            total -= part.nbytes
            part.close()
