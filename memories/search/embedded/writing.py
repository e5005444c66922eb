"""Writes to one part: versioned upserts, tombstones, and filling a part anew. Each runs in the caller's transaction.

Invariant: the version of a row only grows, but for `fill`, where the database decides. A removed row keeps its version.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from memories.search.base import Tombstone
from memories.search.embedded.schema import CURRENT, GONE, KIND_CODES, SUPERSEDED, is_usable, start_over
from memories.types import SearchDocument, Status

_WORD = re.compile(r"\w+")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One write transaction; everything or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def upsert(connection: sqlite3.Connection, documents: Iterable[SearchDocument]) -> None:
    """Store the documents that are newer than what is there; an evicted one is removed."""
    change = _next_change(connection)
    removed: list[Tombstone] = []
    for document in documents:
        if document.status is Status.EVICTED:
            removed.append(Tombstone(document.kind, document.id, document.version))
            continue
        row = connection.execute("SELECT place, version FROM documents WHERE id = ?", (document.id.bytes,)).fetchone()
        if row is None:
            _insert(connection, document, change)
        elif row[1] < document.version:
            connection.execute("DELETE FROM words WHERE rowid = ?", (row[0],))
            _insert(connection, document, change, place=row[0])
    if removed:
        delete(connection, removed)


def delete(connection: sqlite3.Connection, tombstones: Iterable[Tombstone]) -> None:
    """Leave nothing of these memories but their versions."""
    change = _next_change(connection)
    touched = False
    for tombstone in tombstones:
        row = connection.execute("SELECT place, version FROM documents WHERE id = ?", (tombstone.id.bytes,)).fetchone()
        if row is not None and row[1] >= tombstone.version:
            continue
        if row is not None:
            connection.execute("DELETE FROM words WHERE rowid = ?", (row[0],))
            touched = True
        _bury(connection, tombstone, change, place=row[0] if row else None)
    if touched:
        # A full-text table keeps the words of a deleted row in its segments until they are merged.
        connection.execute("INSERT INTO words(words) VALUES ('optimize')")


def fill(connection: sqlite3.Connection, encoder: str, documents: Iterable[SearchDocument]) -> int:
    """Make the part hold exactly `documents`; return how many. What it held besides becomes a tombstone."""
    before: dict[bytes, tuple[int, int]] = {}
    if is_usable(connection, encoder):
        rows = connection.execute("SELECT id, kind, version FROM documents")
        before = {id_: (kind, version) for id_, kind, version in rows}
    start_over(connection, encoder)
    change = _next_change(connection)
    count = 0
    for document in documents:
        if document.status is Status.EVICTED:
            continue
        before.pop(document.id.bytes, None)
        _insert(connection, document, change)
        count += 1
    connection.executemany(
        "INSERT INTO documents (id, kind, version, status, state, task, length, change)"
        " VALUES (?, ?, ?, '', ?, '', 0, ?)",
        [(id_, kind, version, GONE, change) for id_, (kind, version) in before.items()],
    )
    return count


def _next_change(connection: sqlite3.Connection) -> int:
    (change,) = connection.execute("UPDATE meta SET change = change + 1 RETURNING change").fetchone()
    return int(change)


def _insert(connection: sqlite3.Connection, document: SearchDocument, change: int, place: int | None = None) -> None:
    cursor = connection.execute(
        "INSERT OR REPLACE INTO documents (place, id, kind, version, status, state, task, vector, length, change)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            place,
            document.id.bytes,
            KIND_CODES[document.kind],
            document.version,
            document.status.value,
            SUPERSEDED if document.status is Status.SUPERSEDED else CURRENT,
            document.task,
            document.vector,
            len(_WORD.findall(document.text)),
            change,
        ),
    )
    connection.execute("INSERT INTO words(rowid, text) VALUES (?, ?)", (cursor.lastrowid, document.text))


def _bury(connection: sqlite3.Connection, tombstone: Tombstone, change: int, place: int | None) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO documents (place, id, kind, version, status, state, task, length, change)"
        " VALUES (?, ?, ?, ?, '', ?, '', 0, ?)",
        (place, tombstone.id.bytes, KIND_CODES[tombstone.kind], tombstone.version, GONE, change),
    )
