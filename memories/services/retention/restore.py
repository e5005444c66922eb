"""Restore: undo what the collection did to a memory, for as long as it has not been erased.

Invariant: afterwards the owner still has one current fact for each key and each wording; what was restored counts as
confirmed, so that the next collection does not do the same again.
"""

from __future__ import annotations

from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from memories.errors import Conflict
from memories.models import Fact
from memories.services.facts.closing import Supersedable, model_of, own_row
from memories.services.retention.dates import confirm_row, given_dates, has_expired, set_dates, to_come
from memories.services.screening import screened_reason
from memories.services.write import Write, write
from memories.types import CURRENT, Kind, Status
from tenants.principal import Principal


def restore(principal: Principal, *, kind: Kind, memory_id: UUID, reason: str = "") -> None:
    """Bring a memory back to where it was before it was evicted, archived or marked as stale.

    Also one that is shared, by whoever may change it. Raises NotFound, and Conflict if nothing of the kind was done to
    it, or if another one took its key or its wording meanwhile.
    """
    reason = screened_reason(principal, reason)
    with write(principal) as w:
        row = own_row(w, kind, memory_id, shared=True)
        if row.status == Status.EVICTED:
            _return(w, row, reason)
        elif isinstance(row, Fact) and has_expired(row, timezone.now()):
            _date_anew(w, row)
            _save(w, row, "revived", reason, before=row.status)
        elif row.archived_at is not None:
            row.archived_at = None
            _save(w, row, "unarchived", reason, before=row.status)
        elif isinstance(row, Fact) and row.status == Status.STALE:
            confirm_row(w, row, now=timezone.now(), reason=reason)
        else:
            raise Conflict("This memory is neither evicted nor archived nor stale; there is nothing to restore.")


def _return(w: Write, row: Supersedable, reason: str) -> None:
    """From its eviction to the status that it had."""
    if row.evicted_from in CURRENT:
        _refuse_if_taken(row)
    row.status, row.evicted_from, row.evicted_at = row.evicted_from, "", None
    if isinstance(row, Fact):
        _date_anew(w, row)
    _save(w, row, "revived", reason, before=Status.EVICTED)


def _date_anew(w: Write, fact: Fact) -> None:
    """A restored fact is believed from now on; one that had been replaced is at least not over."""
    now, rules = timezone.now(), w.rules(fact.scope)
    given = to_come(given_dates(fact, rules), now=now)
    if fact.status in CURRENT:
        fact.last_verified_at = now
        set_dates(fact, rules, at=now, given=given)
    elif has_expired(fact, now):
        fact.expires_at = None


def _refuse_if_taken(row: Supersedable) -> None:
    same = Q(content_hash=row.content_hash)
    if isinstance(row, Fact) and row.key:
        same |= Q(key=row.key)
    place = {"tenant": row.tenant_id, "user": row.user_id, "scope": row.scope, "task": row.task}
    if model_of(row.kind).objects.in_place(place).current().filter(same).exclude(pk=row.pk).exists():
        raise Conflict("Another memory has taken its place meanwhile; retire or correct that one first.")


def _save(w: Write, row: Supersedable, verb: str, reason: str, *, before: str) -> None:
    row.version += 1
    row.save()
    w.audit(f".{verb}", row, reason=reason, before={"status": str(before)}, after={"status": str(row.status)})
    w.index(row)
