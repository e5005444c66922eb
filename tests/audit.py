"""Removes and restores the database's guards of the audit log, for tests that tamper with rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from memories.models.guard import raw_writes
from tenants.audit import triggers
from tests.serving_role import as_owner


def drop_triggers() -> None:
    """Drop the triggers, so that the database accepts changes to the audit log."""
    with as_owner(), connection.cursor() as cursor:
        triggers.drop(connection.vendor, cursor.execute)


def install_triggers() -> None:
    """Create the triggers again."""
    with as_owner(), connection.cursor() as cursor:
        triggers.install(connection.vendor, cursor.execute)


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
