"""Measures many members on a real Elasticsearch: minting keys, indexing, the outbox and recall.

Each is timed beside bare requests; the floor of a recall is the `_msearch` with the same key and prepared bodies.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from itertools import cycle, islice
from time import perf_counter

from django.core.management import call_command
from django.db import connection, transaction
from elasticsearch import Elasticsearch
from rich.console import Console
from rich.progress import Progress

from benchmarks.measures import Rate, Row, as_json, rates_of, table_of, timed, times_of
from benchmarks.population import Population, make_members
from benchmarks.servers import Servers
from benchmarks.texts import Writer
from memories.constants import CANDIDATES_PER_SUB_QUERY
from memories.embedding import encoder
from memories.models import Episode
from memories.models.guard import raw_writes
from memories.recall import recording
from memories.recall.pipeline import recall
from memories.recall.query import parse
from memories.search import search_plane
from memories.search.checking import owners
from memories.search.documents import documents
from memories.search.elasticsearch import indices
from memories.search.elasticsearch.mappings import actions
from memories.search.elasticsearch.plane import _ANSWER, changes, send
from memories.search.elasticsearch.queries import sub_queries
from memories.search.outbox import drain, enqueue, rebuild_all
from memories.types import (
    ALL_KINDS,
    CandidateRequest,
    Kind,
)
from memoryhub.elasticsearch import Identity, index_pattern, key_client, service_client
from tenants.principal import Principal
from tenants.search_keys import invalidate, mint_waiting, search_key, temporary_key
from tests.cluster import Cluster, set_up, tear_down

FORMS = ("recall", "search", "bare")
Call = Callable[[str], object]


@dataclass(slots=True)
class Spans:
    """Milliseconds of each form of a question, and of recording a recall after its answer."""

    of: dict[str, list[float]] = field(default_factory=lambda: {form: [] for form in FORMS})
    recording: list[float] = field(default_factory=list)

    def rows(self, name: str, warm_up: int = 0) -> list[Row]:
        """Rows of recall and search, with the bare request as their floor."""
        floor = times_of(self.of["bare"][warm_up:])
        return [Row(f"{form}, {name}", times_of(self.of[form][warm_up:]), floor) for form in ("recall", "search")]


class Asker:
    """One member, who asks in three forms.

    `recall`: the product's whole recall. `search`: the search plane's part of it: find the key, build the bodies, send,
    merge. `bare`: only the request.
    """

    def __init__(self, member: Principal) -> None:
        self.member = member
        self._client = key_client(search_key(member).encoded)

    def forms(self, question: str) -> dict[str, Call]:
        """The call of each form for this question."""
        query = parse(question, ())
        (vector,) = encoder().encode([query.meaning])
        request = CandidateRequest(ALL_KINDS, query.terms, lambda: vector, CANDIDATES_PER_SUB_QUERY)
        searches = [
            line for sub_query in sub_queries(self.member, request) for line in (sub_query.header, sub_query.body)
        ]
        return {
            "recall": lambda text: recall(self.member, text),
            "search": lambda _: search_plane().candidates(self.member, request),
            "bare": lambda _: self._client.msearch(searches=searches, filter_path=_ANSWER),
        }


def hot(name: str, member: Principal, questions: Sequence[str], progress: Progress, warm_up: int) -> list[Row]:
    """One member asks repeatedly; the forms of a question alternate in order."""
    asker, spans = Asker(member), Spans()
    for number, question in enumerate(progress.track(questions, description=name)):
        forms = asker.forms(question)
        for turn in range(len(FORMS)):
            form = FORMS[(number + turn) % len(FORMS)]
            spans.of[form].append(timed(forms[form], question))
        spans.recording.append(timed(lambda _: recording.flush(), question))
    rows = spans.rows(name, warm_up)
    return [*rows, Row("… its recording", times_of(spans.recording[warm_up:]), rows[0].floor)]


def cold(
    name: str,
    root: Elasticsearch,
    members: Sequence[Principal],
    questions: Sequence[str],
    rounds: int,
    progress: Progress,
) -> list[Row]:
    """Each member's first search after Elasticsearch's caches were cleared, in alternating forms."""
    spans = Spans()
    askers = [Asker(member) for member in members]
    asked = cycle(questions)
    for turn in progress.track(range(len(FORMS) * rounds), description=name):
        forget_keys(root)
        for number, (asker, question) in enumerate(zip(askers, asked, strict=False)):
            form = FORMS[(number + turn) % len(FORMS)]
            spans.of[form].append(timed(asker.forms(question)[form], question))
            recording.flush()
    return spans.rows(name)


def crowded(
    name: str, members: Sequence[Principal], questions: Sequence[str], threads: int, progress: Progress
) -> tuple[list[Row], float]:
    """Several members ask concurrently; returns the rows and the recalls per second."""
    askers = [Asker(member) for member in islice(cycle(members), len(questions))]
    forms = [asker.forms(question) for asker, question in zip(askers, questions, strict=True)]
    spans, recalls_a_second = Spans(), 0.0
    task = progress.add_task(name, total=len(FORMS))
    with ThreadPoolExecutor(threads) as pool:
        for form in FORMS:
            begin = perf_counter()
            calls = [each[form] for each in forms]
            spans.of[form] = list(pool.map(timed, calls, questions))
            if form == "recall":
                recalls_a_second = len(questions) / (perf_counter() - begin)
                recording.flush()
            progress.advance(task)
    return spans.rows(name), recalls_a_second


def forget_keys(root: Elasticsearch) -> None:
    """Clear Elasticsearch's caches of keys, roles and query results."""
    root.security.clear_api_key_cache(ids="*")
    root.security.clear_cached_roles(name="*")
    root.indices.clear_cache(index=index_pattern())


KEYS = 200
WARM_UP = 20
CROWD = 8  # members who ask at once
COLD_SEARCHES = 200  # at least, per form
CHANGED = 5_000  # documents sent through the outbox


@dataclass
class Measured:
    """The measurements; `documents` is the number of indexed documents."""

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
    """Run all measurements, in order."""
    members = make_members(max(options.members, KEYS))
    measured = Measured(options.members)
    measured.rates.append(minting(members))
    members = members[: options.members]
    Population(options.seed).fill(members, options.each, progress)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # PostgreSQL's autovacuum would do so after a while
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
    """Keys minted per second; the floor is the bare requests for temporary keys."""
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
        pass  # the remaining members' keys
    return Rate("keys minted", made, made / seconds, floor)


def rebuilding(progress: Progress) -> tuple[int, Rate]:
    """Documents indexed per second by a rebuild; the floor is bare bulk requests with some of the documents."""
    everybody = owners()
    begin = perf_counter()
    count = rebuild_all(progress.track(everybody, description="indexing"))
    seconds = perf_counter() - begin
    return count, Rate("documents indexed by a rebuild", count, count / seconds, bulk_alone(min(CHANGED, count // 2)))


@raw_writes("benchmark")
def carrying(count: int) -> Rate:
    """Changed documents per second through the outbox, until searches find them; the floor is bare bulk requests."""
    rows = list(Episode.objects.unscoped("benchmark").order_by("id")[:count])
    for row in rows:
        row.version += 1
    with raw_writes("benchmark"):
        Episode.objects.bulk_update(rows, ["version"], batch_size=1_000)
    with transaction.atomic():
        enqueue(rows)
    begin = perf_counter()
    delivered = drain().delivered
    seconds = perf_counter() - begin
    return Rate("documents carried by the outbox", delivered, delivered / seconds, bulk_alone(count))


def bulk_alone(count: int) -> float:
    """Documents per second by prepared bulk requests into a new index."""
    manager, indexer = service_client(Identity.MANAGER), service_client(Identity.INDEXER)
    index = indices.new_index(manager, Kind.EPISODIC)
    rows = Episode.objects.unscoped("benchmark").order_by("id")[:count]
    prepared = list(actions(changes(documents(rows)).arrivals, {Kind.EPISODIC: [index]}))
    begin = perf_counter()
    send(indexer, prepared)
    seconds = perf_counter() - begin
    indices.drop(manager, [index])
    return len(prepared) / seconds


def report(measured: Measured, options: Namespace, parts: Servers) -> None:
    """Print tables or JSON."""
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
