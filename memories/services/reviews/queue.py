"""The review queue: opens questions about memories for a person, and withdraws them when they are obsolete.

An open item is about current memories; ending a memory withdraws its items in the same transaction. Decisions are in
`services/reviews/decisions.py`. The owner's audit log has events of each item, with ids only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from memories.models import CaseState, Fact, Playbook, ReviewDecision, ReviewItem, ReviewKind, SupportCase
from memories.services.write import Write
from memories.types import CURRENT
from tenants.principal import Principal

AUDIT_KIND = "review"
CASE = "case"
REASON_CHARACTERS = 300
# A stale memory that somebody kept is not proposed again within this time. One kept for another reason never is.
KEPT_FOR = timedelta(days=90)


def open_contradiction(
    w: Write, first: Fact, second: Fact, *, reason: str, evidence: Mapping[str, Any]
) -> ReviewItem | None:
    """Ask which of two facts holds; None if the question is not possible or was asked before.

    Both facts must be current and of one owner, scope and task. The pair must not be in an open review, or decided to
    be kept. `reason` must not quote the facts; `evidence` holds numbers and names.
    """
    if first.pk == second.pk or _place(first) != _place(second):
        return None
    if not (_askable(w.principal, first) and _askable(w.principal, second)):
        return None
    if was_asked(first, second):
        return None
    older, newer = sorted((first, second), key=lambda fact: (fact.learned_at, fact.pk))
    return _open(w, ReviewKind.CONTRADICTION, older, reason, evidence, second=newer)


def open_eviction(w: Write, row: Fact | Playbook, *, reason: str, evidence: Mapping[str, Any]) -> ReviewItem | None:
    """Propose to evict a memory; None if it is not current, already proposed, or was kept (see KEPT_FOR).

    For a stale memory `evidence` holds its `staleness`.
    """
    if not _askable(w.principal, row):
        return None
    about = Q(first=row.pk) if isinstance(row, Fact) else Q(playbook=row.pk)
    earlier = ReviewItem.objects.of_owner(row.tenant_id, row.user_id).filter(about, kind=ReviewKind.EVICTION)
    if earlier.filter(decision=ReviewDecision.OPEN).exists():
        return None
    kept = earlier.filter(decision=ReviewDecision.KEEP)
    if "staleness" in evidence:
        kept = kept.filter(decided_at__gt=timezone.now() - KEPT_FOR)
    if kept.exists():
        return None
    return _open(w, ReviewKind.EVICTION, row, reason, evidence)


def withdraw(w: Write, memory_ids: Iterable[UUID], *, kind: ReviewKind | None = None) -> int:
    """Withdraw the open reviews of these memories (only of `kind`, if given); return how many."""
    ids = list(memory_ids)
    if not ids:
        return 0
    items = ReviewItem.objects.in_place({"tenant_id": w.owner.tenant_id}).filter(
        _about(ids), decision=ReviewDecision.OPEN
    )
    if kind is not None:
        items = items.filter(kind=kind)
    open_items = list(items.order_by("created_at", "pk"))
    for item in open_items:
        item.decision, item.decided_at = ReviewDecision.WITHDRAWN, timezone.now()
        w.audit("review.withdrawn", target_kind=AUDIT_KIND, target_id=item.pk, after=subject(item))
        set_case_state(w, item, CaseState.OPEN)
    if open_items:
        ReviewItem.objects.bulk_update(open_items, ["decision", "decided_at"])
    return len(open_items)


def is_asked_about(model: type[Fact | Playbook]) -> Exists:
    """A subquery for facts or playbooks: whether an open item is about the row."""
    row = OuterRef("pk")
    about = Q(playbook=row) if model is Playbook else Q(first=row) | Q(second=row)
    return Exists(ReviewItem.objects.filter(about, decision=ReviewDecision.OPEN))


def reviews_naming(principal: Principal, memory_ids: Iterable[UUID]) -> list[UUID]:
    """The owner's items about these memories, or whose outcome names them. Erasure also erases their audit payloads."""
    ids = list(memory_ids)
    mine = ReviewItem.objects.of(principal)
    about = mine.filter(_about(ids)).values_list("pk", flat=True)
    named = {str(memory_id) for memory_id in ids}
    wrote = [pk for pk, outcome in mine.exclude(outcome={}).values_list("pk", "outcome") if named & _ids_in(outcome)]
    return [*about, *wrote]


