"""Writes to one part: versioned upserts, tombstones, and filling a part anew. Each runs in the caller's transaction.

Invariant: the version of a row only grows, but for `fill`, where the database decides. A removed row keeps its version,
and so does one that moved to the other shelf.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from uuid import UUID

from memories.search.base import SeenDocument, Tombstone
from memories.search.embedded.schema import (
    ARCHIVE,
    CURRENT,
    GONE,
    KIND_CODES,
    KINDS,
    MAIN,
    SHELVES,
    SUPERSEDED,
    Shelf,
    is_usable,
    start_over,
)
from memories.types import Kind, SearchDocument, Status
from memories.words import is_unspaced, spaced

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
        tombstone = Tombstone(document.kind, document.id, document.version)
        if document.status is Status.EVICTED:
            removed.append(tombstone)
            continue
        held = _held(connection, document.id)
        if any(version >= document.version for _, version in held.values()):
            continue
        shelf = shelf_of(document)
        for where, (place, _) in held.items():
            _drop_words(connection, where, place)
            if where is not shelf:
                _bury(connection, where, tombstone, change, place)
        _insert(connection, shelf, document, change, held[shelf][0] if shelf in held else None)
    if removed:
        delete(connection, removed)


def delete(connection: sqlite3.Connection, tombstones: Iterable[Tombstone]) -> None:
    """Leave nothing of these memories but their versions."""
    change = _next_change(connection)
    touched = False
    for tombstone in tombstones:
        held = _held(connection, tombstone.id)
        if any(version >= tombstone.version for _, version in held.values()):
            continue
        touched |= bool(held)
        for where, (place, _) in held.items():
            _drop_words(connection, where, place)
            _bury(connection, where, tombstone, change, place)
        if not held:
            _bury(connection, MAIN, tombstone, change, None)
    if touched:
        # A full-text table keeps the words of a deleted row in its segments until they are merged: those of a memory
        # that moved into the archive are still in the other one's.
        for shelf in SHELVES:
            connection.execute(f"INSERT INTO {shelf.words}({shelf.words}) VALUES ('optimize')")  # noqa: S608 - see Shelf


def fill(connection: sqlite3.Connection, encoder: str, documents: Iterable[SearchDocument]) -> int:
    """Make the part hold exactly `documents`; return how many. What it held besides becomes a tombstone."""
    before = _versions(connection) if is_usable(connection, encoder) else {}
    start_over(connection, encoder)
    change = _next_change(connection)
    count = 0
    for document in documents:
        if document.status is Status.EVICTED:
            continue
        before.pop(document.id, None)
        _insert(connection, shelf_of(document), document, change)
        count += 1
    for id_, (kind, version) in before.items():
        _bury(connection, MAIN, Tombstone(KINDS[kind], id_, version), change, None)
    return count


def rows_of(connection: sqlite3.Connection, shelf: Shelf) -> list[tuple[int, bytes, int, str]]:
    """Kind, id, version and status of all that stands on a shelf."""
    query = f"SELECT kind, id, version, status FROM {shelf.documents} WHERE state != ?"  # noqa: S608 - see Shelf
    return connection.execute(query, (GONE,)).fetchall()


def document_of(connection: sqlite3.Connection, kind: Kind, id_: UUID) -> SeenDocument | None:
    """What stands of a memory on either shelf."""
    for shelf in SHELVES:
        query = (
            f"SELECT d.version, d.status, d.task, w.text FROM {shelf.documents} d"  # noqa: S608 - see Shelf
            f" JOIN {shelf.words} w ON w.rowid = d.place WHERE d.id = ? AND d.kind = ? AND d.state != ?"
        )
        if (row := connection.execute(query, (id_.bytes, KIND_CODES[kind], GONE)).fetchone()) is not None:
            version, status, task, text = row
            return SeenDocument(version, Status(status), task, text, archived=shelf is ARCHIVE)
    return None


def shelf_of(document: SearchDocument) -> Shelf:
    """Where a document belongs."""
    return ARCHIVE if document.archived else MAIN


def _held(connection: sqlite3.Connection, id_: UUID) -> dict[Shelf, tuple[int, int]]:
    """Place and version of a memory, or of its tombstone, on each shelf that knows it."""
    held: dict[Shelf, tuple[int, int]] = {}
    for shelf in SHELVES:
        query = f"SELECT place, version FROM {shelf.documents} WHERE id = ?"  # noqa: S608 - see Shelf
        if (row := connection.execute(query, (id_.bytes,)).fetchone()) is not None:
            held[shelf] = row
    return held


def _versions(connection: sqlite3.Connection) -> dict[UUID, tuple[int, int]]:
    """Kind and latest version of all that the part knows."""
    known: dict[UUID, tuple[int, int]] = {}
    for shelf in SHELVES:
        query = f"SELECT id, kind, version FROM {shelf.documents}"  # noqa: S608 - see Shelf
        for id_, kind, version in connection.execute(query):
            known[UUID(bytes=id_)] = max((kind, version), known.get(UUID(bytes=id_), (kind, version)))
    return known


def _next_change(connection: sqlite3.Connection) -> int:
    (change,) = connection.execute("UPDATE meta SET change = change + 1 RETURNING change").fetchone()
    return int(change)


def _insert(
    connection: sqlite3.Connection, shelf: Shelf, document: SearchDocument, change: int, place: int | None = None
) -> None:
    pairs = spaced(document.text) if is_unspaced(document.text) else ""
    cursor = connection.execute(
        f"INSERT OR REPLACE INTO {shelf.documents}"  # noqa: S608 - see Shelf
        " (place, id, kind, version, status, state, task, vector, length, change)"
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
            len(_WORD.findall(pairs or document.text)),
            change,
        ),
    )
    words = f"INSERT INTO {shelf.words}(rowid, text, pairs) VALUES (?, ?, ?)"  # noqa: S608 - see Shelf
    connection.execute(words, (cursor.lastrowid, document.text, pairs))


def _drop_words(connection: sqlite3.Connection, shelf: Shelf, place: int) -> None:
    connection.execute(f"DELETE FROM {shelf.words} WHERE rowid = ?", (place,))  # noqa: S608 - see Shelf


def _bury(connection: sqlite3.Connection, shelf: Shelf, tombstone: Tombstone, change: int, place: int | None) -> None:
    connection.execute(
        f"INSERT OR REPLACE INTO {shelf.documents}"  # noqa: S608 - see Shelf
        " (place, id, kind, version, status, state, task, length, change) VALUES (?, ?, ?, ?, '', ?, '', 0, ?)",
        (place, tombstone.id.bytes, KIND_CODES[tombstone.kind], tombstone.version, GONE, change),
    )
