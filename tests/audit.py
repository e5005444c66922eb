"""The audit trail without its guards, for tests that tamper with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from tenants.audit.triggers import drop_triggers, install_triggers


@contextmanager
def audit_unguarded() -> Iterator[None]:
    """Inside, the database accepts changes to the audit trail."""
    drop_triggers(connection)
    try:
        yield
    finally:
        install_triggers(connection)
