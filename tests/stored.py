"""Rows that many tests start from, made once for each worker and put back as they were: making them takes longer.

SQLite only, where a row may be written with its number. Invariant: what is put back is all that making them stored,
so a test cannot tell; it must begin before anything of that is there.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

from tenants.models import Membership
from tenants.principal import Principal
from tests.factories import make_membership, own_principal
from tests.parts import ON_ELASTICSEARCH

Made = TypeVar("Made")


@dataclass(frozen=True)
class Stored(Generic[Made]):
    """What `make` returned, and the rows that it stored."""

    made: Made
    _rows: dict[str, list[tuple[Any, ...]]]

    @classmethod
    def by(cls, make: Callable[[], Made]) -> Stored[Made]:
        """Make it in an empty database and undo that."""
        with transaction.atomic():
            there = {table for table in connection.introspection.table_names() if _all(table)}
            made = make()
            rows = {table: _all(table) for table in connection.introspection.table_names() if table not in there}
            transaction.set_rollback(True)
        return cls(made, {table: found for table, found in rows.items() if found})

    def again(self) -> Made:
        """Store the rows; returns what was made, of this test alone."""
        with transaction.atomic(), connection.cursor() as cursor:
            for table, rows in self._rows.items():
                places = ", ".join(["%s"] * len(rows[0]))
                cursor.executemany(f"INSERT INTO {connection.ops.quote_name(table)} VALUES ({places})", rows)  # noqa: S608 - names of tables
        return deepcopy(self.made)


def _all(table: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608 - a name of a table
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


@dataclass(frozen=True)
class Lived(Generic[Made]):
    """A member whose memory holds something."""

    membership: Membership
    life: Made


def stored_life(live: Callable[[Principal], Made], blocker: DjangoDbBlocker) -> Stored[Lived[Made]] | None:
    """Ada, who lived; None where rows are not put back, so each test lets her live anew."""
    if connection.vendor != "sqlite" or ON_ELASTICSEARCH:
        return None

    def ada() -> Lived[Made]:
        membership = make_membership(name="Ada")
        return Lived(membership, live(own_principal(membership)))

    with blocker.unblock():
        return Stored.by(ada)
