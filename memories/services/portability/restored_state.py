"""The state in which an imported fact or playbook ended, restored on its row as far as the chain allows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from memories.importing.records import MemoryRecord
from memories.models import Fact
from memories.services.facts.closing import Supersedable
from memories.types import CURRENT, Contradiction, Scope, Status

RESTORED = ("status", "superseded_at", "contradiction", "archived_at", "evicted_at", "restores", "promoted_from")


def state_of(row: Supersedable) -> tuple[object, ...]:
    """The columns that `restore_state` may change, for comparison."""
    return (*(getattr(row, name) for name in RESTORED), row.evicted_from, getattr(row, "valid_to", None))


def restore_state(row: Supersedable, record: MemoryRecord, find: Callable[[str], UUID | None]) -> None:
    """Apply the record's state to a row, which the caller saves. `find` maps a record id to a memory."""
    row.restores = _ended_alike(row, find(record.restores)) or row.restores
    row.promoted_from = _narrower(row, find(record.promoted_from)) or row.promoted_from
    if row.status == Status.SUPERSEDED:
        _restore_ending(row, record)
    elif record.status is Status.STALE:
        row.status = Status.STALE


def _restore_ending(row: Supersedable, record: MemoryRecord) -> None:
    """Set the recorded times and reason of an ending. A row never ends before its successor was learned."""
    successor = row.superseded_by
    earliest = max(row.learned_at, successor.learned_at) if successor else row.learned_at
    ended = _come(row, record.superseded_at)
    if ended and ended >= earliest:
        row.superseded_at = ended
    if record.contradiction:
        row.contradiction = record.contradiction
        row.retracted = record.contradiction is Contradiction.HARSH
    if isinstance(row, Fact) and (record.valid_to or row.retracted):
        row.valid_to = record.valid_to
    if record.status is Status.EVICTED:
        _restore_eviction(row, record)
    if row.superseded_at:
        row.archived_at = max(record.archived_at, row.superseded_at) if record.archived_at else None


def _restore_eviction(row: Supersedable, record: MemoryRecord) -> None:
    if row.superseded_by is None:
        row.superseded_at, row.contradiction = _come(row, record.superseded_at), record.contradiction or ""
        if isinstance(row, Fact):
            row.valid_to = record.valid_to
    row.status = Status.EVICTED
    row.evicted_at = record.evicted_at or row.superseded_at or timezone.now()
    was = record.evicted_from if record.evicted_from in (Status.ACTIVE, Status.STALE) else Status.ACTIVE
    row.evicted_from = Status.SUPERSEDED if row.superseded_at else was


def _come(row: Supersedable, at: datetime | None) -> datetime | None:
    """`at`, limited to now, since an ending in the future would look like an altered one."""
    return min(at, max(timezone.now(), row.learned_at)) if at else None


def _ended_alike(row: Supersedable, original: UUID | None) -> UUID | None:
    """`original`, if an undo can have restored it as `row`: ended, same text, same owner, scope and task; else None."""
    if original is None:
        return None
    place = {"tenant": row.tenant_id, "user": row.user_id, "scope": row.scope, "task": row.task}
    alike = type(row).objects.in_place(place).filter(pk=original, content_hash=row.content_hash)
    return original if alike.exclude(status__in=CURRENT).exists() else None


def _narrower(row: Supersedable, original: UUID | None) -> UUID | None:
    """`original`, if `row` can be its promoted copy; else None. An import never writes above user scope."""
    if row.scope != Scope.USER or original is None:
        return None
    of_a_task = type(row).objects.of_owner(row.tenant_id, row.user_id).filter(pk=original, scope=Scope.TASK)
    return original if of_a_task.exists() else None
