"""Rows that tests made or changed through the models, told to the trail as the services would have told it."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from memories.models import Fact, Playbook
from memories.selectors.history.rows import record_of
from memories.types import Status
from tenants.audit.chain import EventDraft, record_events
from tenants.locks import lock_owner
from tenants.models import AuditEvent
from tenants.principal import Principal


def retell(principal: Principal, *ids: UUID) -> None:
    """Have the owner's trail tell how these rows of theirs stand now."""
    rows = [row for model in (Fact, Playbook) for row in model.objects.of(principal).filter(pk__in=ids)]
    told = set(AuditEvent.objects.filter(target_id__in=ids).values_list("target_id", flat=True))
    with transaction.atomic():
        lock_owner(principal)
        for row in rows:
            noun = "fact" if isinstance(row, Fact) else "playbook"
            verbs = [] if row.pk in told else ["created"]
            verbs += ["evicted"] if row.status == Status.EVICTED else ["placed"]
            record_events(
                principal, [EventDraft(f"{noun}.{verb}", row.kind.value, row.pk, row=record_of(row)) for verb in verbs]
            )
