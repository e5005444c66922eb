"""A throwaway site on real parts: PostgreSQL, Elasticsearch, Redis, a Celery worker and beat, each its own process.

Invariant: the parts belong to this run alone, so any of them may be stopped, killed or wiped at any moment.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psycopg
from elasticsearch import ApiError, Elasticsearch, TransportError

from memories.constants import OUTBOX_LEASE
from memoryhub.db.row_security import SERVING_ROLE
from memoryhub.jobs import JobQueue
from tests.celery_process import CeleryProcess
from tests.elasticsearch_node.cluster import NODES, ClusterOfThree
from tests.elasticsearch_node.node import Address, CannotBuild, DidNotStart, Node
from tests.parts import missing_part
from tests.ports import free_port
from tests.proofs.site import Site
from tests.proofs.writers import Promise
from tests.real_parts import Missing, PostgreSQL, Redis
from tests.real_parts.postgresql import ROLE
from tests.serving_role import MAKE_ROLES

SERVICES = ("indexer", "minter", "manager", "checker")


class Cluster:
    """An Elasticsearch node that goes and comes back at the same address, with its data."""

    def __init__(self, folder: Path) -> None:
        self._node = Node(folder)
        self._port = free_port()
        self.address: Address

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.address = self._node.start(port=self._port, heap="512m", live_as_long_as=os.getpid())

    def stop(self) -> None:
        """It goes, and what it holds stays on disk."""
        self._node.stop()

    def remove(self, pattern: str) -> int:
        """Delete these indices, as an administrator who errs; return how many."""
        with self._root() as root:
            doomed = sorted(root.indices.get(index=pattern, expand_wildcards="all"))
            for index in doomed:
                root.indices.delete(index=index)
        return len(doomed)

    def _root(self) -> Elasticsearch:
        user, _, password = self.address.credential.partition(":")
        return Elasticsearch(self.address.url.split(","), basic_auth=(user, password), retry_on_timeout=True)


class Three(Cluster):
    """Three nodes that are one cluster; `address` names all of them."""

    def __init__(self, folder: Path) -> None:
        self.nodes = ClusterOfThree(folder)

    def start(self) -> None:
        """Start all nodes."""
        addresses = self.nodes.start(live_as_long_as=os.getpid())
        self.address = Address(",".join(address.url for address in addresses), addresses[0].credential)

    def stop(self) -> None:
        """End all nodes; their data stays on disk."""
        self.nodes.stop()

    def start_node(self, number: int) -> None:
        """Start an ended node and wait until it has joined."""
        self.nodes.start_node(number, os.getpid())

    def holder(self, index: str) -> int:
        """The number of the node that holds the primary shard of this index."""
        shards: Any = self._root().cat.shards(index=index, format="json")
        return next(int(str(shard["node"])[-1]) for shard in shards if shard["prirep"] == "p")

    def is_green(self) -> bool:
        """Whether all nodes are back and every shard has its replica."""
        try:
            health = self._root().cluster.health(timeout="1s")
        except (ApiError, TransportError):
            return False
        return bool(health["status"] == "green" and health["number_of_nodes"] == NODES)


@dataclass(frozen=True, slots=True)
class Parts:
    """What sites stand on."""

    postgresql: PostgreSQL
    redis: Redis
    cluster: Cluster


@contextmanager
def real_parts(kind: type[Cluster] = Cluster, postgresql: PostgreSQL | None = None) -> Iterator[Parts]:
    """Parts of one's own. A test whose parts are missing here is skipped, or fails where they are required."""
    try:
        with (
            postgresql or PostgreSQL() as database,
            Redis() as redis,
            tempfile.TemporaryDirectory(prefix="elasticsearch-") as folder,
        ):
            cluster = kind(Path(folder))
            try:
                cluster.start()
                yield Parts(database, redis, cluster)
            finally:
                cluster.stop()
    except (Missing, CannotBuild, DidNotStart) as error:
        missing_part(str(error))


