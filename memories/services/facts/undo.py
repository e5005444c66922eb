"""Undo: take back a supersession or a retirement. A new event with a new row, never an edit of the past.

What took the place by mistake is closed and retracted, and what it had replaced is stored anew, word for word, with
`restores` naming the row that it brings back. So an undo can be undone like any other supersession.

Retract: say that memories were never true. They stay in the history, marked, whether they are believed or were.

Invariant: what was believed when stays as it was; a retraction adds only that it was wrong, with an audit event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F, Q
from django.utils import timezone

from memories.errors import Conflict, InvalidInput
from memories.models import Fact
from memories.search.outbox import enqueue_many
from memories.selectors.history.row_record import record_of
from memories.services.facts import drafts
from memories.services.facts.closing import (
    AUDIT_NOUN,
    Supersedable,
    close,
    link,
    model_of,
    own_row,
    snapshot,
    tell,
    told_change,
)
from memories.services.facts.drafts import FactDraft
from memories.services.facts.remember import create_fact
from memories.services.facts.supersede import retire
from memories.services.ownership import owner_columns, owner_lock
from memories.services.playbooks import create_playbook
from memories.services.retention.dates import given_dates, rules_for, to_come
from memories.services.screening import screened_reason
from memories.types import CURRENT, Contradiction, Kind, Scope, Status, WriteOutcome, WriteResult
from tenants.audit.chain import EventDraft, record_events
from tenants.principal import Principal


@dataclass(frozen=True, slots=True)
class _Plan:
    """What an undo closes, and what it brings back."""

    mistaken: Sequence[Supersedable]
    lost: Sequence[Supersedable]


def undo(principal: Principal, *, kind: Kind, memory_id: UUID, reason: str = "") -> WriteOutcome:
    """Take back what a memory replaced, or by what it was replaced or retired.

    Of a current memory: it is closed as never true, and all that it replaced comes back. Of a superseded one: that one
    comes back, and its successor is closed. Of a retired one: it comes back. The outcome names the (first) memory that
    came back, and as superseded what was closed. Raises InvalidInput, NotFound, Conflict (there is nothing to undo, it
    was undone already, or something else is believed by now), Forbidden; then nothing changes.
    """
    reason = screened_reason(principal, reason)
    with owner_lock(principal):
        row = own_row(principal, kind, memory_id, shared=True)
        plan = _plan_for_current(row) if row.status in CURRENT else _plan_for_ended(row)
        at = max([timezone.now(), *(each.learned_at for each in plan.mistaken)])
        close(plan.mistaken, at=at, valid_to=at, contradiction=Contradiction.HARSH)
        restored = [bring_back(principal, each, at=at, reason=reason) for each in plan.lost]
        link(principal, plan.mistaken, restored[0] if restored else None, reason=reason or "undone")
        return WriteOutcome(
            WriteResult.SUPERSEDED if plan.mistaken else WriteResult.CREATED,
            kind,
            restored[0].pk if restored else memory_id,
            tuple(each.pk for each in plan.mistaken),
            reason,
        )


def _plan_for_current(row: Supersedable) -> _Plan:
    mistaken = [row, *_restored_with(row)]
    lost = [old for each in mistaken for old in _replaced_by(each)]
    if not lost and row.restores is None:
        raise Conflict("It took the place of nothing, so there is nothing to undo; retire it if it is not true.")
    return _Plan(mistaken, lost)


def _plan_for_ended(row: Supersedable) -> _Plan:
    if row.status == Status.EVICTED:
        raise Conflict("It was removed when it had expired; an undo brings back what was replaced or retired.")
    rows = model_of(row.kind).objects
    if rows.filter(restores=row.pk).exists():
        raise Conflict("It was brought back already; look at its history for what is believed now.")
    successor = None if row.superseded_by_id is None else rows.get(pk=row.superseded_by_id)
    if successor is None:
        return _Plan([], [row])
    if successor.restores is not None and rows.filter(pk=successor.restores, superseded_by=row.pk).exists():
        raise Conflict("It was undone already; to believe it again, undo what came back in its place.")
    if successor.status in CURRENT:
        return _Plan([successor, *_restored_with(successor)], [row])
    if not successor.retracted or _has_true_successor(successor):
        raise Conflict("What took its place has been replaced or retired since; undo that first.")
    return _Plan([], [row])


def _replaced_by(row: Supersedable) -> list[Supersedable]:
    """What `row` took the place of; not what was only found out later to be older than it."""
    joined_history = Q(created_at__gt=row.created_at, superseded_at=row.learned_at, learned_at__lt=F("superseded_at"))
    olds = model_of(row.kind).objects.filter(superseded_by=row.pk, status=Status.SUPERSEDED).exclude(joined_history)
    return list(olds.order_by("learned_at", "pk"))


def _restored_with(row: Supersedable) -> list[Supersedable]:
    """What else the undo that wrote `row` brought back and is still believed."""
    if row.restores is None:
        return []
    rows = model_of(row.kind).objects
    undone = rows.filter(pk=row.restores).values("superseded_by")
    siblings = rows.filter(superseded_by__in=undone).values("pk")
    return list(rows.current().filter(restores__in=siblings, learned_at=row.learned_at).exclude(pk=row.pk))


def _has_true_successor(row: Supersedable) -> bool:
    """Whether a retracted row was corrected, rather than undone or retired."""
    if row.superseded_by_id is None:
        return False
    rows = model_of(row.kind).objects
    successor = rows.get(pk=row.superseded_by_id)
    return not rows.filter(pk=successor.restores, superseded_by=row.pk).exists()


def bring_back(principal: Principal, old: Supersedable, *, at: datetime, reason: str) -> Supersedable:
    """Store `old` anew, believed since `at`. Raises Conflict if something else has its wording or its key by now."""
    columns = owner_columns(principal, Scope(old.scope), old.task or "")
    if model_of(old.kind).objects.filter(**columns).current().filter(content_hash=old.content_hash).exists():
        raise Conflict("The same is believed already, as another memory.")
    if isinstance(old, Fact) and old.key and Fact.objects.filter(**columns).current().filter(key=old.key).exists():
        raise Conflict("Something else is believed under the same key by now; correct or replace that instead.")
    columns["restores"] = old.pk
    support = list(old.supporting_episodes.all())
    row: Supersedable
    if isinstance(old, Fact):
        row = create_fact(principal, columns, _fact(principal, old, at, reason), support)
    else:
        # With how often it had worked.
        draft = drafts.playbook_draft_of(old, learned_at=at, reason=reason or "undone")
        row = create_playbook(principal, columns, draft)
        row.supporting_episodes.set(support)
    tell(principal, row, "restored", reason=reason or "undone", after={"restores": str(old.pk)})
    return row


def _fact(principal: Principal, old: Fact, at: datetime, reason: str) -> FactDraft:
    """As it was. Validity that had been closed by what is undone is open again; a date that was given stays."""
    given = to_come(given_dates(old, rules_for(principal, old.scope)), now=at)
    return drafts.fact_draft_of(
        old,
        learned_at=at,
        reason=reason or "undone",
        valid_to=old.valid_to if old.retracted else None,
        pinned=old.pinned,
        review_after=given.review_after,
        expires_at=given.expires_at,
    )


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
