"""The files of the embedded plane: tables, versioned upserts, tombstones and filling.

A file has a table of documents, a full-text table of their words and a table of the tokens of their attributes, and the
same for the archive. A memory is in one of the two sets; the other holds at most the version in which it left. Versions
only increase, except in `fill`, where the database decides. A file with `user_version` SCHEMA_VERSION was filled in the
transaction that created it and contains every change since; any other file counts as missing. All functions run in the
caller's transaction.
"""

from __future__ import annotations

import re
import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass
from datetime import UTC
from pathlib import Path
from uuid import UUID

from memories.search.base import SeenDocument, Tombstone
from memories.types import Kind, SearchDocument, Status, TurnDocument
from memories.words import is_unspaced, spaced

# Increment it when the tables, the tokenizer of `words` or the meaning of a column change; files of other versions are
# rebuilt.
SCHEMA_VERSION = 6
BUSY_TIMEOUT_SECONDS = 10.0

KIND_CODES: dict[Kind, int] = {kind: code for code, kind in enumerate(Kind)}
KINDS: tuple[Kind, ...] = tuple(Kind)

# Values of `state`. GONE rows keep only their version.
GONE, CURRENT, SUPERSEDED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of current or of archived memories. The names are constants, so they are safe in SQL."""

    documents: str
    words: str
    tokens: str


MAIN = Tables("documents", "words", "tokens")
ARCHIVE = Tables("archived", "archived_words", "archived_tokens")
ALL_TABLES = (MAIN, ARCHIVE)

_META = "CREATE TABLE meta (encoder TEXT NOT NULL, generation TEXT NOT NULL, change INTEGER NOT NULL)"
_DOCUMENTS = """
CREATE TABLE {documents} (
    place INTEGER PRIMARY KEY,   -- also the row of the words and, less one, of the matrix in memory
    id BLOB NOT NULL UNIQUE,
    kind INTEGER NOT NULL,
    version INTEGER NOT NULL,
    status TEXT NOT NULL,
    state INTEGER NOT NULL,
    task TEXT NOT NULL,
    vector BLOB,
    length INTEGER NOT NULL,     -- words in the text
    change INTEGER NOT NULL,     -- the value of meta.change when the row last changed
    pieces BLOB,                 -- this and what follows is of episodes alone
    session BLOB,
    sequence INTEGER,
    speaker TEXT,
    moment TEXT                  -- YYYY-MM-DD HH:MM:SS in UTC
)
"""
_BY_CHANGE = "CREATE INDEX {documents}_by_change ON {documents} (change)"
_TOKENS = (
    "CREATE TABLE {tokens} (token TEXT NOT NULL, place INTEGER NOT NULL, PRIMARY KEY (token, place)) WITHOUT ROWID"
)
_TOKENS_BY_PLACE = "CREATE INDEX {tokens}_by_place ON {tokens} (place)"
# `pairs` holds letter pairs of scripts without spaces, and is empty for other texts.
_WORDS = "CREATE VIRTUAL TABLE {words} USING fts5(text, pairs, tokenize = 'porter unicode61')"


def connect(path: Path, *, create: bool = False) -> sqlite3.Connection:
    """Open the file, which must exist unless `create`. Raises sqlite3.Error."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}",
        uri=True,
        timeout=BUSY_TIMEOUT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    # The default rollback journal keeps the part in one file: no log is left that a new file of the same name would
    # replay. Deleted content is overwritten, not just unlinked.
    try:
        connection.executescript("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA cache_size = -16384;")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def is_usable(connection: sqlite3.Connection) -> bool:
    """True if the file was filled with this schema version."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return bool(version == SCHEMA_VERSION)


def encoder_of(connection: sqlite3.Connection) -> str:
    """Return the encoder of the file's vectors; a document of another one is stored without its vector."""
    (stored,) = connection.execute("SELECT encoder FROM meta").fetchone()
    return str(stored)


def start_over(connection: sqlite3.Connection, encoder: str) -> None:
    """Recreate empty tables.

    The new `generation` informs readers that the row numbers have changed.
    """
    for table in ("meta", *(table for tables in ALL_TABLES for table in astuple(tables))):
        connection.execute(f"DROP TABLE IF EXISTS {table}")
    connection.execute(_META)
    for tables in ALL_TABLES:
        for statement in (_DOCUMENTS, _BY_CHANGE, _WORDS, _TOKENS, _TOKENS_BY_PLACE):
            connection.execute(statement.format(**asdict(tables)))
    connection.execute("INSERT INTO meta VALUES (?, ?, 0)", (encoder, secrets.token_hex(8)))
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


_WORD = re.compile(r"\w+")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One write transaction, rolled back on any error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def upsert(connection: sqlite3.Connection, documents: Iterable[SearchDocument]) -> None:
    """Store the documents that are newer than the stored version; an evicted one is removed."""
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
        tables = tables_of(document)
        for where, (place, _) in held.items():
            _drop_words(connection, where, place)
            if where is not tables:
                _bury(connection, where, tombstone, change, place)
        _insert(connection, tables, document, change, held[tables][0] if tables in held else None)
    if removed:
        delete(connection, removed)


def delete(connection: sqlite3.Connection, tombstones: Iterable[Tombstone]) -> None:
    """Remove memories, keeping only their versions."""
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
        # A full-text table keeps the words of a deleted row in its segments until they are merged. A memory that moved
        # to the archive has left words in the main table, so both are merged.
        for tables in ALL_TABLES:
            connection.execute(f"INSERT INTO {tables.words}({tables.words}) VALUES ('optimize')")  # noqa: S608 - see Tables


