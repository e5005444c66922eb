"""Retract: say that memories were never true. They stay in the history, marked, whether they are believed or were.

Invariant: what was believed when stays as it was; a retraction adds only that it was wrong, with an audit event.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from memories.errors import Conflict, InvalidInput
from memories.search.outbox import enqueue_many
from memories.selectors.chain_record import record_of
from memories.services.ownership import owner_lock
from memories.services.screening import screened_reason
from memories.services.succession import AUDIT_NOUN, Supersedable, own_row, snapshot, told_change
from memories.services.supersede import retire
from memories.types import CURRENT, Contradiction, Kind, Status, WriteOutcome, WriteResult
from tenants.audit import EventDraft, record_events
from tenants.principal import Principal


def retract(
    principal: Principal, *, kind: Kind, memory_ids: Sequence[UUID], at: datetime | None = None, reason: str = ""
) -> WriteOutcome:
    """Say that memories were never true and nothing takes their place; all of them, or none.

    One that is believed is retired harshly, as of `at` if that was not now; one that was replaced keeps its
    place in the chain. Raises InvalidInput, NotFound, Conflict (one is known to be wrong, or was evicted), Forbidden.
    """
    reason = screened_reason(principal, reason)
    if not memory_ids:
        raise InvalidInput("memory_ids", "name at least one memory.")
    ids = tuple(dict.fromkeys(memory_ids))
    with owner_lock(principal):
        rows = [own_row(principal, kind, memory_id) for memory_id in ids]
        current = [row.pk for row in rows if row.status in CURRENT]
        _retract_past(principal, [row for row in rows if row.status not in CURRENT], reason=reason)
        if current:
            first, *others = current
            retire(
                principal,
                kind=kind,
                memory_id=first,
                also_ids=others,
                contradiction=Contradiction.HARSH,
                at=at,
                reason=reason or "never true",
            )
        return WriteOutcome(WriteResult.SUPERSEDED, kind, ids[0], ids, reason)


def _retract_past(principal: Principal, rows: Sequence[Supersedable], *, reason: str) -> None:
    """Mark rows that were superseded before."""
    if any(row.retracted for row in rows):
        raise Conflict("It is marked as never true already.")
    if any(row.status != Status.SUPERSEDED for row in rows):
        raise Conflict("It is not in the memory any more; restore it first.")
    events = []
    for row in rows:
        row.as_it_was = snapshot(row)
        row.retracted = True
        row.contradiction = Contradiction.HARSH
        row.version += 1
        row.save(update_fields=["retracted", "contradiction", "version", "updated_at"])
        action = f"{AUDIT_NOUN[row.kind]}.retracted"
        why = reason or "never true"
        before, after = told_change(row)
        events.append(EventDraft(action, row.kind.value, row.pk, why, before, after or None, record_of(row)))
    record_events(principal, events)
    enqueue_many(list(rows))
