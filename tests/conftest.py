"""Fixtures that every folder shares: members of tenants, principals, an index of one's own, real servers.

Invariant: each test has its own rows and an empty index; nothing outlives a test, and no server the run.
"""

from __future__ import annotations

import gc
import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError
from django.db import OperationalError, connection
from django.test import TransactionTestCase, override_settings
from pytest_django import DjangoDbBlocker, Settings

import memories.embedding
import memories.search
from memories.embedding.encoders import MiniLM
from memories.errors import SearchUnavailable
from memories.search import search_plane
from memories.search.base import Health
from tenants.models import Membership, Tenant
from tenants.principal import Principal
from tests import cluster as clusters
from tests.audit import audit_unguarded
from tests.celery_broker import Broker
from tests.cluster import Cluster
from tests.elasticsearch_node.node import Address, CannotBuild, DidNotStart
from tests.factories import MakeMember, make_membership, make_tenant, own_principal
from tests.migrated import Migrated
from tests.parts import ON_ELASTICSEARCH, missing_part
from tests.real_parts import Missing, PostgreSQL, Redis
from tests.stored import Lived, Stored
from tests.unguarded import pass_tests

# A contract that fails says what it compared, as a test does.
pytest.register_assert_rewrite("tests.memories", "tests.proof", "tests.proofs")

FLUSHES = 5
# What a test with one of these parts takes about, and what a few files take by themselves.
SECONDS = {"elasticsearch": 0.5, "cluster": 0.5, "chromium": 1.5, "postgresql": 1.0, "redis": 1.0}
LONG = {"test_backup.py": 30.0}
# The first files need no server, for there is none yet: Elasticsearch starts meanwhile.
FIRST = ("test_lifecycle_turns.py", "test_chains.py", "test_chain_columns.py", "test_faults.py")


@pytest.fixture
def relived(request: pytest.FixtureRequest, db: None) -> Lived[Any] | None:
    """Ada as she was when her `life` was made, in a test of a folder that stores one (`lived`) and that asks for it."""
    stored: Stored[Lived[Any]] | None = None
    if {"life", "lived"} <= set(request.fixturenames):
        stored = request.getfixturevalue("lived")
    return stored.again() if stored else None


@pytest.fixture
def tenant(relived: Lived[Any] | None) -> Tenant:
    """An organisation."""
    return relived.membership.tenant if relived else make_tenant()


@pytest.fixture
def make_member(db: None) -> MakeMember:
    """`make_member(tenant=None, role="member", name="")` makes a membership of a new user."""
    return make_membership


@pytest.fixture
def membership(tenant: Tenant, relived: Lived[Any] | None) -> Membership:
    """Ada, a member of `tenant`."""
    return relived.membership if relived else make_membership(tenant, name="Ada")


@pytest.fixture
def principal(membership: Membership) -> Principal:
    """Ada in person."""
    return own_principal(membership)


@pytest.fixture
def other_member(tenant: Tenant) -> Principal:
    """Bob, another member of the same tenant."""
    return own_principal(make_membership(tenant, name="Bob"))


@pytest.fixture
def other_tenant_member(db: None) -> Principal:
    """Eve, a member of another tenant."""
    return own_principal(make_membership(name="Eve"))


@pytest.fixture
def admin_principal(tenant: Tenant) -> Principal:
    """Alice, an administrator of `tenant`."""
    return own_principal(make_membership(tenant, role="admin", name="Alice"))


class _Remembering(MiniLM):
    """The real encoder; what many tests say, it reads once for each worker."""

    def __init__(self, threads: int = 1) -> None:
        super().__init__(threads)
        self._vector = lru_cache(10_000)(super()._vector)  # type: ignore[method-assign]  # of a text alone, says MiniLM


@pytest.fixture(scope="session", autouse=True)
def _read_a_text_once() -> Iterator[None]:
    """The tests of the encoder itself make one of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memories.embedding, "MiniLM", _Remembering)
        yield


@pytest.fixture(scope="session", autouse=True)
def _tests_pass_the_guards() -> Iterator[None]:
    """What a test itself reads and writes needs no scope; what it calls does."""
    with pytest.MonkeyPatch.context() as patch:
        pass_tests(patch)
        yield


@pytest.fixture(autouse=True)
def index_dir(tmp_path: Path, settings: Settings) -> Path:
    """The folder of the embedded search plane, of this test alone."""
    folder = tmp_path / "index"
    settings.MEMORYHUB_INDEX_DIR = folder
    return folder


@pytest.fixture(scope="session")
def _migrated(
    request: pytest.FixtureRequest, django_db_modify_db_settings: None, tmp_path_factory: pytest.TempPathFactory
) -> Migrated | None:
    """What the workers of a run share of their databases; None where there is nothing to share."""
    alone = not hasattr(request.config, "workerinput")
    return None if alone or connection.vendor != "sqlite" else Migrated(tmp_path_factory.getbasetemp().parent)


@pytest.fixture(scope="session")
def django_db_keepdb(_migrated: Migrated | None) -> bool:
    """Whether there is a migrated database already."""
    return _migrated is not None and _migrated.copied


@pytest.fixture(scope="session")
def django_db_setup(
    _migrated: Migrated | None, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """The database of this run; a session of a process that a test killed may outlive it for a moment, and is ended."""
    if _migrated is not None and not _migrated.copied:
        with django_db_blocker.unblock():
            _migrated.publish()
    yield
    if connection.vendor == "postgresql":
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid != pg_backend_pid()"
            )


@pytest.fixture(scope="session", autouse=True)
def _flush_past_the_audit_triggers(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A transactional test ends by emptying all tables, which the audit log refuses; its triggers step aside."""
    flush = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]  # the stubs leave hooks out

    def unguarded_flush(case: TransactionTestCase) -> None:
        # A page that was closed may have left a request that still writes. Where the two wait for each other PostgreSQL
        # ends one of them, which may be this one; the request has ended then, or soon will have.
        for last in [False] * (FLUSHES - 1) + [True]:
            try:
                with django_db_blocker.unblock(), audit_unguarded():
                    flush(case)
                break
            except (CommandError, OperationalError):
                if last:
                    raise

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", unguarded_flush)
        yield


