"""The file format of one part: a table of documents and a full-text table of their words, and the same for the archive.

A memory is in one of the two; the other keeps at most the version in which it left. Invariant: a file whose
`user_version` is SCHEMA_VERSION was filled in the transaction that made it, so it holds what the database held then and
every change since; any other file counts as missing.
"""

from __future__ import annotations

import secrets
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from memories.types import Kind

# Raise it when the tables, the tokenizer of `words` or the meaning of a column change: files of others are rebuilt.
SCHEMA_VERSION = 4
BUSY_TIMEOUT_SECONDS = 10.0

KIND_CODES: dict[Kind, int] = {kind: code for code, kind in enumerate(Kind)}
KINDS: tuple[Kind, ...] = tuple(Kind)

# `state`: what a row is to a search. GONE rows keep nothing but their version.
GONE, CURRENT, SUPERSEDED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Shelf:
    """The two tables of what is not archived, or of what is. Their names are constants, so SQL may be made of them."""

    documents: str
    words: str


MAIN, ARCHIVE = Shelf("documents", "words"), Shelf("archived", "archived_words")
SHELVES = (MAIN, ARCHIVE)

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
    change INTEGER NOT NULL      -- the value of meta.change when the row last changed
)
"""
_BY_CHANGE = "CREATE INDEX {documents}_by_change ON {documents} (change)"
# `pairs` holds the words of scripts without spaces as pairs of letters, and is empty for other texts.
_WORDS = "CREATE VIRTUAL TABLE {words} USING fts5(text, pairs, tokenize = 'porter unicode61')"


def connect(path: Path, *, create: bool = False) -> sqlite3.Connection:
    """A connection to the file, which must exist unless `create`. Raises sqlite3.Error."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}",
        uri=True,
        timeout=BUSY_TIMEOUT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    # A rollback journal keeps the part in one file, so that deleting it leaves no log behind that a new file of the
    # same name would pick up. What is forgotten is overwritten, not just unlinked.
    try:
        connection.executescript("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA cache_size = -16384;")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def is_usable(connection: sqlite3.Connection, encoder: str) -> bool:
    """Whether the file was filled, in this format, with vectors of `encoder`."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != SCHEMA_VERSION:
        return False
    (stored,) = connection.execute("SELECT encoder FROM meta").fetchone()
    return bool(stored == encoder)


def start_over(connection: sqlite3.Connection, encoder: str) -> None:
    """Drop whatever the file holds and lay out empty tables; inside the caller's transaction.

    The new `generation` tells readers that the places of the rows have changed.
    """
    for table in ("meta", *(table for shelf in SHELVES for table in (shelf.words, shelf.documents))):
        connection.execute(f"DROP TABLE IF EXISTS {table}")
    connection.execute(_META)
    for shelf in SHELVES:
        for statement in (_DOCUMENTS, _BY_CHANGE, _WORDS):
            connection.execute(statement.format(documents=shelf.documents, words=shelf.words))
    connection.execute("INSERT INTO meta VALUES (?, ?, 0)", (encoder, secrets.token_hex(8)))
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
