"""Runs an owner's unmodified tests against ours: `python -m tests.integrations.owners SUITE FOLDER`.

A class of ours stands where the tests import their owner's, and what they only prepare a database with does nothing. A
test counts once, not for each kind of connection and of vector (`cosine`). It runs in the environment that `make
integrations` makes, with clients/python on PYTHONPATH. SUITE is `langgraph-checkpoint`, `langgraph-sqlite` or
`langgraph-postgres`; FOLDER is libs/checkpoint*/tests of langchain-ai/langgraph.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock
from uuid import uuid4

import langgraph.store.memory
import pytest
from langgraph.store.base import IndexConfig, TTLConfig

import tests
from memoryhub_client import AsyncClient, Client
from memoryhub_client.langgraph import MemoryhubStore
from tests.integrations.conftest import KEY_NAME, SCOPES, Product

# Tests of functions, statements and connections of SQLite and PostgreSQL; those that set the time of a row by SQL; and
# those of 6,000 to 60,000 operations.
LEFT_OUT = (
    "test_escape_", "test_namespace_match_pattern", "test_nonnull_migrations", "test_abatch_uses_single_pool_checkout",
    "test_list_namespaces_prefix_uses_indexable_condition", "test_omit_expired_", "test_large_batches",
)  # fmt: skip
# Parameters that name a kind of connection or of vector.
KINDS = frozenset({"store", "vector_store", "conn_string", "conn_type", "vector_type", "distance_type"})
INI = Path(__file__).with_name("pytest.ini")


class OwnersStore(MemoryhubStore):
    """A store of a member of whom nothing is known yet, made as the owners make theirs."""

    backend: Client
    address: tuple[str, str]
    MIGRATIONS: tuple[str, ...] = ()

    def __init__(
        self,
        *,
        index: Mapping[str, Any] | None = None,
        ttl: TTLConfig | None = None,
        user: str = "",
        async_client: AsyncClient | None = None,
    ) -> None:
        fields = (index or {}).get("text_fields") or (index or {}).get("fields")
        given = None if index is None else IndexConfig(**{**index, "fields": fields})
        super().__init__(self.backend.for_user(user or uuid4().hex), async_client, index=given, ttl=ttl)
        self.embeddings = (index or {}).get("embed")

    @classmethod
    @contextmanager
    def from_conn_string(cls, _: str, *, index: Any = None, ttl: Any = None, **__: object) -> Iterator[OwnersStore]:
        """A store, whatever the database would have been."""
        yield cls(index=index, ttl=ttl)

    def __getattr__(self, name: str) -> Any:
        """`setup`, `_cursor` and the sweeper, which do nothing."""
        if name in ("setup", "_cursor", "start_ttl_sweeper", "stop_ttl_sweeper"):
            return mock.MagicMock()
        raise AttributeError(name)


class AsyncOwnersStore(OwnersStore):
    """The same with the asynchronous client."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, _: str, *, index: Any = None, ttl: Any = None, **__: object) -> Any:  # type: ignore[override]
        """A store, whatever the database would have been."""
        (url, key), user = cls.address, uuid4().hex
        async with AsyncClient(url, token=key, user_id=user) as client:
            yield cls(index=index, ttl=ttl, user=user, async_client=client)

    def __getattr__(self, name: str) -> Any:
        """As above, awaited."""
        done = super().__getattr__(name)
        return done if name == "_cursor" else mock.AsyncMock()


def checkpoint() -> Mapping[str, Any]:
    """What the tests of libs/checkpoint import: a store in memory, and the plugin `pytest-mock`."""
    langgraph.store.memory.InMemoryStore = OwnersStore
    return {"pytest_mock": mock.MagicMock()}


def sqlite() -> Mapping[str, Any]:
    """What the tests of libs/checkpoint-sqlite import."""
    module = _module(SqliteStore=OwnersStore, AsyncSqliteStore=AsyncOwnersStore)
    return {"langgraph.store.sqlite": module, "langgraph.store.sqlite.base": mock.MagicMock()}


def postgres() -> Mapping[str, Any]:
    """What the tests of libs/checkpoint-postgres import."""
    connection = mock.AsyncMock()
    connection.__aenter__.return_value = connection
    connecting = mock.MagicMock(connect=mock.AsyncMock(return_value=connection))
    return {
        "langgraph.store.postgres": _module(PostgresStore=OwnersStore, AsyncPostgresStore=AsyncOwnersStore),
        "langgraph.store.postgres.base": mock.MagicMock(),
        "langgraph.checkpoint.postgres": mock.MagicMock(),
        "psycopg": _module(Connection=mock.MagicMock(), AsyncConnection=connecting),
        "psycopg.errors": mock.MagicMock(),
        "psycopg.rows": mock.MagicMock(),
    }


SUITES: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    "langgraph-checkpoint": checkpoint,
    "langgraph-sqlite": sqlite,
    "langgraph-postgres": postgres,
}


class Counts:
    """A plugin of pytest that leaves out what does not apply, and counts what passes."""

    def __init__(self) -> None:
        self.passed: list[str] = []
        self.failed: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep one of each test."""
        kept: dict[object, pytest.Item] = {}
        for item in items:
            name = getattr(item, "originalname", item.name)
            if name.startswith(LEFT_OUT):
                continue
            callspec = getattr(item, "callspec", None)
            others = [(each, value) for each, value in callspec.params.items() if each not in KINDS] if callspec else []
            what = (item.path, item.nodeid.partition("[")[0], repr(others))
            if what not in kept or ("cosine" in item.name and "cosine" not in kept[what].name):
                kept[what] = item
        items[:] = kept.values()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test that ran, or could not."""
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)
        elif report.passed and report.when == "call":
            self.passed.append(report.nodeid)

    @pytest.fixture
    def mocker(self) -> Iterator[Any]:
        """What the tests use of `pytest-mock`."""
        with mock.patch.object(OwnersStore, "batch", autospec=True, side_effect=OwnersStore.batch) as batch:
            yield mock.MagicMock(stub=mock.MagicMock, spy=lambda *_: batch)


def main(suite: str, folder: Path, options: list[str]) -> int:
    """Run a suite on a site of its own, and print the counts."""
    sys.modules.update(SUITES[suite]())
    tests.__path__.insert(0, str(folder))  # their modules import each other from there
    counts = Counts()
    with tempfile.TemporaryDirectory() as data, Product(Path(data)) as site:
        site.start()
        tenant = site.manage("tenant", "create", "owners").strip()
        key = site.manage("token", "create", "--tenant", tenant, "--name", KEY_NAME, "--scopes", *SCOPES).strip()
        url = f"http://127.0.0.1:{site.port}"
        OwnersStore.address = (url, key)
        with Client(url, token=key) as OwnersStore.backend:
            where = ["-c", str(INI), f"--rootdir={folder}", f"--confcutdir={folder}", "-p", "no:cacheprovider"]
            files = [str(folder / name) for name in ("test_store.py", "test_async_store.py")]
            given = [file for file in files if Path(file).exists()]
            status = pytest.main([*where, "-q", "--tb=short", *options, *given], plugins=[counts])
    total = len({*counts.passed, *counts.failed})
    sys.stdout.write(f"{suite}: {total - len(counts.failed)} of {total} passed\n")
    return int(status)


def _module(**members: object) -> ModuleType:
    module = ModuleType("stand_in")
    vars(module).update(members)
    return module


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("folder", type=lambda path: Path(path).resolve())
    asked, more = parser.parse_known_args()
    sys.exit(main(asked.suite, asked.folder, more))
