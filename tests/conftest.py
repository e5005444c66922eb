"""Fixtures of all tests: tenants, members, principals, an index per test, real servers.

Each test has its own rows and an empty index. Data ends with its test, servers with the run.
"""

from __future__ import annotations

import gc
import os
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.core.management import CommandError
from django.db import OperationalError, connection
from django.test import TransactionTestCase, override_settings
from django.utils import timezone
from pytest_django import DjangoDbBlocker, Settings

import memories.embedding
import memories.search
from memories.embedding.encoders import MiniLM
from memories.errors import SearchUnavailable
from memories.search import search_plane
from memories.search.base import Health
from memories.services import admission
from memoryhub import limit_store, limits
from memoryhub.limits import FairShare
from tenants.models import Membership, Tenant
from tenants.principal import Principal
from tests import cluster as clusters
from tests.audit import audit_unguarded
from tests.celery_broker import Broker
from tests.cluster import Cluster
from tests.counts import pytest_addoption  # noqa: F401 - pytest calls it
from tests.elasticsearch_node.node import Address, CannotBuild, DidNotStart
from tests.factories import MakeMember, make_membership, make_tenant, own_principal
from tests.migrated import Migrated
from tests.parts import ON_ELASTICSEARCH, missing_part
from tests.real_parts import Missing, PostgreSQL, Redis
from tests.serving_role import make_roles, serving
from tests.stored import Lived, Stored
from tests.unguarded import pass_tests

# Contracts and helpers get pytest's messages for failed assertions, too.
pytest.register_assert_rewrite("tests.memories", "tests.proof", "tests.proofs")

FLUSHES = 5
LAST = 4e9  # seconds; later than any time of a test
# Estimated seconds of a test that uses one of these fixtures, and of some slow files.
SECONDS = {"elasticsearch": 0.5, "cluster": 0.5, "chromium": 1.5, "postgresql": 1.0, "redis": 1.0}
LONG = {
    "test_backup.py": 30.0,
    "test_isolation_proof_on_elasticsearch.py": 3000.0,
    "test_isolation_proof.py": 2200.0,
    "test_machine_faults.py": 1700.0,
    "test_tampering.py": 800.0,
    "test_collection_kills.py": 600.0,
    "test_consolidation_faults.py": 500.0,
}
# These files run first: they need no server, and Elasticsearch starts meanwhile.
FIRST = ("test_lifecycle_turns.py", "test_chains.py", "test_chain_columns.py", "test_faults.py")


@pytest.fixture
def relived(request: pytest.FixtureRequest, db: None) -> Lived[Any] | None:
    """A stored Ada with her `life`, if the test's module stores one (`lived`) and the test uses it; else None."""
    stored: Stored[Lived[Any]] | None = None
    if {"life", "lived"} <= set(request.fixturenames):
        stored = request.getfixturevalue("lived")
    return stored.again() if stored else None


@pytest.fixture
def tenant(relived: Lived[Any] | None) -> Tenant:
    """A tenant."""
    return relived.membership.tenant if relived else make_tenant()


@pytest.fixture
def make_member(db: None) -> MakeMember:
    """`make_member(tenant=None, role="member", name="")` creates a membership of a new user."""
    return make_membership


@pytest.fixture
def membership(tenant: Tenant, relived: Lived[Any] | None) -> Membership:
    """Ada, a member of `tenant`."""
    return relived.membership if relived else make_membership(tenant, name="Ada")


@pytest.fixture
def principal(membership: Membership) -> Principal:
    """Ada acting in person."""
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
    """The real encoder with a cache of texts, since many tests encode the same ones."""

    def __init__(self, threads: int = 1) -> None:
        super().__init__(threads)
        self._vector = lru_cache(10_000)(super()._vector)  # type: ignore[method-assign]  # MiniLM's vector depends on the text only


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Moves the time ahead."""
    real, ahead = timezone.now, timedelta(0)

    def now() -> datetime:
        return real() + ahead

    def move(**by: float) -> None:
        nonlocal ahead
        ahead += timedelta(**by)

    with monkeypatch.context() as patch:
        patch.setattr(timezone, "now", now)
        yield move


@pytest.fixture(scope="session", autouse=True)
def _read_a_text_once() -> Iterator[None]:
    """Replace the encoder by the caching one; the encoder's own tests create theirs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memories.embedding, "MiniLM", _Remembering)
        yield


