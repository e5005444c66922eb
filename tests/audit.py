"""The audit log and memory rows without their guards, for tests that tamper with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from memories.models.guard import raw_writes
from tenants.audit.triggers import drop_triggers, install_triggers


@contextmanager
def audit_unguarded() -> Iterator[None]:
    """Inside, the database accepts changes to the audit trail."""
    drop_triggers(connection)
    try:
        with raw_writes("a test tampers"):
            yield
    finally:
        install_triggers(connection)
