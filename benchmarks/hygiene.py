"""Measures the hygiene scan of many owners and one large one: a dry run, the first, a second, and one a day later.

The first scan reads the text of every memory; a day later only staleness is computed again.
"""

from __future__ import annotations

import json
import sqlite3
import time
import uuid
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import django

django.setup()

from django.core.management import call_command  # noqa: E402 - after the set-up
from django.utils import timezone  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import Progress  # noqa: E402
from rich.table import Table  # noqa: E402

from benchmarks.collecting import measured  # noqa: E402
from benchmarks.measures import resident_megabytes  # noqa: E402
from benchmarks.population import make_members  # noqa: E402
from benchmarks.texts import Writer  # noqa: E402
from memories.hygiene.text import content_hash  # noqa: E402
from memories.models import Fact, Playbook, RecallTrace, ReviewItem  # noqa: E402
from memories.models.guard import raw_writes  # noqa: E402
from memories.services.retention.hygiene_run import hygiene_scan  # noqa: E402
from memories.services.retention.hygiene_scan import PAGE  # noqa: E402
from memories.types import Scope  # noqa: E402
from tenants.principal import Principal  # noqa: E402

LARGE_OWNER = 10_000
EACH = 100
# One how-to in PLAYBOOKS memories; one junk fact in JUNK; one contradiction in CONTRADICTED facts.
PLAYBOOKS, JUNK, CONTRADICTED = 10, 200, 100
YEAR = timedelta(days=365)
ROWS_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Scan:
    """A scan: memories, wall and processor seconds, SQL statements, and the peak growth of memory in MB."""

    run: str
    memories: int
    seconds: float
    processor_seconds: float
    statements: int
    grew_mb: float


def run(options: Namespace, folder: str) -> None:
    """Measure, then print a table or JSON."""
    call_command("migrate", verbosity=0)
    now = timezone.now()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        fill(options.scanned, Writer(options.seed), progress, now=now)
    rows = [
        scanned("dry run", lambda: hygiene_scan(apply=False, now=now).counts),
        scanned("first run", lambda: hygiene_scan(apply=True, now=now).counts),
        scanned("second run", lambda: hygiene_scan(apply=True, now=now).counts),
        scanned("a day later", lambda: hygiene_scan(apply=True, now=now + timedelta(days=1)).counts),
    ]
    report(rows, floor(Path(folder), options.scanned), options)


@raw_writes("benchmark")
def fill(count: int, writer: Writer, progress: Progress, *, now: datetime) -> None:
    """Create LARGE_OWNER memories for one owner and EACH for the others, learned over two years."""
    large = min(LARGE_OWNER, count)
    members = make_members(1 + (count - large) // EACH)
    task = progress.add_task("writing rows", total=count)
    waiting: list[Fact | Playbook] = []
    for place, member in enumerate(members):
        number = large if place == 0 else EACH
        RecallTrace.objects.create(tenant_id=member.tenant_id, user_id=member.user_id, created_at=now)
        waiting += memories_of(member, writer, number, now=now)
        if len(waiting) >= ROWS_AT_ONCE or member is members[-1]:
            store(waiting)
            progress.advance(task, len(waiting))
            waiting = []
    with raw_writes("benchmark"):
        for model in (Fact, Playbook):
            # before the first scan
            model.objects.unscoped("benchmark").update(updated_at=now - timedelta(days=1))


def memories_of(member: Principal, writer: Writer, count: int, *, now: datetime) -> Iterator[Fact | Playbook]:
    """The facts and how-tos of one member."""
    owner: dict[str, Any] = {"tenant_id": member.tenant_id, "user_id": member.user_id, "scope": Scope.USER}
    for place in range(count):
        learned_at = now - 2 * YEAR * place / count
        if place % PLAYBOOKS == 0:
            how_to = writer.how_to()
            words: dict[str, Any] = {"title": how_to.title, "trigger": how_to.trigger, "steps": list(how_to.steps)}
            yield Playbook(**owner, **words, content_hash=content_hash(how_to.title), learned_at=learned_at)
        else:
            text = f"How can I help you with number {place}?" if place % JUNK == 1 else writer.fact()
            yield Fact(**owner, text=text, content_hash=content_hash(text), learned_at=learned_at)


def store(rows: list[Fact | Playbook]) -> None:
    """Store the rows, and a contradiction review for one pair in CONTRADICTED facts."""
    facts = [row for row in rows if isinstance(row, Fact)]
    with raw_writes("benchmark"):
        Fact.objects.bulk_create(facts, batch_size=500)
        Playbook.objects.bulk_create([row for row in rows if isinstance(row, Playbook)], batch_size=500)
    pairs = zip(facts[::CONTRADICTED], facts[1::CONTRADICTED], strict=False)
    ReviewItem.objects.bulk_create(
        ReviewItem(tenant_id=one.tenant_id, user_id=one.user_id, first=one, second=other, reason="They disagree.")
        for one, other in pairs
        if one.tenant_id is not None and one.user_id == other.user_id
    )


def scanned(name: str, work: Callable[[], Mapping[str, int]]) -> Scan:
    """Measure one scan and the growth of the process's memory."""
    Path("/proc/self/clear_refs").write_text("5")  # reset the process's peak
    before, _ = resident_megabytes()

    def count() -> int:
        counts = work()
        return counts["facts"] + counts["playbooks"]

    begin = time.process_time()
    span = measured(name, count)
    worked = time.process_time() - begin
    return Scan(name, span.decisions, span.seconds, worked, span.statements, max(0.0, resident_megabytes()[1] - before))


def floor(folder: Path, count: int) -> float:
    """Seconds in which SQLite reads as many rows and updates a number in each, in durable pages of the same size."""
    database = sqlite3.connect(folder / "hygiene_floor.sqlite3", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE memory (id TEXT PRIMARY KEY, text TEXT NOT NULL, staleness REAL)")
    ids = sorted(uuid.uuid4().hex for _ in range(count))
    database.executemany(
        "INSERT INTO memory VALUES (?, 'Keeps the old bike in locker 4', NULL)", ((id_,) for id_ in ids)
    )
    begin = time.perf_counter()
    for start in range(0, count, PAGE):
        some = ids[start : start + PAGE]
        database.execute("BEGIN IMMEDIATE")
        database.execute("SELECT * FROM memory WHERE id BETWEEN ? AND ?", (some[0], some[-1])).fetchall()
        database.executemany("UPDATE memory SET staleness = 0.5 WHERE id = ?", ((id_,) for id_ in some))
        database.execute("COMMIT")
    return time.perf_counter() - begin


def report(rows: list[Scan], floor_seconds: float, options: Namespace) -> None:
    """Print a table or JSON."""
    console = Console()
    if options.json:
        told = [asdict(row) | {"ratio": row.seconds / floor_seconds} for row in rows]
        console.print_json(json.dumps({"memories": options.scanned, "floor_seconds": floor_seconds, "rows": told}))
        return
    table = Table(title=f"Hygiene of {options.scanned:,} memories, on SQLite")
    table.add_column("run")
    for heading in ("memories", "seconds", "of the processor", "times the floor", "statements", "grew by MB"):
        table.add_column(heading, justify="right")
    for row in rows:
        times = (f"{row.seconds:.1f}", f"{row.processor_seconds:.1f}", f"{row.seconds / floor_seconds:.1f}")
        table.add_row(row.run, f"{row.memories:,}", *times, f"{row.statements:,}", f"{row.grew_mb:.0f}")
    console.print(table)