def fill(connection: sqlite3.Connection, encoder: str, documents: Iterable[SearchDocument]) -> int:
    """Replace the part with `documents`; return their number. Other known memories become tombstones."""
    before = _versions(connection) if is_usable(connection) else {}
    start_over(connection, encoder)
    change = _next_change(connection)
    count = 0
    for document in documents:
        if document.status is Status.EVICTED:
            continue
        before.pop(document.id, None)
        _insert(connection, tables_of(document), document, change)
        count += 1
    for id_, (kind, version) in before.items():
        _bury(connection, MAIN, Tombstone(KINDS[kind], id_, version), change, None)
    return count


def rows_of(connection: sqlite3.Connection, tables: Tables) -> list[tuple[int, bytes, int, str]]:
    """Return kind, id, version and status of all memories in a pair of tables."""
    query = f"SELECT kind, id, version, status FROM {tables.documents} WHERE state != ?"  # noqa: S608 - see Tables
    return connection.execute(query, (GONE,)).fetchall()


def document_of(connection: sqlite3.Connection, kind: Kind, id_: UUID) -> SeenDocument | None:
    """Return the document of a memory, archived or not, or None."""
    for tables in ALL_TABLES:
        query = (
            f"SELECT d.version, d.status, d.task, w.text FROM {tables.documents} d"  # noqa: S608 - see Tables
            f" JOIN {tables.words} w ON w.rowid = d.place WHERE d.id = ? AND d.kind = ? AND d.state != ?"
        )
        if (row := connection.execute(query, (id_.bytes, KIND_CODES[kind], GONE)).fetchone()) is not None:
            version, status, task, text = row
            return SeenDocument(version, Status(status), task, text, archived=tables is ARCHIVE)
    return None


def tables_of(document: SearchDocument) -> Tables:
    """Return the tables that a document belongs to."""
    return ARCHIVE if document.archived else MAIN


def _held(connection: sqlite3.Connection, id_: UUID) -> dict[Tables, tuple[int, int]]:
    """Return place and version of a memory or its tombstone, by pair of tables."""
    held: dict[Tables, tuple[int, int]] = {}
    for tables in ALL_TABLES:
        query = f"SELECT place, version FROM {tables.documents} WHERE id = ?"  # noqa: S608 - see Tables
        if (row := connection.execute(query, (id_.bytes,)).fetchone()) is not None:
            held[tables] = row
    return held


def _versions(connection: sqlite3.Connection) -> dict[UUID, tuple[int, int]]:
    """Return kind and latest version of every memory and tombstone."""
    known: dict[UUID, tuple[int, int]] = {}
    for tables in ALL_TABLES:
        query = f"SELECT id, kind, version FROM {tables.documents}"  # noqa: S608 - see Tables
        for id_, kind, version in connection.execute(query):
            known[UUID(bytes=id_)] = max((kind, version), known.get(UUID(bytes=id_), (kind, version)))
    return known


def _next_change(connection: sqlite3.Connection) -> int:
    (change,) = connection.execute("UPDATE meta SET change = change + 1 RETURNING change").fetchone()
    return int(change)


def _insert(
    connection: sqlite3.Connection, tables: Tables, document: SearchDocument, change: int, place: int | None = None
) -> None:
    pairs = spaced(document.text) if is_unspaced(document.text) else ""
    cursor = connection.execute(
        f"INSERT OR REPLACE INTO {tables.documents}"  # noqa: S608 - see Tables
        " (place, id, kind, version, status, state, task, vector, length, change,"
        " pieces, session, sequence, speaker, moment) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
            *(_turn(document.turn) if document.turn else (None,) * 5),
        ),
    )
    words = f"INSERT INTO {tables.words}(rowid, text, pairs) VALUES (?, ?, ?)"  # noqa: S608 - see Tables
    connection.execute(words, (cursor.lastrowid, document.text, pairs))
    tokens = f"INSERT INTO {tables.tokens} (token, place) VALUES (?, ?)"  # noqa: S608 - see Tables
    connection.executemany(tokens, [(token, cursor.lastrowid) for token in document.tokens])


def _turn(turn: TurnDocument) -> tuple[bytes, bytes, int, str, str]:
    moment = turn.happened_at.astimezone(UTC)
    return turn.pieces, turn.session_id.bytes, turn.sequence, turn.speaker, f"{moment:%Y-%m-%d %H:%M:%S}"


def _drop_words(connection: sqlite3.Connection, tables: Tables, place: int) -> None:
    connection.execute(f"DELETE FROM {tables.words} WHERE rowid = ?", (place,))  # noqa: S608 - see Tables
    connection.execute(f"DELETE FROM {tables.tokens} WHERE place = ?", (place,))  # noqa: S608 - see Tables


def _bury(connection: sqlite3.Connection, tables: Tables, tombstone: Tombstone, change: int, place: int | None) -> None:
    connection.execute(
        f"INSERT OR REPLACE INTO {tables.documents}"  # noqa: S608 - see Tables
        " (place, id, kind, version, status, state, task, length, change) VALUES (?, ?, ?, ?, '', ?, '', 0, ?)",
        (place, tombstone.id.bytes, KIND_CODES[tombstone.kind], tombstone.version, GONE, change),
    )
