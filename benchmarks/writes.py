"""`python -m benchmarks.writes`: durable writes by API, as programs send them.

Many clients, each a member's program, send messages of one each at the same time; then one client sends batches of
memories; then the clients make `--members` with a backend key. Prints the rate and the times of each, and the time of a
core that the server took for a write: where rate times core come to a whole core, the one web process is the bound. For
SQLite also the rate of the floor: one insert and one durable commit, one after the other. With --servers the site is on
PostgreSQL and Elasticsearch. Nothing is learned meanwhile, and the search index is not served. The first call that
fails ends it all.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from benchmarks import use_sqlite
from benchmarks.measures import Times, WriteFloor, times_of
from benchmarks.neighbours import server
from benchmarks.texts import Writer

_QUIET = {"MEMORYHUB_JOBS": "off", "MEMORYHUB_BROKER_URL": "", "MEMORYHUB_MODEL": "", "MEMORYHUB_LIMITS": "off"}


@dataclass(frozen=True, slots=True)
class Throughput:
    """What was written in a second, the milliseconds of a call, and those of a core of the server for each write."""

    what: str
    per_second: float
    times: Times
    core: float


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.writes", description=__doc__)
    parser.add_argument("--clients", type=int, default=32, help="at the same time (default: %(default)s)")
    parser.add_argument("--messages", type=int, default=50, help="of each client (default: %(default)s)")
    parser.add_argument("--batches", type=int, default=10, help="one after the other (default: %(default)s)")
    parser.add_argument("--entries", type=int, default=1_000, help="of each batch (default: %(default)s)")
    parser.add_argument("--members", type=int, default=200, help="made with a backend key (default: %(default)s)")
    parser.add_argument("--servers", action="store_true", help="on PostgreSQL and Elasticsearch")
    parser.add_argument("--port", type=int, default=8766)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-") as folder:
        with _site(folder, on_servers=options.servers):
            key, tokens = _tokens(options.clients)
            with server(options.port) as url:
                found = [
                    _messages(url, tokens, options.messages),
                    _batches(url, tokens[0], options),
                    _members(url, key, options),
                ]
        if not options.servers:
            found.append(_floor(Path(folder), options.clients * options.messages))
    if options.json:
        sys.stdout.write(json.dumps(list(map(asdict, found))) + "\n")
        return 0
    for each in found:
        spans = f"p50 {each.times.p50:8.1f} ms, p95 {each.times.p95:8.1f} ms, core {each.core:6.2f} ms"
        sys.stdout.write(f"{each.what:44s} {each.per_second:8.0f} a second, {spans}\n")
    return 0


@contextmanager
def _site(folder: str, *, on_servers: bool) -> Iterator[None]:
    """An empty, migrated site in the environment of this process and those that it starts."""
    if not on_servers:
        use_sqlite(folder, **_QUIET)
        _migrate()
        yield
        return
    from benchmarks.servers import HEAP, servers  # noqa: PLC0415 - only this site needs it

    with servers(folder, HEAP) as parts:
        os.environ.update(parts.environ | _QUIET)
        _migrate()
        from memoryhub.elasticsearch import Identity  # noqa: PLC0415 - after the environment is set
        from tests.cluster import Cluster, set_up, tear_down  # noqa: PLC0415 - likewise

        cluster = Cluster(parts.node, parts.prefix, {Identity[name]: word for name, word in parts.passwords.items()})
        set_up(cluster)
        try:
            yield
        finally:
            tear_down(cluster)


def _migrate() -> None:
    import django  # noqa: PLC0415 - after the environment is set

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415

    call_command("migrate", verbosity=0)


def _tokens(count: int) -> tuple[str, list[str]]:
    """A backend key of one tenant, and the tokens of so many members."""
    from tenants.services import add_member, create_tenant, create_user, issue_key, issue_token  # noqa: PLC0415

    tenant = create_tenant(name="Bench", slug="bench")
    names = [f"member-{number}" for number in range(count)]
    members = [add_member(tenant=tenant, user=create_user(username=name, display_name=name)) for name in names]
    return issue_key(tenant, name="bench")[1], [issue_token(member, name="bench")[1] for member in members]


def _messages(url: str, tokens: Sequence[str], each: int) -> Throughput:
    def send(number: int) -> list[float]:
        writer, taken = Writer(number), []
        with httpx.Client(headers={"Authorization": f"Bearer {tokens[number]}"}, timeout=120.0) as client:
            for _ in range(each):
                said = {"role": "user", "content": writer.episode()}
                body = {"session": "bench", "messages": [said], "learn": "off"}
                taken.append(_sent(client, f"{url}/messages/", body, httpx.codes.CREATED))
        return taken

    return _at_once(f"messages of one each, {len(tokens)} clients", send, len(tokens))


def _batches(url: str, token: str, options: argparse.Namespace) -> Throughput:
    writer, taken, core = Writer(7919), [], _core_seconds()
    with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=600.0) as client:
        for _ in range(options.batches):
            memories = [{"text": writer.fact()} for _ in range(options.entries)]
            taken.append(_sent(client, f"{url}/memories/batch/", {"memories": memories}, httpx.codes.OK))
    count = options.batches * options.entries
    core = (_core_seconds() - core) * 1000 / count
    what = f"memories in batches of {options.entries:,}, 1 client"
    return Throughput(what, count / (sum(taken) / 1000), times_of(taken), core)


def _members(url: str, key: str, options: argparse.Namespace) -> Throughput:
    def make(first: int) -> list[float]:
        with httpx.Client(headers={"Authorization": f"Bearer {key}"}, timeout=120.0) as client:
            return [
                _sent(client, f"{url}/members/", {"user_id": f"user-{number}", "name": "Ann"}, httpx.codes.CREATED)
                for number in range(first, options.members, options.clients)
            ]

    return _at_once(f"members made, {options.clients} clients", make, options.clients)


def _at_once(what: str, write: Callable[[int], list[float]], clients: int) -> Throughput:
    """The writes of so many clients; each returns the milliseconds of its calls."""
    with ThreadPoolExecutor(clients) as pool:
        began, core = time.perf_counter(), _core_seconds()
        taken = [span for spans in pool.map(write, range(clients)) for span in spans]
        seconds, core = time.perf_counter() - began, _core_seconds() - core
    return Throughput(what, len(taken) / seconds, times_of(taken), core * 1000 / len(taken))


def _core_seconds() -> float:
    """The processor time of the server's processes so far (Linux only)."""
    servers = [each for each in _children(os.getpid()) if b"serve" in Path(f"/proc/{each}/cmdline").read_bytes()]
    processes = [*servers, *(child for each in servers for child in _children(each))]
    stats = [Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in processes]
    return sum(int(stat[11]) + int(stat[12]) for stat in stats) / os.sysconf("SC_CLK_TCK")


def _children(process: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def _sent(client: httpx.Client, url: str, body: object, status: int) -> float:
    """The milliseconds of a call."""
    began = time.perf_counter()
    answer = client.post(url, json=body)
    taken = (time.perf_counter() - began) * 1000
    if answer.status_code != status:
        raise RuntimeError(f"{url} answered {answer.status_code}: {answer.text[:300]}")
    return taken


def _floor(folder: Path, count: int) -> Throughput:
    floor, writer, taken, core = WriteFloor(folder), Writer(1), [], time.process_time()
    for _ in range(count):
        text = writer.episode()
        began = time.perf_counter()
        floor.insert(text)
        taken.append((time.perf_counter() - began) * 1000)
    core = (time.process_time() - core) * 1000 / count
    return Throughput("floor: an insert and a durable commit", 1000 * count / sum(taken), times_of(taken), core)


if __name__ == "__main__":
    sys.exit(main())
