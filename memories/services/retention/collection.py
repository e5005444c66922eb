"""The collection evicts, archives, doubts and in the end erases memories; `restore` undoes all but erasure.

A dry run and a real one ask the same planner. A batch is decided and done in one transaction under its owner's lock,
with its audit events and outbox entries, so a killed run leaves nothing half done. Inactive members are collected too;
memories under a legal hold are not; an owner whose collection fails does not stop the others.

A restored memory counts as confirmed, so the next collection does not take it again.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import DatabaseError
from django.db.models import F, Q
from django.utils import timezone

from memories.errors import Conflict, MemoriesError
from memories.hygiene.ageing import Cause, Ending
from memories.models import Fact
from memories.selectors.erasure import on_hold
from memories.selectors.policies import policy_of
from memories.selectors.retention import Planned, due_batches, owners_with_due, plan
from memories.services.erasure.forget import erase_rows
from memories.services.facts.closing import Supersedable, change_rows, model_of, own_row
from memories.services.retention.dates import confirm_row, given_dates, has_expired, set_dates, to_come
from memories.services.reviews.queue import withdraw
from memories.services.screening import screened_reason
from memories.services.write import AUDIT_NOUN, Write, housekeeping, write
from memories.types import CURRENT, Kind, Owner, Status
from memoryhub.db.advisory_lock import LockTaken, advisory_lock
from tenants.audit.chain import EventDraft
from tenants.errors import TenantsError
from tenants.principal import Principal

log = logging.getLogger(__name__)

# Memories decided in one transaction: other writers of the owner wait for it.
BATCH = 250


@dataclass(frozen=True, slots=True)
class Collected:
    """One decision. Of the memory there is its id and whose it is, never its words."""

    ending: Ending
    cause: Cause
    kind: Kind
    memory_id: UUID
    owner: Owner


@dataclass(frozen=True, slots=True)
class CollectionReport:
    """What was decided; `applied`: and done; `failed` names the owners whose part could not be done in full."""

    applied: bool
    decisions: tuple[Collected, ...]
    failed: tuple[Owner, ...] = ()

    @property
    def counts(self) -> Counter[tuple[Ending, Cause]]:
        """How many of each."""
        return Counter((each.ending, each.cause) for each in self.decisions)


def collect(
    *,
    apply: bool,
    tenant_id: UUID | None = None,
    now: datetime | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> CollectionReport:
    """Find what is due by `now`, of one tenant or of all, and with `apply` do it; `advance` counts the decisions.

    Raises Busy if another process is applying one.
    """
    now = now or timezone.now()
    decisions: list[Collected] = []
    failed: list[Owner] = []
    with advisory_lock("collection") if apply else nullcontext():
        for owner in owners_with_due(now, tenant_id):
            keep = owner.tenant_id is not None and policy_of(owner.tenant_id).keep_superseded
            for kind, ids in due_batches(owner, now, BATCH):
                decide = partial(_decided, owner, kind, ids, now=now, keep_superseded=keep)
                planned = _carried_out(owner, decide, now) if apply else decide()
                if planned is None:
                    failed.append(owner)
                    break
                decisions += [
                    Collected(each.decision.ending, each.decision.cause, each.row.kind, each.row.pk, each.row.owner)
                    for each in planned
                ]
                advance(len(planned))
    return CollectionReport(apply, tuple(decisions), tuple(failed))


def _carried_out(owner: Owner, decide: Callable[[], list[Planned]], now: datetime) -> list[Planned] | None:
    """One batch, decided and done; None if it failed, and nothing of it was."""
    try:
        with housekeeping(owner) as w:
            planned = decide()
            _carry_out(w, planned, now)
    except (MemoriesError, TenantsError, DatabaseError) as error:
        # Its type alone: the message of a database may quote the row.
        log.warning(
            "Memories of %s were not collected: %s. The next collection tries again.", owner, type(error).__name__
        )
        return None
    return planned


def _decided(owner: Owner, kind: Kind, ids: Sequence[UUID], *, now: datetime, keep_superseded: bool) -> list[Planned]:
    """The plan without what a legal hold keeps, and without the erasure of what is shared.

    Whose transcripts repeat a shared memory, only each member's own erasure knows.
    """
    if on_hold(owner):
        return []
    planned = plan(kind, ids, now=now, keep_superseded=keep_superseded)
    return [each for each in planned if owner.user_id is not None or each.decision.ending is not Ending.ERASED]


def _carry_out(w: Write, planned: Sequence[Planned], now: datetime) -> None:
    """Do what was decided for memories of one kind, in the transaction at hand."""
    rows: dict[Ending, list[Supersedable]] = defaultdict(list)
    for each in planned:
        rows[each.decision.ending].append(each.row)
    overdue = rows.pop(Ending.ERASED, [])
    stand: dict[UUID, dict[str, Any]] = {}
    for ending, ending_now in rows.items():
        stand |= change_rows(w, ending_now, _CHANGES[ending](now))
    w.audit_drafts([_event(each, stand[each.row.pk]) for each in planned if each.row.pk in stand])
    withdraw(w, [row.pk for row in rows.get(Ending.EVICTED, ())])
    if overdue and w.member is not None:
        whole = model_of(overdue[0].kind).objects.of(w.member).filter(pk__in=[row.pk for row in overdue])
        erase_rows(w, list(whole.order_by("pk")), reason=Cause.OVERDUE.value)


# The columns that each ending sets, at the moment of the run.
_CHANGES: dict[Ending, Callable[[datetime], dict[str, Any]]] = {
    Ending.EVICTED: lambda now: {"evicted_from": F("status"), "evicted_at": now, "status": Status.EVICTED},
    Ending.ARCHIVED: lambda now: {"archived_at": now},
    Ending.STALE: lambda _: {"status": Status.STALE},
}


def _event(planned: Planned, stands: dict[str, Any]) -> EventDraft:
    row, decision = planned.row, planned.decision
    return EventDraft(
        f"{AUDIT_NOUN[row.kind]}.{decision.ending}",
        row.kind.value,
        row.pk,
        decision.cause.value,
        before={"status": str(row.status)},
        row=stands,
    )


def collect_daily() -> None:
    """Collect everything that is due; the job of the day."""
    try:
        report = collect(apply=True)
    except LockTaken:
        log.info("Another process is collecting.")
        return
    if report.decisions:
        log.info("Collected: %s.", ", ".join(f"{count} {ending}" for (ending, _), count in report.counts.items()))


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
