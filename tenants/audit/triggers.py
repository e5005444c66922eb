"""The triggers by which the database itself keeps the audit trail append-only, on SQLite and PostgreSQL.

Invariant: events are never changed or deleted; payloads are never changed (erasing one is a DELETE); heads only grow.
SQLite does not fire delete triggers for `INSERT OR REPLACE`, so there a trigger on insert refuses an existing key;
PostgreSQL has TRUNCATE, so there a trigger refuses that. Both raise an integrity error.
"""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import NotSupportedError

EVENTS = "tenants_auditevent"
PAYLOADS = "tenants_auditpayload"
HEADS = "tenants_audithead"
FUNCTION = "tenants_refuse_audit_change"

# ruff: noqa: S608 - the SQL below holds no values, only the names above

# Name of the trigger -> (table, operation, condition). The condition is SQL over OLD and NEW, empty for always.
_ROW_TRIGGERS: dict[str, tuple[str, str, str]] = {
    "audit_event_is_not_updated": (EVENTS, "UPDATE", ""),
    "audit_event_is_not_deleted": (EVENTS, "DELETE", ""),
    "audit_payload_is_not_updated": (PAYLOADS, "UPDATE", ""),
    "audit_head_is_not_deleted": (HEADS, "DELETE", ""),
    "audit_head_only_grows": (HEADS, "UPDATE", "NEW.chain <> OLD.chain OR NEW.length <= OLD.length"),
}
_SQLITE_INSERT_TRIGGERS: dict[str, tuple[str, str, str]] = {
    "audit_event_is_not_replaced": (
        EVENTS,
        "INSERT",
        f"EXISTS (SELECT 1 FROM {EVENTS} WHERE id = NEW.id OR (chain = NEW.chain AND sequence = NEW.sequence))",
    ),
    "audit_payload_is_not_replaced": (
        PAYLOADS,
        "INSERT",
        f"EXISTS (SELECT 1 FROM {PAYLOADS} WHERE event_id = NEW.event_id)",
    ),
    "audit_head_is_not_replaced": (HEADS, "INSERT", f"EXISTS (SELECT 1 FROM {HEADS} WHERE chain = NEW.chain)"),
}
_POSTGRESQL_TRUNCATE_TRIGGERS: dict[str, str] = {
    "audit_event_is_not_truncated": EVENTS,
    "audit_payload_is_not_truncated": PAYLOADS,
    "audit_head_is_not_truncated": HEADS,
}


_POSTGRESQL_FUNCTION = f"""
CREATE OR REPLACE FUNCTION {FUNCTION}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The audit trail is append-only.' USING ERRCODE = 'integrity_constraint_violation';
END $$
"""


def install_triggers(connection: BaseDatabaseWrapper) -> None:
    """Create the triggers; running it again changes nothing."""
    _run(connection, _creations(connection.vendor))


def drop_triggers(connection: BaseDatabaseWrapper) -> None:
    """Remove the triggers (to undo the migration, and for tests that tamper)."""
    if connection.vendor == "sqlite":
        _run(connection, [f"DROP TRIGGER IF EXISTS {name}" for name in expected_triggers("sqlite")])
    else:
        tables = {name: table for name, (table, _, _) in _ROW_TRIGGERS.items()} | _POSTGRESQL_TRUNCATE_TRIGGERS
        _run(connection, [f"DROP TRIGGER IF EXISTS {name} ON {table}" for name, table in tables.items()])
        _run(connection, [f"DROP FUNCTION IF EXISTS {FUNCTION}()"])


def missing_triggers(connection: BaseDatabaseWrapper) -> list[str]:
    """The names of triggers that should be there and are not; a rebuilt SQLite table loses its triggers silently."""
    query = (
        "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        if connection.vendor == "sqlite"
        else "SELECT tgname FROM pg_trigger WHERE tgenabled <> 'D'"
    )
    with connection.cursor() as cursor:
        cursor.execute(query)
        present = {name for (name,) in cursor.fetchall()}
    return sorted(expected_triggers(connection.vendor) - present)


def expected_triggers(vendor: str) -> set[str]:
    """The names of all triggers on this kind of database."""
    return set(_ROW_TRIGGERS) | set(_SQLITE_INSERT_TRIGGERS if vendor == "sqlite" else _POSTGRESQL_TRUNCATE_TRIGGERS)


def _creations(vendor: str) -> list[str]:
    if vendor == "sqlite":
        return [
            f"CREATE TRIGGER IF NOT EXISTS {name} BEFORE {operation} ON {table} FOR EACH ROW"
            f"{f' WHEN {condition}' if condition else ''}"
            " BEGIN SELECT RAISE(ABORT, 'The audit trail is append-only.'); END"
            for name, (table, operation, condition) in (_ROW_TRIGGERS | _SQLITE_INSERT_TRIGGERS).items()
        ]
    if vendor == "postgresql":
        return [
            _POSTGRESQL_FUNCTION,
            *(
                f"CREATE OR REPLACE TRIGGER {name} BEFORE {operation} ON {table} FOR EACH ROW"
                f"{f' WHEN ({condition})' if condition else ''} EXECUTE FUNCTION {FUNCTION}()"
                for name, (table, operation, condition) in _ROW_TRIGGERS.items()
            ),
            *(
                f"CREATE OR REPLACE TRIGGER {name} BEFORE TRUNCATE ON {table} FOR EACH STATEMENT"
                f" EXECUTE FUNCTION {FUNCTION}()"
                for name, table in _POSTGRESQL_TRUNCATE_TRIGGERS.items()
            ),
        ]
    raise NotSupportedError(f"The audit trail needs SQLite or PostgreSQL, not {vendor}.")


def _run(connection: BaseDatabaseWrapper, statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
