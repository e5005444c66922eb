"""Many members on a real Elasticsearch, in order: keys, rows, indexing, recall; each beside the bare requests."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from time import perf_counter

import django

django.setup()

from django.core.management import call_command  # noqa: E402 - after the set-up
from django.db import connection, transaction  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import Progress  # noqa: E402

from benchmarks.population import Population, make_members  # noqa: E402
from benchmarks.rows import Rate, Row, as_json, rates_of, table_of  # noqa: E402
from benchmarks.searching import cold, crowded, hot  # noqa: E402
from benchmarks.servers import Servers  # noqa: E402
from benchmarks.texts import Writer  # noqa: E402
from memories.models import Episode  # noqa: E402
from memories.search.checking import owners  # noqa: E402
from memories.search.documents import documents  # noqa: E402
from memories.search.elasticsearch import indices  # noqa: E402
from memories.search.elasticsearch.documents import actions  # noqa: E402
from memories.search.elasticsearch.writing import changes, send  # noqa: E402
from memories.search.outbox import drain, enqueue_many, rebuild_all  # noqa: E402
from memories.types import Kind  # noqa: E402
from memoryhub.elasticsearch import Identity, service_client  # noqa: E402
from tenants.principal import Principal  # noqa: E402
from tenants.search_keys import invalidate, mint_waiting, temporary_key  # noqa: E402
from tests.cluster import Cluster, set_up, tear_down  # noqa: E402

KEYS = 200
WARM_UP = 20
CROWD = 8  # who ask at once
COLD_SEARCHES = 200  # at least, of each kind
CHANGED = 5_000  # documents that are carried by the outbox


@dataclass
class Measured:
    """What was measured: `documents` were in the indices."""

    members: int = 0
    documents: int = 0
    recalls_a_second: float = 0.0
    rows: list[Row] = field(default_factory=list)
    rates: list[Rate] = field(default_factory=list)


def run(options: Namespace, parts: Servers) -> None:
    """Measure, then print tables or JSON."""
    call_command("migrate", verbosity=0)
    cluster = Cluster(parts.node, parts.prefix, {Identity[name]: word for name, word in parts.passwords.items()})
    set_up(cluster)
    try:
        with Progress(console=Console(stderr=True), transient=True) as progress:
            measured = measure(options, progress)
    finally:
        tear_down(cluster)
    report(measured, options, parts)


def measure(options: Namespace, progress: Progress) -> Measured:
    """All measurements, in order."""
    members = make_members(max(options.members, KEYS))
    measured = Measured(options.members)
    measured.rates.append(minting(members))
    members = members[: options.members]
    Population(options.seed).fill(members, options.each, progress)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as a database does by itself after a while
    measured.documents, rate = rebuilding(progress)
    measured.rates += [rate, carrying(min(CHANGED, measured.documents // 2))]
    writer = Writer(options.seed + 2)
    questions = [writer.question() for _ in range(options.queries + WARM_UP)]
    asking = members[:: max(1, len(members) // CROWD)][:CROWD]
    rounds = max(1, -(-COLD_SEARCHES // len(members)))
    root = service_client(Identity.SETUP)
    measured.rows += hot("one key, hot", members[0], questions, progress, WARM_UP)
    measured.rows += cold("each key's first", root, members, questions, rounds, progress)
    rows, measured.recalls_a_second = crowded(f"{CROWD} at once", asking, questions[WARM_UP:], CROWD, progress)
    measured.rows += rows
    return measured


def minting(members: list[Principal]) -> Rate:
    """Give every member a key; the floor is the request alone, for keys that nobody keeps."""
    member = members[0]
    temporary_key(member.tenant_id, member.user_id, lifetime=timedelta(hours=1))  # opens the connection
    begin = perf_counter()
    bare = [temporary_key(each.tenant_id, each.user_id, lifetime=timedelta(hours=1)) for each in members[:KEYS]]
    floor = KEYS / (perf_counter() - begin)
    invalidate([key.key_id for key in bare])
    begin = perf_counter()
    made = mint_waiting(limit=KEYS).done
    seconds = perf_counter() - begin
    while mint_waiting().done:
        pass  # the other members' keys
    return Rate("keys minted", made, made / seconds, floor)


def rebuilding(progress: Progress) -> tuple[int, Rate]:
    """Fill new indices from the database; the floor is the bulk requests alone, for some of the documents."""
    everybody = owners()
    begin = perf_counter()
    count = rebuild_all(progress.track(everybody, description="indexing"))
    seconds = perf_counter() - begin
    return count, Rate("documents indexed by a rebuild", count, count / seconds, bulk_alone(min(CHANGED, count // 2)))


def carrying(count: int) -> Rate:
    """Carry changes of many owners by the outbox, until searches find them."""
    rows = list(Episode.objects.order_by("id")[:count])
    for row in rows:
        row.version += 1
    Episode.objects.bulk_update(rows, ["version"], batch_size=1_000)
    with transaction.atomic():
        enqueue_many(rows)
    begin = perf_counter()
    delivered = drain().delivered
    seconds = perf_counter() - begin
    return Rate("documents carried by the outbox", delivered, delivered / seconds, bulk_alone(count))


def bulk_alone(count: int) -> float:
    """Documents a second by bulk requests into an index of their own, with everything prepared beforehand."""
    manager, indexer = service_client(Identity.MANAGER), service_client(Identity.INDEXER)
    index = indices.new_index(manager, Kind.EPISODIC)
    rows = Episode.objects.order_by("id")[:count]
    prepared = list(actions(changes(documents(rows)).arrivals, {Kind.EPISODIC: [index]}))
    begin = perf_counter()
    send(indexer, prepared)
    seconds = perf_counter() - begin
    indices.drop(manager, [index])
    return len(prepared) / seconds


def report(measured: Measured, options: Namespace, parts: Servers) -> None:
    """Print what was measured."""
    console = Console()
    version = parts.node.version()
    if options.json:
        found = asdict(measured) | {
            "rows": as_json(measured.rows),
            "elasticsearch": version,
            "database": parts.database,
        }
        found["rates"] = {rate.operation: {**asdict(rate), "ratio": rate.ratio} for rate in measured.rates}
        console.print_json(json.dumps(found))
        return
    title = f"{measured.documents:,} documents of {measured.members:,} members, Elasticsearch {version}"
    console.print(table_of(f"{title}, {parts.database}; milliseconds", measured.rows))
    console.print(f"{CROWD} at once were answered {measured.recalls_a_second:.0f} recalls a second.")
    console.print(rates_of(title, measured.rates))