@pytest.fixture(scope="session", autouse=True)
def _tests_pass_the_guards() -> Iterator[None]:
    """Exempt code under `tests/` from the requirement of a scope; the product's code stays guarded."""
    with pytest.MonkeyPatch.context() as patch:
        pass_tests(patch)
        yield


@pytest.fixture(autouse=True)
def index_dir(tmp_path: Path, settings: Settings) -> Path:
    """The embedded search plane's folder, separate for each test."""
    folder = tmp_path / "index"
    settings.MEMORYHUB_INDEX_DIR = folder
    return folder


@pytest.fixture(autouse=True)
def _unused_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has used anything yet, and this process knows no policy."""
    monkeypatch.setattr(admission, "_limits_of", {})
    monkeypatch.setattr(limits, "_counted", Counter())
    monkeypatch.setattr(limits, "_away_until", 0.0)
    monkeypatch.setattr(limits, "fair_share", FairShare())
    monkeypatch.setattr(limits, "turn_share", FairShare(1000))
    monkeypatch.setattr(limit_store, "_PREFIX", f"test:{uuid4().hex}:")  # of the keys in Redis
    if not settings.MEMORYHUB_BROKER_URL and connection.vendor == "sqlite":
        limit_store.limit_store().forget(LAST, 0.0)


@pytest.fixture(scope="session")
def _migrated(
    request: pytest.FixtureRequest, django_db_modify_db_settings: None, tmp_path_factory: pytest.TempPathFactory
) -> Migrated | None:
    """The migrated database that a run's workers share; None without workers or on PostgreSQL."""
    alone = not hasattr(request.config, "workerinput")
    return None if alone or connection.vendor != "sqlite" else Migrated(tmp_path_factory.getbasetemp().parent)


@pytest.fixture(scope="session")
def django_db_keepdb(_migrated: Migrated | None) -> bool:
    """Keep the database if it was copied from a migrated one."""
    return _migrated is not None and _migrated.copied


@pytest.fixture(scope="session")
def _database_roles(django_db_modify_db_settings: None, django_db_blocker: DjangoDbBlocker) -> None:
    """The roles that the policies name, before the database is migrated."""
    if connection.vendor == "postgresql":
        with django_db_blocker.unblock():
            make_roles()


@pytest.fixture(scope="session")
def django_db_setup(
    _migrated: Migrated | None, _database_roles: None, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """Share the migrated database, and serve as the serving role of PostgreSQL.

    At the end, terminate PostgreSQL sessions that killed processes left behind.
    """
    if _migrated is not None and not _migrated.copied:
        with django_db_blocker.unblock():
            _migrated.publish()
    with serving():
        yield
    if connection.vendor == "postgresql":
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid != pg_backend_pid()"
            )


