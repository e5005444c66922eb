"""The collection evicts, archives, marks as stale and finally erases memories; `restore` undoes all but erasure.

A dry run and a real run use the same plan. Each batch is decided and applied in one transaction under its owner's lock,
with its audit events and outbox entries, so a killed run leaves nothing half done. Inactive members are included,
memories under a legal hold are not. A batch that fails is halved down to the memory at fault, which waits for the next
collection; the other memories and owners go on.

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

from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.errors import Conflict
from memories.hygiene.ageing import Cause, Ending
from memories.models import Fact, ForgetProposal, ProposalState
from memories.selectors.erasure import on_hold
from memories.selectors.policies import policy_of
from memories.selectors.retention import Planned, due_batches, owners_with_due, plan
from memories.services.erasure.forget import erase_rows
from memories.services.facts.closing import Supersedable, change_rows, model_of, own_row
from memories.services.items import erase_expired
from memories.services.retention.dates import confirm_row, given_dates, has_expired, set_dates, to_come
from memories.services.reviews.queue import withdraw
from memories.services.screening import screened_reason
from memories.services.write import AUDIT_NOUN, Write, housekeeping, write
from memories.types import CURRENT, Kind, Owner, Status
from memoryhub.db.advisory_lock import LockTaken, advisory_lock
from memoryhub.leases import fault_of, halved
from tenants.audit.chain import EventDraft
from tenants.principal import Principal

log = logging.getLogger(__name__)

# Memories decided in one transaction; other writers of the owner wait for it.
BATCH = 250
# An owner with more memories that fail is left to the next collection.
MOST_LEFT_OUT = 20


@dataclass(frozen=True, slots=True)
class Collected:
    """One decision about a memory, with its id and owner but without its text."""

    ending: Ending
    cause: Cause
    kind: Kind
    memory_id: UUID
    owner: Owner


@dataclass(frozen=True, slots=True)
class CollectionReport:
    """The decisions of a collection.

    `applied`: they were carried out. `failed` names owners whose part is incomplete.
    """

    applied: bool
    decisions: tuple[Collected, ...]
    failed: tuple[Owner, ...] = ()

    @property
    def counts(self) -> Counter[tuple[Ending, Cause]]:
        """The number of decisions by ending and cause."""
        return Counter((each.ending, each.cause) for each in self.decisions)


def collect(
    *,
    apply: bool,
    tenant_id: UUID | None = None,
    now: datetime | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> CollectionReport:
    """Find what is due by `now` in one tenant or all, and with `apply` carry it out; `advance` counts decisions.

    Raises LockTaken if another process is applying a collection.
    """
    now = now or timezone.now()
    decisions: list[Collected] = []
    failed: list[Owner] = []
    with advisory_lock("collection") if apply else nullcontext():
        failed += [
            owner
            for owner in owners_with_due(now, tenant_id)
            if not _collect_from(owner, decisions, apply=apply, now=now, advance=advance)
        ]
    return CollectionReport(apply, tuple(decisions), tuple(failed))


def _collect_from(
    owner: Owner, decisions: list[Collected], *, apply: bool, now: datetime, advance: Callable[[int], None]
) -> bool:
    """Decide about the due memories of one owner, with `apply` in effect. False if some failed and were left."""
    keep = owner.tenant_id is not None and policy_of(owner.tenant_id).keep_superseded
    left_out: list[UUID] = []

    def take(kind: Kind, ids: Sequence[UUID]) -> None:
        with housekeeping(owner) if apply else nullcontext() as w:
            planned = _decided(owner, kind, ids, now=now, keep_superseded=keep)
            if w is not None:
                _carry_out(w, planned, now)
        decisions.extend(
            Collected(each.decision.ending, each.decision.cause, each.row.kind, each.row.pk, each.row.owner)
            for each in planned
        )
        advance(len(planned))

    def leave_out(kind: Kind, memory_id: UUID, error: Exception) -> None:
        left_out.append(memory_id)
        if len(left_out) > MOST_LEFT_OUT:
            raise error
        log.error("The %s memory %s of %s was not collected: %s.", kind, memory_id, owner, fault_of(error))

    try:
        for kind, ids in due_batches(owner, now, BATCH):
            halved(ids, partial(take, kind), partial(leave_out, kind))
    except Exception as error:  # noqa: BLE001 - one owner's fault must not stop the others
        log.warning("Memories of %s were not collected: %s. The next collection tries again.", owner, fault_of(error))
        return False
    return not left_out


def _decided(owner: Owner, kind: Kind, ids: Sequence[UUID], *, now: datetime, keep_superseded: bool) -> list[Planned]:
    """The plan, empty under a legal hold and without erasures of shared memories.

    A shared memory may be repeated in its members' transcripts, which only their own erasures can reach.
    """
    if on_hold(owner):
        return []
    planned = plan(kind, ids, now=now, keep_superseded=keep_superseded)
    return [each for each in planned if owner.user_id is not None or each.decision.ending is not Ending.ERASED]


def _carry_out(w: Write, planned: Sequence[Planned], now: datetime) -> None:
    """Apply the decisions for memories of one kind, in the open transaction."""
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


# The columns that each ending sets, given the time of the run.
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
    """Apply everything that is due, and erase the items that have expired; the daily job."""
    if expired := erase_expired():
        log.info("Erased %d expired items.", expired)
    try:
        report = collect(apply=True)
    except LockTaken:
        log.info("Another process is collecting.")
        return
    if report.decisions:
        log.info("Collected: %s.", ", ".join(f"{count} {ending}" for (ending, _), count in report.counts.items()))


def restore(principal: Principal, *, kind: Kind, memory_id: UUID, reason: str = "") -> None:
    """Undo the eviction, archiving or staleness of a memory, or the expiry of a fact.

    Shared memories can be restored by those who may change them. Raises NotFound, and Conflict if there is nothing to
    restore or another memory has taken its key or text.
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
            raise Conflict(_("This memory is neither evicted nor archived nor stale; there is nothing to restore."))


