"""The bare floors: what the machine cannot do without, with nothing of memoryhub around it."""

from __future__ import annotations

import re
import sqlite3
import uuid
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 384
TOP = 80
# Words of four letters and more: the short ones are in every text, and no search would ask for them.
_WORD = re.compile(r"\w{4,}")


class ReadFloor:
    """One FTS5 query and one matrix product over the same texts, each for its best 80."""

    def __init__(self, folder: Path, texts: Sequence[str]) -> None:
        self._database = sqlite3.connect(folder / "read_floor.sqlite3")
        self._database.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        self._database.executemany("INSERT INTO words (text) VALUES (?)", ((text,) for text in texts))
        self._database.commit()
        random = np.random.default_rng(0)
        self._matrix = _normalised(random.standard_normal((len(texts), DIMENSIONS), dtype=np.float32))
        self._query = _normalised(random.standard_normal((1, DIMENSIONS), dtype=np.float32))[0]

    def search(self, question: str) -> tuple[list[int], NDArray[np.intp]]:
        """Row ids by BM25, and indices by cosine."""
        match = " OR ".join(f'"{word}"' for word in _WORD.findall(question))
        query = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
        by_words = [row for (row,) in self._database.execute(query, (match, TOP))]
        return by_words, np.argpartition(self._matrix @ self._query, -TOP)[-TOP:]


class WriteFloor:
    """One insert and one durable commit, with the journal and flushing that the product uses."""

    def __init__(self, folder: Path) -> None:
        self._database = sqlite3.connect(folder / "write_floor.sqlite3", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.execute("CREATE TABLE memory (id TEXT PRIMARY KEY, text TEXT NOT NULL)")

    def insert(self, text: str) -> None:
        """Store one text."""
        self._database.execute("BEGIN IMMEDIATE")
        self._database.execute("INSERT INTO memory VALUES (?, ?)", (uuid.uuid4().hex, text))
        self._database.execute("COMMIT")


def _normalised(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit
