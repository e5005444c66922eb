"""That somebody read what an event of the audit trail says is itself an event, in the same chain.

Invariant: it is committed before anything is shown. A chain that somebody broke may take no event any more; then the
next wider one tells of the look, so that whoever is to find the damage can see it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from uuid import UUID

from django.db import IntegrityError, transaction

from tenants.actor import Actor
from tenants.audit import EventDraft, record_events, record_platform_event, record_tenant_event
from tenants.errors import AuditConflict
from tenants.locks import wait_for_owner
from tenants.models import AuditEvent, Membership, User
from tenants.principal import AUDITS, Principal
from tenants.principals import reading_principal

log = logging.getLogger(__name__)

EVENT_READ = "audit.read"
EVENT_KIND = "audit_event"
ELSEWHERE = "the chain of whose it is takes no event"


def note_event_read(staff: User, actor: Actor, event: AuditEvent) -> AuditEvent:
    """Tell the chain of `event` that `staff` read it. Raises Forbidden unless they audit its tenant."""
    draft = EventDraft(EVENT_READ, EVENT_KIND, event.pk, after={"sequence": event.sequence})
    if event.tenant_id is None:
        return tell_platform(actor, draft)
    owners = Membership.objects.filter(tenant_id=event.tenant_id).select_related("user")
    member = owners.filter(user_id=event.owner_id).first() if event.owner_id else None
    if member is None:
        return tell_tenant(actor, event.tenant_id, draft)
    principal = reading_principal(member, staff=staff, roles=AUDITS, request_id=actor.request_id)
    return tell_owner(principal, draft)


def tell_owner(principal: Principal, draft: EventDraft) -> AuditEvent:
    """Tell the chain of the principal that somebody looked, or the tenant's if that takes no event."""

    def own() -> AuditEvent:
        wait_for_owner(principal)
        return record_events(principal, [draft])[0]

    actor = Actor(principal.actor_kind, principal.actor_id, principal.request_id)
    whose = {**(draft.after or {}), "membership": str(principal.membership_id)}
    return _first(own, partial(tell_tenant, actor, principal.tenant_id, replace(draft, reason=ELSEWHERE, after=whose)))


def tell_tenant(actor: Actor, tenant_id: UUID, draft: EventDraft) -> AuditEvent:
    """Tell the chain of a tenant that somebody looked, or the platform's if that takes no event."""
    whose = {**(draft.after or {}), "tenant": str(tenant_id)}
    return _first(
        partial(record_tenant_event, actor, tenant_id, draft),
        partial(tell_platform, actor, replace(draft, reason=ELSEWHERE, after=whose)),
    )


def tell_platform(actor: Actor, draft: EventDraft) -> AuditEvent:
    """Tell the chain of the platform that somebody looked."""
    with transaction.atomic():
        return record_platform_event(actor, draft)


def _first(own: Callable[[], AuditEvent], wider: Callable[[], AuditEvent]) -> AuditEvent:
    try:
        with transaction.atomic():
            return own()
    except (AuditConflict, IntegrityError) as error:
        log.error("A chain of the audit trail takes no event (%s): have it verified.", type(error).__name__)  # noqa: TRY400 - no row in the log
        return wider()
