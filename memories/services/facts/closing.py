"""Succession: how a fact or a playbook ends. The one place that closes a row, whoever asked for it.

Invariant: a closed row keeps its text; it gets a time, a reason in the audit, and a successor if there is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from memories.errors import Conflict, NotFound
from memories.hygiene.text import normalised
from memories.models import Fact, Playbook
from memories.search.outbox import enqueue_many
from memories.selectors.history.row_record import record_of
from memories.services.ownership import shared_scopes
from memories.services.reviews.queue import withdraw
from memories.types import CURRENT, Contradiction, Kind, Scope, Status
from tenants.audit.chain import EventDraft, record_event, record_events
from tenants.locks import lock_tenant
from tenants.principal import Principal

AUDIT_NOUN = {Kind.EPISODIC: "episode", Kind.SEMANTIC: "fact", Kind.PROCEDURAL: "playbook", Kind.CATALOG: "catalog"}

Supersedable = Fact | Playbook


def model_of(kind: Kind) -> type[Fact | Playbook]:
    """The model of a kind that can be superseded. Raises Conflict for the others."""
    if kind is Kind.SEMANTIC:
        return Fact
    if kind is Kind.PROCEDURAL:
        return Playbook
    raise Conflict("Only facts and playbooks can be superseded; an episode is what was said and stays as it is.")


def own_row(principal: Principal, kind: Kind, memory_id: UUID, *, shared: bool = False) -> Supersedable:
    """The owner's row, whatever its state (`shared`: or a shared one that the principal may change).

    Raises NotFound if it is unknown or somebody else's, Conflict for a kind that is never superseded.
    """
    return _rows(principal, kind, {memory_id}, shared=shared)[memory_id]


def current_rows(principal: Principal, kind: Kind, ids: Sequence[UUID], *, shared: bool = False) -> list[Supersedable]:
    """The owner's rows `ids`, all of them current (`shared`: shared ones that the principal may change among them).

    Raises NotFound if one is unknown or somebody else's, Conflict if one has been superseded already.
    """
    if not ids:
        return []
    rows = _rows(principal, kind, set(ids), shared=shared)
    if any(row.status not in CURRENT for row in rows.values()):
        raise Conflict("It was replaced already; look at its history and correct the current one.")
    return [rows[pk] for pk in dict.fromkeys(ids)]


def _rows(principal: Principal, kind: Kind, ids: set[UUID], *, shared: bool) -> dict[UUID, Supersedable]:
    """Rows to change; shared ones are read under the lock of their tenant, too. Raises NotFound."""
    mine = Q(tenant_id=principal.tenant_id, user_id=principal.user_id)
    scopes = shared_scopes(principal) if shared else ()
    if Scope.TENANT in scopes:
        mine |= Q(scope=Scope.TENANT, tenant_id=principal.tenant_id)
    if Scope.GLOBAL in scopes:
        mine |= Q(scope=Scope.GLOBAL)
    wanted = model_of(kind).objects.filter(mine, pk__in=ids)
    if scopes and wanted.filter(user=None).exists():
        lock_tenant(principal.tenant_id)
    rows: dict[UUID, Supersedable] = {row.pk: row for row in wanted}
    if len(rows) != len(ids):
        raise NotFound("fact" if kind is Kind.SEMANTIC else "playbook")
    return rows


def require_place(rows: Iterable[Supersedable], scope: Scope, task: str) -> None:
    """Raise Conflict unless all `rows` are of this scope and task: no write reaches upward or sideways."""
    if any((row.scope, row.task or "") != (scope, task) for row in rows):
        raise Conflict("A memory is only replaced within its own scope and task; say there what is true instead.")


def close(rows: Iterable[Supersedable], *, at: datetime, valid_to: datetime, contradiction: Contradiction) -> None:
    """Mark `rows` superseded as of `at`, without a successor yet (uniqueness is freed before the new row is stored).

    Natural: a fact's validity ends at `valid_to`, or where it had ended before. Harsh: it stays as it was claimed, for
    what never was true has no end; `retracted` says so.
    """
    for row in rows:
        row.as_it_was = snapshot(row)
        row.status = Status.SUPERSEDED
        row.superseded_at = max(at, row.learned_at)
        row.contradiction = contradiction
        row.retracted = contradiction is Contradiction.HARSH
        row.version += 1
        fields = ["status", "superseded_at", "contradiction", "retracted", "version", "updated_at"]
        if isinstance(row, Fact) and contradiction is Contradiction.NATURAL:
            ends = min(valid_to, row.valid_to) if row.valid_to else valid_to
            row.valid_to = max(ends, row.valid_from) if row.valid_from else ends
            fields.append("valid_to")
        row.save(update_fields=fields)


def link(
    principal: Principal, rows: Sequence[Supersedable], successor: Supersedable | None, *, reason: str = ""
) -> None:
    """Point closed `rows` to their successor (None: retired), with audit and outbox; they are asked about no more."""
    events = []
    for row in rows:
        if successor is not None:
            row.superseded_by_id = successor.pk
            row.save(update_fields=["superseded_by", "updated_at"])
        noun = AUDIT_NOUN[row.kind]
        before, after = told_change(row)
        if successor is not None:  # only the id: its text is in its own events, so forgetting it erases it everywhere
            after["superseded_by"] = str(successor.pk)
        events.append(
            EventDraft(
                action=f"{noun}.superseded" if successor is not None else f"{noun}.retired",
                target_kind=row.kind.value,
                target_id=row.pk,
                reason=reason,
                before=before,
                after=after or None,
                row=record_of(row),
            )
        )
    record_events(principal, events)
    withdraw(principal, [row.pk for row in rows])
    enqueue_many(list(rows))


def told_change(row: Supersedable) -> tuple[Mapping[str, object], dict[str, object]]:
    """A row before its change and after it; what was not changed, for nobody noted how it was, has nothing after."""
    before, now = row.as_it_was, snapshot(row)
    row.as_it_was = None
    return (now, {}) if before is None else (before, now)


def tell(
    principal: Principal,
    row: Supersedable,
    verb: str,
    *,
    reason: str,
    before: Mapping[str, object] | None = None,
    after: Mapping[str, object] | None = None,
) -> None:
    """Tell the trail what was done to `row`, which has been saved, such as "revived"."""
    record_event(
        principal,
        action=f"{AUDIT_NOUN[row.kind]}.{verb}",
        target_kind=row.kind.value,
        target_id=row.pk,
        reason=reason,
        before=before,
        after=after,
        row=record_of(row),
    )


def snapshot(row: Supersedable) -> dict[str, object]:
    """What an auditor wants to see of a row, in plain values.

    Of a shared row only what has no words: its own states keep those, and what somebody promoted to their tenant must
    not stay in the audit of their memory once they have had it forgotten there.
    """
    common: dict[str, object] = {"status": str(row.status), "learned_at": row.learned_at.isoformat()}
    if row.contradiction:
        common["contradiction"] = str(row.contradiction)
    if row.user_id is None:
        return common | {"scope": str(row.scope)}
    common["text"] = row.text
    if isinstance(row, Fact):
        common |= {
            "key": row.key,
            "category": row.category,
            "confidence": row.confidence,
            "source": str(row.source),
            "valid_from": row.valid_from.isoformat() if row.valid_from else None,
            "valid_to": row.valid_to.isoformat() if row.valid_to else None,
        }
    else:
        common |= {"title": row.title, "trigger": row.trigger, "steps": list(row.steps)}
    return common


def same_wording(left: str, right: str) -> bool:
    """Whether two texts say the same to the hash gate."""
    return normalised(left) == normalised(right)