def pytest_configure(config: pytest.Config) -> None:
    """Tell the workers the process that they are of; what is collected stays, so looking for garbage can wait."""
    gc.disable()
    if not hasattr(config, "workerinput"):
        os.environ[clusters.RUN] = str(os.getpid())


# Fixtures that start a server.
SERVERS = frozenset({"cluster_address", "redis", "postgresql"})


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave the tests that need a server to `make test-real`, as those that take long by their nature."""
    if SERVERS & set(getattr(item, "fixturenames", ())):
        item.add_marker("long")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that wait longest, so that at the end no worker is alone with one; else any order."""
    weights: dict[Path, float] = defaultdict(float)
    for item in items:
        if item.get_closest_marker("english") and not settings.MEMORYHUB_RULES:
            item.add_marker(pytest.mark.skip(reason="MEMORYHUB_RULES names no rule set"))
        asked = set(getattr(item, "fixturenames", ()))
        weights[item.path] += max((SECONDS[part] for part in SECONDS.keys() & asked), default=0.0)
    order = {
        path: (path.name not in FIRST, -weight - LONG.get(path.name, 0.0), place)
        for place, (path, weight) in enumerate(weights.items())
    }
    items.sort(key=lambda item: order[item.path])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave what was imported and collected, which stays to the end, out of every later collection of garbage."""
    asked = any("cluster" in getattr(item, "fixturenames", ()) for item in session.items)
    if asked and clusters.given_address() is None and not session.config.option.collectonly:
        threading.Thread(target=_start_node, name="elasticsearch-node", daemon=True).start()
    gc.collect()
    gc.freeze()
    gc.enable()


def _start_node() -> None:
    """Start the node of this run while tests run that do not need it."""
    with suppress(CannotBuild, DidNotStart):  # the first test that does need it says so
        clusters.start_node_of_run()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the node of this run, if any test asked for it."""
    if not hasattr(config, "workerinput"):
        clusters.node_of_run().wipe()


@pytest.fixture(scope="session")
def cluster_address() -> Address:
    """A real Elasticsearch: the one that the environment names, or a node that all workers of this run share."""
    if (given := clusters.given_address()) is not None:
        return given
    try:
        return clusters.start_node_of_run()
    except (CannotBuild, DidNotStart) as error:
        missing_part(str(error))


@pytest.fixture(scope="session")
def cluster(cluster_address: Address) -> Iterator[Cluster]:
    """Identities, templates and indices of this worker's own; not yet what memoryhub is told to search."""
    made = Cluster.at(cluster_address)
    clusters.set_up(made)
    yield made
    if clusters.given_address() is not None:
        clusters.tear_down(made)


@pytest.fixture
def elasticsearch(cluster: Cluster, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """Inside, memoryhub searches Elasticsearch, whose indices are empty; see tests/cluster.py."""
    for name, value in cluster.settings.items():
        setattr(settings, name, value)
    for name, value in cluster.environ.items():
        monkeypatch.setenv(name, value)
    clusters.be_patient(monkeypatch)
    before = clusters.written()
    monkeypatch.setattr(memories.search, "_plane", None)  # with what it learnt of a cluster that another test broke
    yield cluster
    with override_settings(**cluster.settings):
        clusters.leave_empty(before)


@pytest.fixture(scope="session", autouse=True)
def _search_plane_of_the_run(request: pytest.FixtureRequest) -> Iterator[None]:
    """What is made for many tests is made on the search plane that they are on."""
    if ON_ELASTICSEARCH:
        with override_settings(**request.getfixturevalue("cluster").settings), pytest.MonkeyPatch.context() as patch:
            clusters.be_patient(patch)
            yield
    else:
        yield


@pytest.fixture(autouse=True)
def _search_plane(request: pytest.FixtureRequest) -> None:
    """All tests search Elasticsearch in a run that is on it."""
    if ON_ELASTICSEARCH:
        request.getfixturevalue("elasticsearch")


@pytest.fixture
def plane_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search plane answers nobody, and says so."""
    plane = search_plane()

    def refuse(*_: object) -> None:
        raise SearchUnavailable("down")

    monkeypatch.setattr(type(plane), "candidates", refuse)
    monkeypatch.setattr(type(plane), "health", lambda _self: Health(plane.name, ok=False, detail="down"))


@pytest.fixture
def redis() -> Iterator[Redis]:
    """A Redis of this test alone, which it may stop and start."""
    try:
        with Redis() as server:
            yield server
    except Missing as error:
        missing_part(str(error))


@pytest.fixture
def broker(redis: Redis, settings: Settings) -> Iterator[Broker]:
    """Celery's broker, empty; this process sends to it."""
    settings.MEMORYHUB_BROKER_URL = redis.url
    broker = Broker(redis)
    with broker.in_use():
        yield broker


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """A PostgreSQL cluster of this worker's own, besides whatever database the run is on."""
    try:
        with PostgreSQL() as server:
            yield server
    except Missing as error:
        missing_part(str(error))