class RealSite(Site):
    """A site of its own database and its own indices; see Site."""

    def __init__(self, folder: Path, parts: Parts) -> None:
        self.parts = parts
        self.prefix = f"site-{secrets.token_hex(4)}"
        self._name = self.prefix.replace("-", "_")
        self._database_url = parts.postgresql.url.removesuffix("/postgres") + f"/{self._name}"
        cluster = parts.cluster.address
        passwords = {name: f"{self.prefix}-{name}:{secrets.token_urlsafe(16)}" for name in SERVICES}
        environ = {
            "DATABASE_URL": self._database_url.replace(f"{ROLE}@", f"{SERVING_ROLE}@"),
            "MEMORYHUB_MIGRATION_DATABASE_URL": self._database_url,
            "MEMORYHUB_BROKER_URL": parts.redis.url,
            "MEMORYHUB_JOBS": "celery",
            "MEMORYHUB_SEARCH": "elasticsearch",
            "ELASTICSEARCH_URL": cluster.url,
            "ELASTICSEARCH_PREFIX": self.prefix,
            **{f"ELASTICSEARCH_{name.upper()}": credential for name, credential in passwords.items()},
        }
        super().__init__(folder, environ)
        self._setup = {"ELASTICSEARCH_SETUP": cluster.credential}
        self.worker = self._celery("worker", "worker", "--exclude-queues", JobQueue.UPKEEP, "--concurrency", "1")
        self.upkeep = self._celery("upkeep", "worker", "--queues", JobQueue.UPKEEP, "--concurrency", "1")
        self.beat = self._celery("beat", "beat")

    def __enter__(self) -> Self:
        with psycopg.connect(self.parts.postgresql.url, autocommit=True) as connection:
            connection.execute(MAKE_ROLES.encode())
            connection.execute(f"CREATE DATABASE {self._name}")
        super().__enter__()
        self.run("manage.py", "elasticsearch", "setup", environ=self._setup)
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        for process in self._processes():
            process.kill()

    def start(self) -> None:
        """Start the server, the workers and the beat."""
        super().start()
        for process in self._processes():
            process.start()

    def start_what_ended(self) -> None:
        """Start a worker or a beat that ended by itself, as a service manager does.

        A worker that has a task in hand when the broker goes may end: Celery means to acknowledge the task and fails.
        """
        for process in self._processes():
            if not process.running:
                process.start()

    def value(self, query: str, *values: str) -> Any:
        """The first column of the first row."""
        with psycopg.connect(self._database_url) as connection:
            row = connection.execute(query.encode(), values).fetchone()
        return None if row is None else row[0]

    def waiting(self) -> int:
        """How many changes the search plane does not have yet."""
        return int(self.value("SELECT count(*) FROM memories_outboxentry"))

    def leased(self, *, since: str) -> int:
        """How many of them a worker has taken since then and not delivered."""
        query = "SELECT count(*) FROM memories_outboxentry WHERE leased_until > %s::timestamptz + %s::interval"
        return int(self.value(query, since, f"{OUTBOX_LEASE.total_seconds()} seconds"))

    def keeps(self, promise: Promise) -> bool:
        """Whether the database is as it was acknowledged."""
        query = f"SELECT 1 FROM {promise.table} WHERE {promise.column} = %s"  # noqa: S608 - our own names
        return bool(self.value(query, promise.value)) is promise.there

    def words(self) -> str:
        """What waits, and the end of what its processes wrote."""
        waits = self.value(
            "SELECT array_agg((attempts, last_error, available_at > now(), leased_until > now(), created_at)::text"
            " ORDER BY created_at) FROM memories_outboxentry"
        )
        lines = [*map(str, (waits or [])[:5])]
        logs = [self.log(), *(process.words() for process in self._processes())]
        return "\n".join([*lines, *(words[-3000:] for words in logs)])

    def faults(self) -> str:
        """The requests that failed on our side, with their traces."""
        _, *failed = self.log().split("ERROR memories.api.problems ")
        return "\n".join(each[:3000] for each in failed[:3])

    def _processes(self) -> tuple[CeleryProcess, ...]:
        return self.worker, self.upkeep, self.beat

    def _celery(self, name: str, *arguments: str) -> CeleryProcess:
        return CeleryProcess(*arguments, environ=self.environ, log=self.folder / f"{name}.log")
