"""Appends events to the chains of the audit log and erases their payloads.

`tenants/audit/verification.py` verifies chains. A payload is erased together with a sealed record of the event that
erased it.

Events of one chain are numbered 1, 2, 3 … without a gap, and each holds the digest of its predecessor. The chain's head
holds the length and the last digest and is updated in the same transaction. Writers of an owner's chain hold the
owner's membership lock (`tenants/locks.py`); writers of other chains lock the head.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memoryhub.db.compiled_query import Prepared
from memoryhub.db.scope import WideRole, acting_as
from memoryhub.db.statements import in_statements
from memoryhub.installation import PROGRAM
from tenants.audit.digests import (
    DIGESTED_COLUMNS,
    GENESIS,
    canonical_json,
    erasure_seal,
    event_digest,
    head_seal,
    payload_digest,
    seal_fault,
)
from tenants.errors import AuditConflict
from tenants.models import AuditErasure, AuditEvent, AuditHead, AuditPayload
from tenants.principal import Actor, Principal

PLATFORM_CHAIN = "platform"


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event to append. `before` and `after` hold plain values, ids and times.

    `row` is the target's row after the change; verification compares stored rows with it. None for targets without one.
    `id` is the event's, for an event that erases payloads before it is appended.
    """

    action: str
    target_kind: str = ""
    target_id: UUID | None = None
    reason: str = ""
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    row: Mapping[str, Any] | None = None
    id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain's name, and the tenant and owner that its events carry."""

    name: str
    tenant_id: UUID | None = None
    owner_id: UUID | None = None

    @classmethod
    def of_owner(cls, principal: Principal) -> Chain:
        """The chain of one owner's memories."""
        return cls(owner_chain(principal.tenant_id, principal.user_id), principal.tenant_id, principal.user_id)

    @classmethod
    def of_tenant(cls, tenant_id: UUID) -> Chain:
        """The chain of the tenant's administration."""
        return cls(tenant_chain(tenant_id), tenant_id)


def owner_chain(tenant_id: UUID, user_id: UUID) -> str:
    """The name of the chain of one owner's memories."""
    return f"owner:{tenant_id}:{user_id}"


def tenant_chain(tenant_id: UUID) -> str:
    """The name of the chain of a tenant's administration: members, roles, tokens."""
    return f"tenant:{tenant_id}"


def record_event(
    principal: Principal,
    *,
    action: str,
    target_kind: str = "",
    target_id: UUID | None = None,
    reason: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    row: Mapping[str, Any] | None = None,
) -> AuditEvent:
    """Append one event to the owner's chain; see `record_events`."""
    draft = EventDraft(action, target_kind, target_id, reason, before, after, row)
    return record_events(principal, [draft])[0]


def record_events(principal: Principal, drafts: Sequence[EventDraft]) -> list[AuditEvent]:
    """Append events to the owner's chain, in order; the caller's transaction must hold `lock_owner`.

    Raises AuditConflict if another writer appended meanwhile, because the lock was not held.
    """
    actor = principal.actor
    return append_events(Chain.of_owner(principal), [(actor, draft) for draft in drafts])


def record_tenant_event(actor: Actor, tenant_id: UUID, draft: EventDraft) -> AuditEvent:
    """Append to the tenant's chain, in the caller's transaction."""
    return append_events(Chain.of_tenant(tenant_id), [(actor, draft)])[0]


def record_platform_event(actor: Actor, draft: EventDraft) -> AuditEvent:
    """Append to the platform's chain (tenants and users), in the caller's transaction."""
    return append_events(Chain(PLATFORM_CHAIN), [(actor, draft)])[0]


def erase_payloads(principal: Principal, *, target_ids: Iterable[UUID], by: UUID) -> int:
    """Erase the payloads of the owner's events about these targets; see `erase_some`. Returns how many."""
    own = AuditPayload.objects.filter(event__chain=owner_chain(principal.tenant_id, principal.user_id))
    statements = in_statements(list(target_ids))
    return sum(erase_some(own.filter(event__target_id__in=some), by=by) for some in statements)


