"""Keeping house in an owner's memories, whether or not anybody may act as them: what the collection and the scan share.

Invariant: everything happens in one transaction that holds the owner's lock, with its events in the chain of whoever
the memories belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from memories.search.outbox import enqueue_many
from memories.selectors.history.row_record import records_of
from memories.services.facts.closing import Supersedable, model_of
from memories.types import Owner
from tenants.audit.chain import EventDraft, record_events, record_platform_event, record_tenant_event
from tenants.locks import wait_for_owner, wait_for_tenant
from tenants.models import Membership
from tenants.principal import SYSTEM, Principal
from tenants.principals import keeping_principal


@dataclass(frozen=True, slots=True)
class Keeper:
    """Into which chain of the audit goes what is done; `principal` acts for a member, None for what is shared."""

    record: Callable[[list[EventDraft]], object]
    principal: Principal | None


@contextmanager
def keeping(owner: Owner) -> Iterator[Keeper]:
    """A transaction that holds the lock of an owner."""
    with transaction.atomic():
        if owner.tenant_id is None:
            yield Keeper(lambda events: [record_platform_event(SYSTEM, event) for event in events], None)
        elif owner.user_id is None:
            tenant_id = owner.tenant_id
            wait_for_tenant(tenant_id)
            yield Keeper(lambda events: [record_tenant_event(SYSTEM, tenant_id, event) for event in events], None)
        else:
            membership = Membership.objects.select_related("user").get(tenant=owner.tenant_id, user=owner.user_id)
            principal = keeping_principal(membership)
            wait_for_owner(principal)
            yield Keeper(lambda events: record_events(principal, events), principal)


def change(rows: Sequence[Supersedable], changes: dict[str, Any]) -> dict[UUID, dict[str, Any]]:
    """Change rows that are all of one kind, and have the search plane told; how each stands then, for its event."""
    model = model_of(rows[0].kind)
    model.objects.filter(pk__in=[row.pk for row in rows]).update(
        **changes, version=F("version") + 1, updated_at=timezone.now()
    )
    for row in rows:
        row.version += 1
    enqueue_many(rows)
    return records_of(rows[0].kind, [row.pk for row in rows])
