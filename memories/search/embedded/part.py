"""One part of the plane, open for reading: a connection to its file and the snapshots of its vectors.

Those of archived memories are read when somebody asks for them.

Invariant: what is read belongs to the file that lies at the path now. A file that was deleted or replaced under the
open connection is noticed before each search, and counts as missing.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memories.search.embedded.schema import MAIN, SHELVES, Shelf, connect, is_usable
from memories.search.embedded.snapshot import Snapshot, read

# More words than this in one query say nothing more, and cost a scan each.
MAX_TERMS = 48


Searched = tuple[Snapshot, list[NDArray[np.intp]]]
"""A shelf as it is now, and the rows that hold each of the terms."""


class PartClosed(Exception):
    """The part was closed before the search began; open it again."""


class Part:
    """Safe to use from several threads: file and refresh are one at a time, the products run outside the lock."""

    def __init__(self, path: Path, encoder: str) -> None:
        """Open the file. Raises FileNotFoundError if it is missing or not usable, sqlite3.Error if it is damaged."""
        self.path = path
        self._encoder = encoder
        self._lock = threading.Lock()
        self._snapshots: dict[Shelf, Snapshot] = {}
        self._closed = False
        self._identity = _identity(path)
        self._connection = connect(path)
        try:
            usable = is_usable(self._connection, encoder)
        except BaseException:
            self._connection.close()
            raise
        if not usable:
            self._connection.close()
            raise FileNotFoundError(path)

    @property
    def nbytes(self) -> int:
        """Memory that the part holds, about."""
        return sum(snapshot.nbytes for snapshot in self._snapshots.copy().values())

    def is_current(self) -> bool:
        """Whether the open file is still the one at the path."""
        try:
            return _identity(self.path) == self._identity
        except FileNotFoundError:
            return False

    def search(self, terms: Sequence[str], *, with_archive: bool = False) -> list[Searched]:
        """The part as it is now, shelf by shelf, and the rows that hold each of `terms`.

        Raises PartClosed, FileNotFoundError if the file was emptied in its place, sqlite3.Error.
        """
        with self._lock:
            if self._closed:
                raise PartClosed
            self._connection.execute("BEGIN")
            try:
                return [self._searched(shelf, terms) for shelf in (SHELVES if with_archive else (MAIN,))]
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode == sqlite3.SQLITE_ERROR and not is_usable(self._connection, self._encoder):
                    raise FileNotFoundError(self.path) from error
                raise
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file once no search is using it."""
        with self._lock:
            self._closed = True
            self._connection.close()

    def _searched(self, shelf: Shelf, terms: Sequence[str]) -> Searched:
        snapshot = self._snapshots[shelf] = read(self._connection, shelf, self._snapshots.get(shelf))
        wanted = matchable(terms) if snapshot.rows else []
        return snapshot, [self._rows_with(shelf, term) for term in wanted]

    def _rows_with(self, shelf: Shelf, term: str) -> NDArray[np.intp]:
        query = f"SELECT rowid FROM {shelf.words} WHERE {shelf.words} MATCH ?"  # noqa: S608 - see Shelf
        found = self._connection.execute(query, (quoted(term),)).fetchall()
        return np.fromiter((place for (place,) in found), np.intp, len(found)) - 1


def matchable(terms: Sequence[str]) -> list[str]:
    """The distinct terms that a text could hold, as many as are looked up."""
    return list(islice((term for term in dict.fromkeys(terms) if any(map(str.isalnum, term))), MAX_TERMS))


def quoted(term: str) -> str:
    """An FTS5 query for a term; nothing in it is syntax."""
    return '"{}"'.format(term.replace("\x00", " ").replace('"', '""'))


def _identity(path: Path) -> tuple[int, int]:
    found = os.stat(path)  # noqa: PTH116 - twice as fast, on the path of every recall
    return found.st_dev, found.st_ino