@pytest.fixture(scope="session", autouse=True)
def _flush_past_the_audit_triggers(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Drop the audit triggers while a transactional test empties all tables at its end."""
    flush = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]  # the stubs leave hooks out

    def unguarded_flush(case: TransactionTestCase) -> None:
        # A closed page may have left a request that still writes. If it deadlocks with the flush, PostgreSQL aborts one
        # of the two, perhaps this one; then try again.
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
    """Pass the run's process id to the workers, and disable garbage collection until the tests are collected."""
    gc.disable()
    if not hasattr(config, "workerinput"):
        os.environ[clusters.RUN] = str(os.getpid())


# Fixtures that start a server.
SERVERS = frozenset({"cluster_address", "redis", "postgresql"})
DATABASE = frozenset({"db", "transactional_db", "django_db_setup"})


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark tests that need a server, which are long, and those that use the database: `make test-real` runs both."""
    used = set(getattr(item, "fixturenames", ()))
    if SERVERS & used:
        item.add_marker("long")
        item.add_marker("server")
    if DATABASE & used or item.get_closest_marker("django_db"):
        item.add_marker("database")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort files so that the longest start early and no worker is left with one at the end."""
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
    """Start the node if a test needs it, and exclude the objects of imports from later garbage collections."""
    asked = any("cluster" in getattr(item, "fixturenames", ()) for item in session.items)
    if asked and clusters.given_address() is None and not session.config.option.collectonly:
        threading.Thread(target=_start_node, name="elasticsearch-node", daemon=True).start()
    gc.collect()
    gc.freeze()
    gc.enable()


def _start_node() -> None:
    """Start the run's node while other tests run."""
    with suppress(CannotBuild, DidNotStart):  # the first test that needs the node reports it
        clusters.start_node_of_run()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the run's node, if a test started it."""
    if not hasattr(config, "workerinput"):
        clusters.node_of_run().wipe()


@pytest.fixture(scope="session")
def cluster_address() -> Address:
    """A real Elasticsearch: the one named in the environment, or a node shared by all workers of this run."""
    if (given := clusters.given_address()) is not None:
        return given
    try:
        return clusters.start_node_of_run()
    except (CannotBuild, DidNotStart) as error:
        missing_part(str(error))


@pytest.fixture(scope="session")
def cluster(cluster_address: Address) -> Iterator[Cluster]:
    """Identities, templates and indices of this worker; does not change memoryhub's settings."""
    made = Cluster.at(cluster_address)
    clusters.set_up(made)
    yield made
    if clusters.given_address() is not None:
        clusters.tear_down(made)


@pytest.fixture
def elasticsearch(cluster: Cluster, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """Make memoryhub search Elasticsearch, with empty indices (tests/cluster.py)."""
    for name, value in cluster.settings.items():
        setattr(settings, name, value)
    for name, value in cluster.environ.items():
        monkeypatch.setenv(name, value)
    clusters.be_patient(monkeypatch)
    before = clusters.written()
    monkeypatch.setattr(memories.search, "_plane", None)  # drop a cached plane that another test may have broken
    yield cluster
    with override_settings(**cluster.settings):
        clusters.leave_empty(before)


@pytest.fixture(scope="session", autouse=True)
def _search_plane_of_the_run(request: pytest.FixtureRequest) -> Iterator[None]:
    """On a run with Elasticsearch, session fixtures use it, too."""
    if ON_ELASTICSEARCH:
        with override_settings(**request.getfixturevalue("cluster").settings), pytest.MonkeyPatch.context() as patch:
            clusters.be_patient(patch)
            yield
    else:
        yield


@pytest.fixture(autouse=True)
def _search_plane(request: pytest.FixtureRequest) -> None:
    """On a run with Elasticsearch, every test uses it."""
    if ON_ELASTICSEARCH:
        request.getfixturevalue("elasticsearch")


@pytest.fixture
def plane_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search plane raises SearchUnavailable and reports that it is down."""
    plane = search_plane()

    def refuse(*_: object) -> None:
        raise SearchUnavailable("down")

    monkeypatch.setattr(type(plane), "candidates", refuse)
    monkeypatch.setattr(type(plane), "health", lambda _self: Health(plane.name, ok=False, detail="down"))


@pytest.fixture
def redis() -> Iterator[Redis]:
    """A Redis for this test only, which may stop and start it."""
    try:
        with Redis() as server:
            yield server
    except Missing as error:
        missing_part(str(error))


@pytest.fixture
def broker(redis: Redis, settings: Settings) -> Iterator[Broker]:
    """Celery's broker, initially empty; this process sends to it."""
    settings.MEMORYHUB_BROKER_URL = redis.url
    broker = Broker(redis)
    with broker.in_use():
        yield broker


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """A PostgreSQL server of this worker, independent of the run's database."""
    try:
        with PostgreSQL() as server:
            yield server
    except Missing as error:
        missing_part(str(error))
