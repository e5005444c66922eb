"""Copies of a member's memories that were promoted: shared by the tenant or by all, and still the member's words.

Invariant: they are found by what the member's own chain says of promotions, which outlives the rows and their payloads,
so that a receipt can ask again. What others said or were answered since is theirs and stays.
"""

from __future__ import annotations

from uuid import UUID

from django.db.models import Q

from memories.models import ReviewItem
from memories.search.outbox import enqueue_deletes
from memories.services.forget import bridge_chain, bridged
from memories.services.succession import AUDIT_NOUN, Supersedable, model_of
from memories.types import Kind
from tenants.actor import SYSTEM, Actor
from tenants.audit import EventDraft, owner_chain, record_tenant_event
from tenants.erasing import erase_shared_payloads
from tenants.locks import wait_for_tenant
from tenants.models import AuditEvent, Membership

KINDS = (Kind.SEMANTIC, Kind.PROCEDURAL)


def count_copies(membership: Membership) -> int:
    """How many promoted copies there are, without what was promoted or brought back from them."""
    return sum(len(_promoted(membership, kind)) for kind in KINDS)


def erase_copies(membership: Membership, *, at_most: int, actor: Actor = SYSTEM) -> int:
    """Erase some copies, and copies of theirs, in the caller's transaction under the owner's lock; return how many."""
    erased = 0
    for kind in KINDS:
        wait_for_tenant(membership.tenant_id)
        for copy_id in _promoted(membership, kind)[: at_most - erased]:
            erased += _erase(membership.tenant_id, _with_offspring(kind, copy_id), actor)
        if erased >= at_most:
            break
    return erased


def _promoted(membership: Membership, kind: Kind) -> list[UUID]:
    """The shared rows of a kind that a promotion of this member's rows made."""
    told = AuditEvent.objects.filter(
        chain=owner_chain(membership.tenant_id, membership.user_id), action=f"{AUDIT_NOUN[kind]}.promoted"
    )
    shared = model_of(kind).objects.filter(user=None, promoted_from__in=told.values("target_id"))
    return list(shared.order_by("pk").values_list("pk", flat=True))


def _with_offspring(kind: Kind, copy_id: UUID) -> list[Supersedable]:
    """A copy, and whatever was promoted or brought back from it."""
    model = model_of(kind)
    found: dict[UUID, Supersedable] = {}
    fresh: list[Supersedable] = list(model.objects.filter(pk=copy_id))
    while fresh:
        found |= {row.pk: row for row in fresh}
        ids = [row.pk for row in fresh]
        next_ones = model.objects.filter(Q(promoted_from__in=ids) | Q(restores__in=ids), user=None)
        fresh = [row for row in next_ones if row.pk not in found]
    return list(found.values())


def _erase(tenant_id: UUID, rows: list[Supersedable], actor: Actor) -> int:
    ids = [row.pk for row in rows]
    asked = ReviewItem.objects.filter(Q(first__in=ids) | Q(second__in=ids) | Q(playbook__in=ids))
    targets = [*ids, *asked.values_list("pk", flat=True)]
    successors: dict[UUID, UUID | None] = {}
    for row in rows:
        row.refresh_from_db(fields=["superseded_by", "version"])
        bridge_chain(row)
        successors[row.pk] = row.superseded_by_id
    enqueue_deletes(rows)
    for row in rows:
        row.delete()
    erase_shared_payloads(tenant_id, targets)
    for row, pk in zip(rows, ids, strict=True):
        action = f"{AUDIT_NOUN[row.kind]}.forgotten"
        why = "whose it was is erased"
        draft = EventDraft(action, row.kind.value, pk, why, after=bridged(successors, pk))
        record_tenant_event(actor, tenant_id, draft)
    return len(ids)
