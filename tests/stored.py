"""Stores rows that many tests start from: each worker creates them once and inserts copies, which is faster.

For SQLite only, which allows explicit primary keys. A copy includes all rows and index files that were created; it
needs tables without those rows.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar
from uuid import uuid4

import pytest
from django.conf import settings
from django.core.cache import caches
from django.db import connection, transaction
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from tenants.models import Membership
from tenants.principal import Principal
from tests.factories import make_membership, own_principal
from tests.parts import ON_ELASTICSEARCH

Made = TypeVar("Made")


@dataclass(frozen=True)
class Stored(Generic[Made]):
    """The result of `make`, its rows by table, and the folder with its index files."""

    made: Made
    _rows: dict[str, list[tuple[Any, ...]]]
    _index: Path

    @classmethod
    def by(cls, make: Callable[[], Made]) -> Stored[Made]:
        """Run `make` in an empty database with an empty index, read its rows, and roll back."""
        index = Path(settings.MEMORYHUB_DATA_DIR, "stored", uuid4().hex)
        with override_settings(MEMORYHUB_INDEX_DIR=index), transaction.atomic():
            there = {table for table in connection.introspection.table_names() if _all(table)}
            made = make()
            rows = {table: _all(table) for table in connection.introspection.table_names() if table not in there}
            transaction.set_rollback(True)
        return cls(made, {table: found for table, found in rows.items() if found}, index)

    def again(self) -> Made:
        """Insert the rows and copy the index files; returns a copy of the result."""
        caches["local"].clear()  # entries of another test about the same rows
        with transaction.atomic(), connection.cursor() as cursor:
            for table, rows in self._rows.items():
                places = ", ".join(["%s"] * len(rows[0]))
                cursor.executemany(f"INSERT INTO {connection.ops.quote_name(table)} VALUES ({places})", rows)  # noqa: S608 - table names
        if self._index.exists():
            shutil.copytree(self._index, settings.MEMORYHUB_INDEX_DIR, dirs_exist_ok=True)
        return deepcopy(self.made)


def _all(table: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608 - a table name
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


@dataclass(frozen=True)
class Lived(Generic[Made]):
    """A member and the memories that were created for them."""

    membership: Membership
    life: Made


def stored_life(live: Callable[[Principal], Made], blocker: DjangoDbBlocker) -> Stored[Lived[Made]] | None:
    """Ada with the result of `live`; None where rows cannot be stored, so that each test creates them."""
    if connection.vendor != "sqlite" or ON_ELASTICSEARCH:
        return None

    def ada() -> Lived[Made]:
        membership = make_membership(name="Ada")
        return Lived(membership, live(own_principal(membership)))

    with blocker.unblock():
        return Stored.by(ada)


def stored(make: Callable[[], Made], blocker: DjangoDbBlocker) -> Callable[[], Made]:
    """A function that inserts stored rows, or runs `make` where they cannot be stored."""
    if connection.vendor != "sqlite" or ON_ELASTICSEARCH:
        return make
    with blocker.unblock():
        return Stored.by(make).again


def lives(live: Callable[[Principal], Made]) -> tuple[Any, Any]:
    """The fixtures `lived` and `life` for a module whose tests start from an Ada with this life."""

    @pytest.fixture(scope="module")
    def lived(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Stored[Lived[Made]] | None:
        return stored_life(live, django_db_blocker)

    @pytest.fixture
    def life(principal: Principal, lived: Stored[Lived[Made]] | None, relived: Lived[Made] | None) -> Made:
        return relived.life if relived else live(principal)

    return lived, life
