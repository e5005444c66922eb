"""Removes and restores the database's guards of the audit log, for tests that tamper with rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from django.db import connection

from memories.models.guard import raw_writes
from tests.serving_role import as_owner

_MIGRATION = import_module("tenants.migrations.0001_initial")


def drop_triggers() -> None:
    """Drop the triggers, so that the database accepts changes to the audit log."""
    _run(_MIGRATION.DROP[connection.vendor])


def install_triggers() -> None:
    """Create the triggers again."""
    _run(_MIGRATION.CREATE[connection.vendor])


@contextmanager
def audit_unguarded() -> Iterator[None]:
    """Drop the triggers and allow raw writes to memory rows during the block."""
    with as_owner():
        drop_triggers()
        try:
            with raw_writes("a test tampers"):
                yield
        finally:
            install_triggers()


def _run(statements: list[str]) -> None:
    with as_owner(), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
