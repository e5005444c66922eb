"""Undo a supersession or retirement, or retract memories. Both add events and never rewrite the history.

An undo closes and retracts the mistaken rows. It stores the rows they had replaced again, word for word, with
`restores` naming the original. An undo can therefore be undone like any other supersession.

A retraction marks memories as never true. They keep the times at which they were believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.errors import Conflict, InvalidInput
from memories.models import Fact
from memories.models.base import MemoryQuerySet
from memories.services.facts.closing import (
    Supersedable,
    close,
    model_of,
    own_row,
    own_rows,
    record_ended,
    snapshot,
)
from memories.services.facts.drafts import draft_of
from memories.services.facts.gates import same_app
from memories.services.facts.remember import insert_facts
from memories.services.playbooks import insert_playbook
from memories.services.retention.dates import given_dates, to_come
from memories.services.screening import screened_reason
from memories.services.write import Write, owner_columns, write
from memories.types import CURRENT, Contradiction, Kind, Scope, Status, WriteOutcome, WriteResult
from tenants.principal import Principal


@dataclass(frozen=True, slots=True)
class _UndoPlan:
    """The rows that an undo closes, and the rows that it restores."""

    mistaken: Sequence[Supersedable]
    lost: Sequence[Supersedable]


def undo(principal: Principal, *, kind: Kind, memory_id: UUID, reason: str = "") -> WriteOutcome:
    """Undo what a memory replaced, or its own replacement or retirement.

    A current memory is closed as never true, and every row that it replaced is restored. A superseded memory is
    restored and its successor closed. A retired one is restored. The outcome names the (first) restored memory, and the
    closed ones as superseded. Raises InvalidInput, NotFound, Conflict (nothing to undo, undone already, or another
    memory has taken its place), Forbidden; then nothing changes.
    """
    reason = screened_reason(principal, reason)
    with write(principal) as w:
        row = own_row(w, kind, memory_id, shared=True)
        plan = _plan_for_current(row) if row.status in CURRENT else _plan_for_ended(row)
        at = max([timezone.now(), *(each.learned_at for each in plan.mistaken)])
        ended = close(plan.mistaken, at=at, valid_to=at, contradiction=Contradiction.HARSH)
        restored = [bring_back(w, each, at=at, reason=reason) for each in plan.lost]
        record_ended(w, ended, restored[0] if restored else None, reason=reason or "undone")
        return WriteOutcome(
            WriteResult.SUPERSEDED if plan.mistaken else WriteResult.CREATED,
            kind,
            restored[0].pk if restored else memory_id,
            tuple(each.pk for each in plan.mistaken),
            reason,
        )


def _beside(row: Supersedable) -> MemoryQuerySet[Any]:
    """All rows of the same kind and owner."""
    return model_of(row.kind).objects.of_owner(row.tenant_id, row.user_id)


def _plan_for_current(row: Supersedable) -> _UndoPlan:
    mistaken = [row, *_restored_with(row)]
    lost = [old for each in mistaken for old in _replaced_by(each)]
    if not lost and row.restores is None:
        raise Conflict(_("This memory replaced nothing, so there is nothing to undo; retire it if it is not true."))
    return _UndoPlan(mistaken, lost)


def _plan_for_ended(row: Supersedable) -> _UndoPlan:
    if row.status == Status.EVICTED:
        raise Conflict(_("This memory was removed when it expired; only a replaced or retired one is brought back."))
    rows = _beside(row)
    if rows.filter(restores=row.pk).exists():
        raise Conflict(_("This memory was brought back already; its history shows the current one."))
    successor = None if row.superseded_by_id is None else rows.get(pk=row.superseded_by_id)
    if successor is None:
        return _UndoPlan([], [row])
    if successor.restores is not None and rows.filter(pk=successor.restores, superseded_by=row.pk).exists():
        raise Conflict(_("This memory was undone already; undo the memory that came back in its place."))
    if successor.status in CURRENT:
        return _UndoPlan([successor, *_restored_with(successor)], [row])
    if not successor.retracted or _has_true_successor(successor):
        raise Conflict(_("The memory that replaced this one has been replaced or retired since; undo that first."))
    return _UndoPlan([], [row])


def _replaced_by(row: Supersedable) -> list[Supersedable]:
    """The rows that `row` replaced, without older statements that joined the history later."""
    joined_history = Q(created_at__gt=row.created_at, superseded_at=row.learned_at, learned_at__lt=F("superseded_at"))
    olds = _beside(row).filter(superseded_by=row.pk, status=Status.SUPERSEDED).exclude(joined_history)
    return list(olds.order_by("learned_at", "pk"))


def _restored_with(row: Supersedable) -> list[Supersedable]:
    """The other current rows that were restored by the same undo as `row`."""
    if row.restores is None:
        return []
    rows = _beside(row)
    undone = rows.filter(pk=row.restores).values("superseded_by")
    siblings = rows.filter(superseded_by__in=undone).values("pk")
    return list(rows.current().filter(restores__in=siblings, learned_at=row.learned_at).exclude(pk=row.pk))


def _has_true_successor(row: Supersedable) -> bool:
    """Whether a retracted row was corrected, and not undone or retired."""
    if row.superseded_by_id is None:
        return False
    rows = _beside(row)
    successor = rows.get(pk=row.superseded_by_id)
    return not rows.filter(pk=successor.restores, superseded_by=row.pk).exists()


def bring_back(w: Write, old: Supersedable, *, at: datetime, reason: str) -> Supersedable:
    """Store `old` again, believed since `at`. Raises Conflict if another current row has its text or key."""
    place = owner_columns(w.principal, Scope(old.scope), old.task or "")
    taken: MemoryQuerySet[Any] = model_of(old.kind).objects.in_place(place).current()
    if same_app(w, old.app, taken.filter(content_hash=old.content_hash)):
        raise Conflict(_("Another current memory says the same already."))
    if isinstance(old, Fact) and old.key and same_app(w, old.app, taken.filter(key=old.key)):
        raise Conflict(_("Another fact is current under the same key now; correct or replace that one instead."))
    columns = place | {"restores": old.pk}
    reason = reason or "undone"
    support = list(old.supporting_episodes.all())
    row: Supersedable
    if isinstance(old, Fact):
        given = to_come(given_dates(old, w.rules(old.scope)), now=at)
        draft = draft_of(
            old,
            learned_at=at,
            reason=reason,
            # A validity that the undone supersession had ended is open again.
            valid_to=old.valid_to if old.retracted else None,
            pinned=old.pinned,
            review_after=given.review_after,
            expires_at=given.expires_at,
        )
        (row,) = insert_facts(w, [draft], [columns], [support])
    else:
        row = insert_playbook(w, columns, draft_of(old, learned_at=at, reason=reason))
        row.supporting_episodes.set(support)
    w.audit(".restored", row, reason=reason, after={"restores": str(old.pk)})
    return row


def retract(
    principal: Principal, *, kind: Kind, memory_ids: Sequence[UUID], at: datetime | None = None, reason: str = ""
) -> WriteOutcome:
    """Mark memories as never true, without a replacement; all of them, or none.

    Current ones are retired harshly, as of `at` (default now). Superseded ones keep their place in the chain. Raises
    InvalidInput, NotFound, Conflict (one is retracted already, or was evicted), Forbidden.
    """
    reason = screened_reason(principal, reason)
    if not memory_ids:
        raise InvalidInput("memory_ids", _("name at least one memory."))
    ids = tuple(dict.fromkeys(memory_ids))
    with write(principal) as w:
        rows = own_rows(w, kind, ids)
        because = reason or "never true"
        _retract_past(w, [row for row in rows if row.status not in CURRENT], reason=because)
        current = [row for row in rows if row.status in CURRENT]
        said_at = at or timezone.now()
        record_ended(
            w,
            close(current, at=said_at, valid_to=said_at, contradiction=Contradiction.HARSH),
            None,
            reason=because,
        )
        return WriteOutcome(WriteResult.SUPERSEDED, kind, ids[0], ids, reason)


def _retract_past(w: Write, rows: Sequence[Supersedable], *, reason: str) -> None:
    """Mark superseded rows as retracted. Raises Conflict."""
    if any(row.retracted for row in rows):
        raise Conflict(_("This memory is marked as never true already."))
    if any(row.status != Status.SUPERSEDED for row in rows):
        raise Conflict(_("This memory was evicted; restore it first."))
    for row in rows:
        before = snapshot(row)
        row.retracted = True
        row.contradiction = Contradiction.HARSH
        row.version += 1
        row.save(update_fields=["retracted", "contradiction", "version", "updated_at"])
        w.audit(".retracted", row, reason=reason, before=before, after=snapshot(row))
    w.index(*rows)
