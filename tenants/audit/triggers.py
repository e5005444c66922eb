"""The database triggers that guard the audit log, and the search for expected triggers that are gone or disabled.

The log is append-only. A payload is deleted only after the record of its erasure was inserted. Other apps register the
triggers of their own tables (`expect_triggers`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

_REFUSED = "The audit log is append-only."
_UNACCOUNTED = "A payload of the append-only audit log is deleted with the record of its erasure only."
_ERASED = "EXISTS (SELECT 1 FROM tenants_auditerasure WHERE event_id = OLD.event_id)"
_GROWS = "NEW.chain <> OLD.chain OR NEW.length <= OLD.length"
_EVENT, _PAYLOAD, _HEAD, _ERASURE = (
    "tenants_auditevent", "tenants_auditpayload", "tenants_audithead", "tenants_auditerasure",
)  # fmt: skip
# Name, operation, table, condition on SQLite.
_ON_BOTH = (
    ("audit_event_is_not_updated", "UPDATE", _EVENT, ""),
    ("audit_event_is_not_deleted", "DELETE", _EVENT, ""),
    ("audit_payload_is_not_updated", "UPDATE", _PAYLOAD, ""),
    ("audit_payload_is_accounted_for", "DELETE", _PAYLOAD, f"NOT {_ERASED}"),
    ("audit_head_is_not_deleted", "DELETE", _HEAD, ""),
    ("audit_head_only_grows", "UPDATE", _HEAD, _GROWS),
    ("audit_erasure_is_not_updated", "UPDATE", _ERASURE, ""),
    ("audit_erasure_is_not_deleted", "DELETE", _ERASURE, ""),
)
# SQLite fires no delete triggers for `INSERT OR REPLACE`; PostgreSQL has TRUNCATE. Name, table, condition.
_REPLACED = (
    ("audit_event_is_not_replaced", _EVENT, "id = NEW.id OR (chain = NEW.chain AND sequence = NEW.sequence)"),
    ("audit_payload_is_not_replaced", _PAYLOAD, "event_id = NEW.event_id"),
    ("audit_head_is_not_replaced", _HEAD, "chain = NEW.chain"),
    ("audit_erasure_is_not_replaced", _ERASURE, "event_id = NEW.event_id"),
)
_TRUNCATED = (
    ("audit_event_is_not_truncated", _EVENT),
    ("audit_payload_is_not_truncated", _PAYLOAD),
    ("audit_head_is_not_truncated", _HEAD),
    ("audit_erasure_is_not_truncated", _ERASURE),
)
_POSTGRESQL_FUNCTIONS = (
    f"""
CREATE OR REPLACE FUNCTION tenants_refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '{_REFUSED}' USING ERRCODE = 'integrity_constraint_violation';
END $$
""",
    f"""
CREATE OR REPLACE FUNCTION tenants_refuse_unaccounted_erasure() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT {_ERASED} THEN
        RAISE EXCEPTION '{_UNACCOUNTED}' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN OLD;
END $$
""",
)

Execute = Callable[[str], object]
_expected: list[Callable[[str], Collection[str]]] = []


def install(vendor: str, execute: Execute) -> None:
    """Create the triggers, which must not exist."""
    for statement in _sqlite() if vendor == "sqlite" else _postgresql():
        execute(statement)


def drop(vendor: str, execute: Execute) -> None:
    """Drop the triggers that exist."""
    tables = {name: table for name, _, table, _ in _ON_BOTH} | dict(_TRUNCATED)
    tables |= {name: table for name, table, _ in _REPLACED}
    for name in sorted(_names(vendor)):
        execute(f"DROP TRIGGER IF EXISTS {name}" + ("" if vendor == "sqlite" else f" ON {tables[name]}"))


def expect_triggers(names: Callable[[str], Collection[str]]) -> None:
    """Register the names of triggers that a kind of database (`vendor`) must have."""
    _expected.append(names)


def expected_triggers(vendor: str) -> set[str]:
    """The names of the triggers that this kind of database must have."""
    return _names(vendor).union(*(names(vendor) for names in _expected))


def missing_triggers(connection: BaseDatabaseWrapper | None = None) -> list[str]:
    """Names of expected triggers that are missing or disabled; a rebuilt SQLite table loses its triggers silently."""
    connection = connection or connections["default"]
    # A trigger that fires on replicas alone ('R') is disabled here.
    query = (
        "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        if connection.vendor == "sqlite"
        else "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN ('O', 'A')"
    )
    with connection.cursor() as cursor:
        cursor.execute(query)
        present = {name for (name,) in cursor.fetchall()}
    return sorted(expected_triggers(connection.vendor) - present)


def _names(vendor: str) -> set[str]:
    own = _REPLACED if vendor == "sqlite" else _TRUNCATED
    return {each[0] for each in (*_ON_BOTH, *own)}


def _sqlite() -> Iterator[str]:
    replaced = [
        (name, "INSERT", table, f"EXISTS (SELECT 1 FROM {table} WHERE {found})")  # noqa: S608 - our own words
        for name, table, found in _REPLACED
    ]
    for name, operation, table, condition in (*_ON_BOTH, *replaced):
        when = f"WHEN {condition} " if condition else ""
        refused = _UNACCOUNTED if _ERASED in condition else _REFUSED
        yield (
            f"CREATE TRIGGER {name} BEFORE {operation} ON {table} FOR EACH ROW {when}"
            f"BEGIN SELECT RAISE(ABORT, '{refused}'); END"
        )


def _postgresql() -> Iterator[str]:
    yield from _POSTGRESQL_FUNCTIONS
    for name, operation, table, condition in _ON_BOTH:
        accounts = _ERASED in condition
        when = f"WHEN ({condition}) " if condition and not accounts else ""
        function = "tenants_refuse_unaccounted_erasure" if accounts else "tenants_refuse_audit_change"
        yield f"CREATE TRIGGER {name} BEFORE {operation} ON {table} FOR EACH ROW {when}EXECUTE FUNCTION {function}()"
    for name, table in _TRUNCATED:
        yield (
            f"CREATE TRIGGER {name} BEFORE TRUNCATE ON {table} FOR EACH STATEMENT"
            " EXECUTE FUNCTION tenants_refuse_audit_change()"
        )
