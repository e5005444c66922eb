"""The measurements of one owner on the embedded search plane: fill, index, recall, write, memory."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import django

django.setup()

from django.core.management import call_command  # noqa: E402 - after the set-up
from rich.console import Console  # noqa: E402
from rich.progress import Progress  # noqa: E402

from benchmarks.crowd import WARM_UP, crowd  # noqa: E402
from benchmarks.measures import (  # noqa: E402
    Rate,
    ReadFloor,
    Row,
    WriteFloor,
    as_json,
    rates_of,
    resident_megabytes,
    table_of,
    timed,
    times_of,
)
from benchmarks.population import fill, index, make_owner  # noqa: E402
from benchmarks.texts import Writer  # noqa: E402
from memories.recall import recording  # noqa: E402
from memories.recall.pipeline import recall  # noqa: E402
from memories.services.facts.remember import remember_fact  # noqa: E402
from memories.services.sessions.episodes import remember_episode  # noqa: E402
from memories.services.sessions.sessions import start_session  # noqa: E402
from tenants.principal import Principal  # noqa: E402

TAIL = 20


def run(options: Namespace, folder: str) -> None:
    """Measure, then print a table or JSON."""
    call_command("migrate", verbosity=0)
    console = Console(stderr=True)
    writer = Writer(options.seed)
    owner = make_owner()
    with Progress(console=console, transient=True) as progress:
        texts = fill(owner, writer, options.memories, progress)
        index(options.memories, progress)
        read_floor = ReadFloor(Path(folder), texts)
        questions = [writer.question() for _ in range(options.queries + WARM_UP)]
        rows = recalls("recall", owner, questions, read_floor, progress)
        several = sorted({1, options.processes})
        crowds = [crowd(owner, questions, clients=options.clients, processes=number) for number in several]
        bare = 1000 / rows[0].floor.p50
        rates = [
            Rate(f"recall, {options.clients} clients, processes: {number}", len(questions), found.per_second, bare)
            for number, found in zip(several, crowds, strict=True)
        ]
        rows += writes(owner, writer, WriteFloor(Path(folder)), options.writes, progress)
        index(options.writes * 2, progress)
        for _ in range(TAIL):
            remember_fact(owner, text=writer.fact())
        rows += recalls(f"recall, {TAIL} just written", owner, questions, read_floor, progress)
    report(rows, rates, [found.resident for found in crowds], options)


def recalls(name: str, owner: Principal, questions: list[str], floor: ReadFloor, progress: Progress) -> list[Row]:
    """Time recalls of one owner, and the recording after each answer (trace and use counts)."""
    spans, recorded, floors = zip(
        *(
            (
                timed(lambda text: recall(owner, text), question),
                timed(lambda _: recording.flush(), question),
                timed(floor.search, question),
            )
            for question in progress.track(questions, description=name)
        ),
        strict=True,
    )
    bare = times_of(floors[WARM_UP:])
    return [Row(name, times_of(spans[WARM_UP:]), bare), Row("… its recording", times_of(recorded[WARM_UP:]), bare)]


def writes(owner: Principal, writer: Writer, floor: WriteFloor, count: int, progress: Progress) -> list[Row]:
    """Time writes of episodes and of facts."""
    session = start_session(owner).pk
    episodes = [writer.episode() for _ in range(count)]
    facts = [writer.fact() for _ in range(count)]

    def remember_turn(text: str) -> object:
        return remember_episode(owner, session_id=session, text=text)

    return [
        beside("remember_episode", remember_turn, floor.insert, episodes, progress),
        beside("remember_fact", lambda text: remember_fact(owner, text=text), floor.insert, facts, progress),
    ]


def beside(
    name: str,
    operation: Callable[[str], object],
    floor: Callable[[str], object],
    texts: list[str],
    progress: Progress,
) -> Row:
    """Time `operation` and then the floor for each text, so that both run under the same conditions."""
    pairs = [(timed(operation, text), timed(floor, text)) for text in progress.track(texts, description=name)]
    spans, floors = zip(*pairs[WARM_UP:], strict=True)
    return Row(name, times_of(spans), times_of(floors))


def report(rows: list[Row], rates: list[Rate], answering: list[float], options: Namespace) -> None:
    """Print a table or JSON; `answering`: MB of a process that answers recalls, with all clients or with its share."""
    now, peak = resident_megabytes()
    console = Console()
    if options.json:
        a_second = {rate.operation: rate.per_second for rate in rates}
        measured = {
            "memories": options.memories,
            "rows": as_json(rows),
            "per_second": a_second,
            "answering_mb": answering,
            "rss_mb": now,
            "peak_mb": peak,
        }
        console.print_json(json.dumps(measured))
        return
    console.print(table_of(f"{options.memories:,} memories of one owner, embedded; milliseconds", rows))
    console.print(rates_of("Throughput", rates))
    each = ", ".join(f"{megabytes:.0f}" for megabytes in answering)
    console.print(f"Resident memory of a process that answers recalls, with all clients or with its share: {each} MB.")
    console.print(f"Of this one, which fills, writes and indexes as well: {now:.0f} MB, at most {peak:.0f} MB.")