def erase_some(payloads: QuerySet[AuditPayload], *, by: UUID) -> int:
    """Delete these payloads, and record that the event `by` of this transaction or an earlier one erased them.

    The chain still verifies. Returns how many.
    """
    digests = dict(payloads.values_list("pk", "event__payload_digest"))
    for some in in_statements(list(digests)):
        AuditErasure.objects.bulk_create(
            AuditErasure(event_id=pk, by=by, seal=erasure_seal(pk, digests[pk], by)) for pk in some
        )
        AuditPayload.objects.filter(pk__in=some).delete()
    return len(digests)


def append_events(chain: Chain, drafts: Sequence[tuple[Actor, EventDraft]]) -> list[AuditEvent]:
    """Append events to one chain, in order, with one update of the head and one bulk insert per table.

    Raises TransactionManagementError outside a transaction, AuditConflict if the head moved or was changed.
    """
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("An audit event needs the transaction of what it records.")
    if not drafts:
        return []
    # A member's scope shows no chain but their own; whatever acts may append to the tenant's and the platform's.
    with acting_as(WideRole.JOBS) if chain.owner_id is None else nullcontext():
        return _append(chain, drafts)


def _append(chain: Chain, drafts: Sequence[tuple[Actor, EventDraft]]) -> list[AuditEvent]:
    head = _locked_head(chain.name)
    now = timezone.now()
    events: list[AuditEvent] = []
    payloads: list[AuditPayload] = []
    previous = head.digest
    for sequence, (actor, draft) in enumerate(drafts, start=head.length + 1):
        payload = _payload(draft)
        event = AuditEvent(
            id=draft.id or uuid4(),
            chain=chain.name,
            sequence=sequence,
            previous_digest=previous,
            payload_digest=payload_digest(payload.salt, payload.document),
            tenant_id=chain.tenant_id,
            owner_id=chain.owner_id,
            actor_kind=actor.kind.value,
            actor_id=actor.id,
            action=draft.action,
            target_kind=draft.target_kind,
            target_id=draft.target_id,
            request_id=actor.request_id,
            created_at=now,
        )
        previous = event.digest = event_digest({name: getattr(event, name) for name in DIGESTED_COLUMNS})
        payload.event = event
        events.append(event)
        payloads.append(payload)
    _advance(head, by=len(events), digest=previous)
    AuditEvent.objects.bulk_create(events)
    AuditPayload.objects.bulk_create(payloads)
    return events


def _payload(draft: EventDraft) -> AuditPayload:
    content: dict[str, Any] = {"reason": draft.reason, "before": draft.before, "after": draft.after}
    if draft.row is not None:
        content["row"] = draft.row
    return AuditPayload(salt=secrets.token_hex(16), document=canonical_json(content))


def _locked_head(chain: str) -> AuditHead:
    head = _HEAD.first(chain)
    if head is None:
        # Two writers of a new chain may meet here; the loser's insert is ignored, and it waits for the winner's row.
        head = AuditHead(chain=chain, length=0, digest=GENESIS)
        head.seal = head_seal(head)
        AuditHead.objects.bulk_create([head], ignore_conflicts=True)
        head = _HEAD.all(chain)[0]
    if fault := seal_fault(head):
        # Going on would seal what somebody forged.
        raise AuditConflict(f"The chain {chain} of the audit log takes no event: {fault}. Run {PROGRAM} verify_audit.")
    return head


def _head(chain: str) -> QuerySet[AuditHead]:
    return AuditHead.objects.select_for_update(no_key=True).filter(chain=chain)


_HEAD = Prepared(_head)


def _advance(head: AuditHead, *, by: int, digest: str) -> None:
    at = AuditHead.objects.filter(chain=head.chain, length=head.length, digest=head.digest)
    head.length, head.digest = head.length + by, digest
    if at.update(length=head.length, digest=digest, seal=head_seal(head)) != 1:
        raise AuditConflict("The audit chain moved while it was appended to; its lock was not held.")