def _return(w: Write, row: Supersedable, reason: str) -> None:
    """Undo an eviction; the memory gets its earlier status.

    Raises Conflict if the member is forgetting it: only they undo that (`services/erasure/proposals.py`).
    """
    forgetting = ForgetProposal.objects.of_owner(w.owner.tenant_id, w.owner.user_id)
    for goes in forgetting.filter(state=ProposalState.CONFIRMED).values_list("goes", flat=True):
        if str(row.pk) in {memory_id for _, memory_id in goes}:
            raise Conflict(_("This memory is being forgotten. Undo that within its 30 seconds to keep the memory."))
    if row.evicted_from in CURRENT:
        refuse_if_taken(row)
    row.status, row.evicted_from, row.evicted_at = row.evicted_from, "", None
    if isinstance(row, Fact):
        _date_anew(w, row)
    _save(w, row, "revived", reason, before=Status.EVICTED)


def _date_anew(w: Write, fact: Fact) -> None:
    """Confirm a restored current fact as of now. A superseded one only loses an expiry that has passed."""
    now, rules = timezone.now(), w.rules(fact.scope)
    given = to_come(given_dates(fact, rules), now=now)
    if fact.status in CURRENT:
        fact.last_verified_at = now
        set_dates(fact, rules, at=now, given=given)
    elif has_expired(fact, now):
        fact.expires_at = None


def refuse_if_taken(row: Supersedable) -> None:
    """Raise Conflict if a current memory has the key or the words of an evicted one."""
    same = Q(content_hash=row.content_hash)
    if isinstance(row, Fact) and row.key:
        same |= Q(key=row.key)
    place = {"tenant": row.tenant_id, "user": row.user_id, "scope": row.scope, "task": row.task}
    if model_of(row.kind).objects.in_place(place).current().filter(same).exclude(pk=row.pk).exists():
        raise Conflict(_("Another memory has taken its place meanwhile; retire or correct that one first."))


def _save(w: Write, row: Supersedable, verb: str, reason: str, *, before: str) -> None:
    row.version += 1
    row.save()
    w.audit(f".{verb}", row, reason=reason, before={"status": str(before)}, after={"status": str(row.status)})
    w.index(row)
