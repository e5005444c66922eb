"""That somebody read what an event of the audit trail says is itself an event, in the same chain.

Invariant: it is committed before anything is shown.
"""

from __future__ import annotations

from django.db import transaction

from tenants.actor import Actor
from tenants.audit import EventDraft, record_events, record_platform_event, record_tenant_event
from tenants.locks import wait_for_owner
from tenants.models import AuditEvent, Membership, User
from tenants.principal import AUDITS
from tenants.principals import reading_principal

EVENT_READ = "audit.read"
EVENT_KIND = "audit_event"


def note_event_read(staff: User, actor: Actor, event: AuditEvent) -> AuditEvent:
    """Tell the chain of `event` that `staff` read it. Raises Forbidden unless they audit its tenant."""
    draft = EventDraft(EVENT_READ, EVENT_KIND, event.pk, after={"sequence": event.sequence})
    with transaction.atomic():
        if event.tenant_id is None:
            return record_platform_event(actor, draft)
        owners = Membership.objects.filter(tenant_id=event.tenant_id).select_related("user")
        member = owners.filter(user_id=event.owner_id).first() if event.owner_id else None
        if member is None:
            return record_tenant_event(actor, event.tenant_id, draft)
        principal = reading_principal(member, staff=staff, roles=AUDITS, request_id=actor.request_id)
        wait_for_owner(principal)
        return record_events(principal, [draft])[0]
