"""Measures the collection of one member's facts, all expired: dry and real runs, beside the bare writes.

The facts expired evenly over a year, and the collection runs for the first time at its end, which is the worst case.
"""

from __future__ import annotations

import json
import sqlite3
import time
import uuid
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import django

django.setup()

from django.core.management import call_command  # noqa: E402 - after the set-up
from django.db import connection  # noqa: E402
from django.utils import timezone  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from benchmarks.population import make_owner  # noqa: E402
from benchmarks.texts import Writer  # noqa: E402
from memories.importing import MemoryRecord  # noqa: E402
from memories.models import Fact  # noqa: E402
from memories.services.portability.memories_import import import_memories  # noqa: E402
from memories.services.retention.collection import BATCH, collect  # noqa: E402
from memories.types import Kind  # noqa: E402
from tenants.principal import Principal  # noqa: E402

YEAR = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Span:
    """A run: its number of decisions, its seconds and its SQL statements."""

    run: str
    decisions: int
    seconds: float
    statements: int


def run(options: Namespace, folder: str) -> None:
    """Measure, then print a table or JSON."""
    call_command("migrate", verbosity=0)
    now = timezone.now()
    spread_over_a_year(make_owner(), Writer(options.seed), options.memories, until=now)
    spans = [
        measured("dry run", lambda: len(collect(apply=False, now=now).decisions)),
        measured("real run", lambda: len(collect(apply=True, now=now).decisions)),
        measured("a second run", lambda: len(collect(apply=True, now=now).decisions)),
    ]
    report(spans, floor(Path(folder), options.memories), options)


def spread_over_a_year(owner: Principal, writer: Writer, count: int, *, until: datetime) -> None:
    """Create facts of one owner that expired evenly over the year before `until`."""
    records = [
        MemoryRecord(kind=Kind.SEMANTIC, text=writer.fact(), expires_at=until - YEAR * number / count)
        for number in range(count)
    ]
    import_memories(owner, records)
    if Fact.objects.of(owner).count() != count:
        raise RuntimeError("The made-up facts are not all different.")


def measured(name: str, work: Callable[[], int]) -> Span:
    """Run `work`, which returns its number of decisions; count seconds and SQL statements."""
    statements = 0

    def count(execute: Callable[..., Any], *call: Any) -> Any:
        nonlocal statements
        statements += 1
        return execute(*call)

    begin = time.perf_counter()
    with connection.execute_wrapper(count):
        decisions = work()
    return Span(name, decisions, time.perf_counter() - begin, statements)


def floor(folder: Path, count: int) -> float:
    """Seconds in which SQLite updates as many rows and inserts three for each, in durable batches of the same size."""
    database = sqlite3.connect(folder / "collection_floor.sqlite3", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE memory (id TEXT PRIMARY KEY, state TEXT NOT NULL)")
    database.execute("CREATE TABLE told (id TEXT PRIMARY KEY, about TEXT NOT NULL)")
    ids = [uuid.uuid4().hex for _ in range(count)]
    database.executemany("INSERT INTO memory VALUES (?, 'active')", ((id_,) for id_ in ids))
    begin = time.perf_counter()
    for start in range(0, count, BATCH):
        some = ids[start : start + BATCH]
        database.execute("BEGIN IMMEDIATE")
        database.executemany("UPDATE memory SET state = 'evicted' WHERE id = ?", ((id_,) for id_ in some))
        database.executemany(
            "INSERT INTO told VALUES (?, ?)", ((uuid.uuid4().hex, id_) for id_ in some for _ in range(3))
        )
        database.execute("COMMIT")
    return time.perf_counter() - begin


def report(spans: list[Span], floor_seconds: float, options: Namespace) -> None:
    """Print a table or JSON."""
    console = Console()
    if options.json:
        measured_spans = [asdict(span) | {"ratio": span.seconds / floor_seconds} for span in spans]
        console.print_json(
            json.dumps({"facts": options.memories, "floor_seconds": floor_seconds, "rows": measured_spans})
        )
        return
    table = Table(title=f"Collection of {options.memories:,} facts of one owner, on SQLite")
    table.add_column("run")
    for heading in ("decisions", "seconds", "statements", "times the floor"):
        table.add_column(heading, justify="right")
    for span in spans:
        figures = (f"{span.decisions:,}", f"{span.seconds:.2f}", f"{span.statements:,}")
        table.add_row(span.run, *figures, f"{span.seconds / floor_seconds:.1f}")
    console.print(table)
