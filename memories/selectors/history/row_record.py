"""A fact or playbook as the plain values that an audit event keeps: `record_of`, compared later.

Invariant: equal rows give equal records, and a record is complete: a column that it leaves out was empty. Of a shared
row, whose events outlive what was promoted, there is a digest in the place of words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from memories.models import CHAINED_MODELS, Fact, Playbook
from memories.types import Kind
from tenants.audit.verification import canonical_json

Record = Mapping[str, Any]

_COMMON = (
    "id", "user_id", "scope", "task", "content_hash", "category", "sensitivity", "version", "created_at", "status",
    "learned_at", "superseded_at", "superseded_by_id", "contradiction", "retracted", "restores", "promoted_from",
    "archived_at", "evicted_at", "evicted_from",
)  # fmt: skip
RECORDED: Mapping[Kind, tuple[str, ...]] = {
    Kind.SEMANTIC: (
        *_COMMON, "key", "confidence", "source", "pinned", "valid_from", "valid_to", "last_verified_at", "review_after",
        "expires_at",
    ),
    Kind.PROCEDURAL: (*_COMMON, "success_count", "failure_count", "last_success_at", "last_failure_at"),
}  # fmt: skip
"""The columns that a record is made of, by kind."""

# Where the words are another check has them; whose a row is, the chain says that its events are in.
_ELSEWHERE = frozenset({"id", "user_id", "content_hash"})
_WORDS = frozenset({"task", "key", "category"})


def record_of(row: Fact | Playbook) -> dict[str, Any]:
    """The record of a row that was read whole and has been saved."""
    return record_from({name: getattr(row, name) for name in RECORDED[row.kind]})


def records_of(kind: Kind, ids: Collection[UUID]) -> dict[UUID, dict[str, Any]]:
    """How rows stand in the database at this moment, by id."""
    rows = (
        CHAINED_MODELS[kind].objects.unscoped("rows by ids under the lock").filter(pk__in=ids).values(*RECORDED[kind])
    )
    return {row["id"]: record_from(row) for row in rows}


def record_from(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a row from its `RECORDED` columns."""
    shared = columns["user_id"] is None
    left_out = _ELSEWHERE | _WORDS if shared else _ELSEWHERE
    record = {name: _plain(value) for name, value in columns.items() if value and name not in left_out}
    if shared:
        words = [str(columns["id"]), *(columns.get(name) or "" for name in ("content_hash", "key", "category"))]
        record["words"] = hashlib.sha256(canonical_json(words).encode()).hexdigest()
    return record


def differing(now: Record, told: Record) -> Iterator[str]:
    """The columns in which a row differs from the audit log, except its successor, which an erasure may have moved."""
    for name in sorted((now.keys() | told.keys()) - {"superseded_by_id", "version"}):
        if now.get(name) != told.get(name):
            yield name
    # A link over a gap makes a version that no event tells of; none ever goes back.
    if version_of(now) < version_of(told):
        yield "version"


def version_of(record: Record) -> int:
    """Which version of its row a record is of."""
    version = record.get("version")
    return version if isinstance(version, int) else 0


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, str):  # also a member of an enumeration, as a row that was just written has
        return str(value)
    return str(value) if isinstance(value, UUID) else value
