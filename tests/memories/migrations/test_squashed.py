"""A new database, made at one go, has the tables of an old one that went through every migration."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from pytest_django import DjangoDbBlocker

LAST = [("tenants", "0004_chain_checks"), ("memories", "0009_inspector")]

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="the two ways are compared on SQLite"),
]


@contextmanager
def _empty(file: Path) -> Iterator[BaseDatabaseWrapper]:
    connections.databases["aside"] = {**connections.databases["default"], "NAME": str(file)}
    try:
        yield connections["aside"]
    finally:
        connections["aside"].close()
        del connections["aside"], connections.databases["aside"]


def _made(*, at_once: bool, file: Path) -> dict[str, list[str]]:
    """What each table, index and trigger was made of, in whichever order it came."""
    with _empty(file) as database:
        executor = MigrationExecutor(database)
        executor.loader.replace_migrations = at_once
        executor.loader.build_graph()
        last = [node for node in executor.loader.graph.leaf_nodes() if node[0] in ("tenants", "memories")]
        executor.migrate(last if at_once else LAST)
        with database.cursor() as cursor:
            cursor.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
            return {name: sorted(_parts(sql)) for name, sql in cursor.fetchall()}


def _parts(sql: str) -> Iterator[str]:
    """The columns and constraints of a table: what stands between the commas that stand in no inner bracket."""
    depth, part = 0, ""
    for sign in sql:
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign in ",()" and depth <= 1:
            yield part.strip()
            part = ""
        else:
            part += sign
    yield part.strip()


def test_a_new_database_has_the_tables_of_an_old_one(tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> None:
    with django_db_blocker.unblock():
        old = _made(at_once=False, file=tmp_path / "old.sqlite3")
        new = _made(at_once=True, file=tmp_path / "new.sqlite3")
    assert "memories_fact" in old
    assert "audit_event_is_not_updated" in old
    assert new == old
