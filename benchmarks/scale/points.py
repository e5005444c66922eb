"""One point of a curve, measured in this process on an empty site.

Rows and vectors are made up (`population`), for encoding a million texts would take hours; questions are encoded.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import django

django.setup()

import httpx  # noqa: E402 - after the set-up
from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import Progress  # noqa: E402

from benchmarks.measures import disk_megabytes, resident_megabytes, timed, times_of  # noqa: E402
from benchmarks.neighbours import server  # noqa: E402
from benchmarks.population import DRAIN_BATCH, Population, make_members  # noqa: E402
from benchmarks.texts import Writer  # noqa: E402
from memories.recall import recording  # noqa: E402
from memories.recall.pipeline import recall  # noqa: E402
from memories.search.checking import owners  # noqa: E402
from memories.search.outbox import drain, rebuild_all  # noqa: E402
from memories.services.facts.remember import remember_fact  # noqa: E402
from memoryhub.elasticsearch import Identity, index_pattern, service_client  # noqa: E402
from tenants.models import Membership  # noqa: E402
from tenants.principal import Principal  # noqa: E402
from tenants.search_keys import mint_waiting  # noqa: E402
from tenants.services import issue_token  # noqa: E402
from tests.ports import free_port  # noqa: E402

WARM_UP = 10
# Members who are asked for, at most; their keys on Elasticsearch are made.
ASKED = 1_000
# Writes that wait for the index at most, as a worker would leave them.
UNDELIVERED = 50


def one_owner(count: int, options: Namespace, folder: Path) -> dict[str, Any]:
    """Measure one owner with so many memories."""
    members, filled = _filled(1, count, options.seed)
    return {"memories": count, **filled, **_asked(members, options, WARM_UP), **_sizes(folder)}


def many_owners(count: int, options: Namespace, folder: Path) -> dict[str, Any]:
    """Measure so many owners with `each` memories; each is asked for in turn, so that most are cold."""
    members, filled = _filled(count, options.each, options.seed)
    asked = members[:: max(1, count // ASKED)][:ASKED]
    return {"owners": count, **filled, **_asked(asked, options, WARM_UP if count == 1 else 0), **_sizes(folder)}


def many_clients(counts: Sequence[int], options: Namespace, _folder: Path) -> list[dict[str, Any]]:
    """Measure recalls by HTTP of so many clients at once, each asking as soon as it was answered."""
    members, _ = _filled(1, options.memories, options.seed)
    membership = Membership.objects.get(tenant_id=members[0].tenant_id, user_id=members[0].user_id)
    token = issue_token(membership, name="bench")[1]
    connection.close()
    with server(free_port(), options.workers) as url:
        _ask_for(url, token, 0, 3.0)
        return [_at_once(url, token, clients, options.seconds) for clients in counts]


def _filled(count: int, each: int, seed: int) -> tuple[list[Principal], dict[str, float]]:
    """Make members and their indexed memories."""
    call_command("migrate", verbosity=0)
    members, population = make_members(count), Population(seed)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        began = time.perf_counter()
        rows = population.fill(members, each, progress)
        written = time.perf_counter()
        everybody = owners()
        rebuild_all(progress.track(everybody, description="indexing"))
        indexed = time.perf_counter()
    if settings.MEMORYHUB_SEARCH == "elasticsearch":
        while mint_waiting().done:
            pass
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return members, {"rows_a_second": rows / (written - began), "indexed_a_second": rows / (indexed - written)}


def _asked(members: Sequence[Principal], options: Namespace, warm_up: int) -> dict[str, Any]:
    """Time the first recall, recalls and durable writes."""
    writer = Writer(options.seed + 2)

    def ask(member: Principal) -> float:
        took = timed(lambda text: recall(member, text), writer.question())
        recording.flush()
        return took

    def write(number: int, member: Principal) -> float:
        if number % UNDELIVERED == 0:
            _deliver()
        return timed(lambda text: remember_fact(member, text=text), writer.fact())

    first = ask(members[0])
    recalls = [ask(member) for member in islice(cycle(members), options.queries + warm_up)]
    writes = [write(number, member) for number, member in enumerate(islice(cycle(members), options.writes + warm_up))]
    return {
        "first_ms": first,
        "recall": asdict(times_of(recalls[warm_up:])),
        "write": asdict(times_of(writes[warm_up:])),
        "resident_mb": resident_megabytes()[0],
    }


def _deliver() -> None:
    while drain(limit=DRAIN_BATCH).delivered:
        pass


def _sizes(folder: Path) -> dict[str, float]:
    """Return the space that database and index take, in MB."""
    _deliver()
    if settings.MEMORYHUB_SEARCH != "elasticsearch":
        index = disk_megabytes(Path(settings.MEMORYHUB_INDEX_DIR))
        return {"database_mb": disk_megabytes(folder) - index, "index_mb": index}
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        database: int = cursor.fetchone()[0]
    stored = service_client(Identity.SETUP).indices.stats(index=index_pattern(), metric="store")
    return {"database_mb": database / 2**20, "index_mb": stored["_all"]["total"]["store"]["size_in_bytes"] / 2**20}


def _at_once(url: str, token: str, clients: int, seconds: float) -> dict[str, Any]:
    with ThreadPoolExecutor(clients) as pool:
        began = time.perf_counter()
        taken = [
            span for spans in pool.map(lambda n: _ask_for(url, token, n, seconds), range(clients)) for span in spans
        ]
        rate = len(taken) / (time.perf_counter() - began)
    return {"clients": clients, "recalls_a_second": rate, "recall": asdict(times_of(taken))}


def _ask_for(url: str, token: str, number: int, seconds: float) -> list[float]:
    """Ask without a pause; returns the milliseconds of each recall."""
    writer, taken = Writer(number), []
    ends = time.monotonic() + seconds
    with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=60.0) as client:
        while time.monotonic() < ends:
            began, question = time.perf_counter(), {"query": writer.question()}
            client.post(f"{url}/recall/", json=question).raise_for_status()
            taken.append((time.perf_counter() - began) * 1000)
    return taken


KINDS: dict[str, Callable[[Any, Namespace, Path], Any]] = {
    "memories": one_owner,
    "owners": many_owners,
    "clients": many_clients,
}