def set_case_state(w: Write, item: ReviewItem, state: CaseState) -> None:
    """Set the state of the case in which support proposed a correction; other reviews have none."""
    if item.case_id is None:
        return
    case = SupportCase.objects.in_place({"tenant_id": w.owner.tenant_id}).filter(pk=item.case_id).first()
    if case is not None and case.state != state:
        case.state = state
        case.save(update_fields=["state", "updated_at"])
        w.audit("case.changed", target_kind=CASE, target_id=case.pk, after={"state": str(state)})


def subject(item: ReviewItem) -> dict[str, Any]:
    """The kind and ids of an item for its audit events, without texts."""
    ids = {"first": item.first_id, "second": item.second_id, "playbook": item.playbook_id, CASE: item.case_id}
    return {"kind": str(item.kind)} | {name: str(pk) for name, pk in ids.items() if pk is not None}


def _open(
    w: Write,
    kind: ReviewKind,
    row: Fact | Playbook,
    reason: str,
    evidence: Mapping[str, Any],
    *,
    second: Fact | None = None,
) -> ReviewItem:
    item = ReviewItem.objects.create(
        kind=kind,
        tenant_id=w.principal.tenant_id,
        user_id=row.user_id,
        first=row if isinstance(row, Fact) else None,
        second=second,
        playbook=row if isinstance(row, Playbook) else None,
        reason=reason[:REASON_CHARACTERS],
        evidence=dict(evidence),
    )
    w.audit("review.opened", target_kind=AUDIT_KIND, target_id=item.pk, after=subject(item))
    return item


def _askable(principal: Principal, row: Fact | Playbook) -> bool:
    """Whether a row is current, and the principal's own or shared in their tenant. Global rows have no queue."""
    mine = row.tenant_id == principal.tenant_id and row.user_id in (principal.user_id, None)
    return mine and row.status in CURRENT


def _about(ids: list[UUID]) -> Q:
    return Q(first__in=ids) | Q(second__in=ids) | Q(playbook__in=ids)


def _ids_in(outcome: Mapping[str, Any]) -> set[str]:
    """All ids in an outcome (see `services/reviews/decisions.py`)."""
    steps = outcome.get("steps", [])
    named = {step["by"] for step in steps} | {pk for step in steps for pk in step["ended"]}
    return named | set(outcome.get("confirmed", {})) | set(outcome.get("pair", [])) | {outcome.get("evicted", "")}


def _place(row: Fact) -> tuple[object, ...]:
    return (row.tenant_id, row.user_id, row.scope, row.task)


def was_asked(first: Fact, second: Fact) -> bool:
    """Whether this pair is in an open review or was decided to be kept or edited, also before an undo restored it."""
    left, right = _states(first), _states(second)
    pair = Q(first__in=left, second__in=right) | Q(first__in=right, second__in=left)
    items = ReviewItem.objects.of_owner(first.tenant_id, first.user_id).filter(kind=ReviewKind.CONTRADICTION)
    if items.filter(pair, decision__in=[ReviewDecision.OPEN, ReviewDecision.KEEP_BOTH]).exists():
        return True
    worded = items.filter(decision=ReviewDecision.EDIT).values_list("outcome", flat=True)
    pairs = [{UUID(pk) for pk in outcome.get("pair", [])} for outcome in worded]
    return any(each & left and each & right for each in pairs)


def _states(fact: Fact) -> set[UUID]:
    """The ids of a fact and of the rows that it restores."""
    states = {fact.pk}
    earlier = fact.restores
    while earlier is not None and earlier not in states:
        states.add(earlier)
        earlier = (
            Fact.objects.unscoped("rows by ids under the lock")
            .filter(pk=earlier)
            .values_list("restores", flat=True)
            .first()
        )
    return states
