"""The audit log and memory rows without their guards, for tests that tamper with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from django.db import connection

from memories.models.guard import raw_writes

_MIGRATION = import_module("tenants.migrations.0001_initial")


def drop_triggers() -> None:
    """Let the database accept changes to the audit log."""
    _run(_MIGRATION.DROP[connection.vendor])


def install_triggers() -> None:
    """Have the database refuse them again."""
    _run(_MIGRATION.CREATE[connection.vendor])


@contextmanager
def audit_unguarded() -> Iterator[None]:
    """Inside, the database accepts changes to the audit log."""
    drop_triggers()
    try:
        with raw_writes("a test tampers"):
            yield
    finally:
        install_triggers()


def _run(statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
