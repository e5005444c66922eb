"""Statistics and tables of timed calls, and the floors they are compared with, which use no memoryhub code."""

from __future__ import annotations

import re
import sqlite3
import statistics
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds of an operation: median and 95th percentile of `count` calls."""

    count: int
    p50: float
    p95: float


def times_of(milliseconds: Iterable[float]) -> Times:
    """Summarise two or more calls."""
    values = sorted(milliseconds)
    return Times(len(values), statistics.median(values), statistics.quantiles(values, n=20, method="inclusive")[-1])


def timed(call: Callable[[str], object], text: str) -> float:
    """Milliseconds of one call."""
    begin = time.perf_counter()
    call(text)
    return (time.perf_counter() - begin) * 1000


def resident_megabytes() -> tuple[float, float]:
    """The resident memory of the process now and at its peak, in MB (Linux only)."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    now, peak = (int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    return now, peak


def disk_megabytes(folder: Path) -> float:
    """The space that the files in a folder take, in MB."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file()) / 2**20


@dataclass(frozen=True, slots=True)
class Row:
    """An operation's times and its floor's."""

    operation: str
    times: Times
    floor: Times

    @property
    def ratio(self) -> float:
        """The median as a multiple of the floor's."""
        return self.times.p50 / self.floor.p50


@dataclass(frozen=True, slots=True)
class Rate:
    """A throughput per second, beside that of its floor."""

    operation: str
    count: int
    per_second: float
    floor: float

    @property
    def ratio(self) -> float:
        """The share of the floor's rate."""
        return self.per_second / self.floor


def table_of(title: str, rows: Sequence[Row]) -> Table:
    """Rows as a table."""
    table = Table(title=title)
    table.add_column("operation")
    for heading in ("p50", "p95", "floor p50", "floor p95", "times the floor"):
        table.add_column(heading, justify="right")
    for row in rows:
        figures = (row.times.p50, row.times.p95, row.floor.p50, row.floor.p95)
        table.add_row(row.operation, *(f"{figure:.1f}" for figure in figures), f"{row.ratio:.1f}")
    return table


def rates_of(title: str, rates: Sequence[Rate]) -> Table:
    """Rates as a table."""
    table = Table(title=title)
    table.add_column("operation")
    for heading in ("count", "a second", "floor", "share of the floor"):
        table.add_column(heading, justify="right")
    for rate in rates:
        figures = (f"{rate.count:,}", f"{rate.per_second:,.0f}", f"{rate.floor:,.0f}", f"{rate.ratio:.2f}")
        table.add_row(rate.operation, *figures)
    return table


def as_json(rows: Sequence[Row]) -> dict[str, object]:
    """Rows as JSON values, by operation."""
    return {row.operation: {**asdict(row), "ratio": row.ratio} for row in rows}


DIMENSIONS = 384
TOP = 80
# Words of four letters or more: shorter ones are in every text, and searches leave them out.
_WORD = re.compile(r"\w{4,}")


class ReadFloor:
    """The floor of a recall: one FTS5 query and one matrix product over the same texts, each for the best 80."""

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
    """The floor of a write: one insert and one durable commit, with the product's journal mode."""

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
