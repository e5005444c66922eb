"""Staff looking into somebody's memory: that they did is told to the trail of whose memory it is.

Invariant: the event is committed before anything is shown.
"""

from __future__ import annotations

from django.db import transaction

from memories.models import ReviewItem
from memories.services.reviews import AUDIT_KIND, subject
from tenants.actor import Actor
from tenants.audit import EventDraft, record_event, record_tenant_event
from tenants.locks import lock_owner
from tenants.principal import Principal, Right


def note_review_read(principal: Principal, item: ReviewItem) -> None:
    """Tell the member's trail that staff looked at a review of theirs. Raises Forbidden."""
    principal.require(Right.READ)
    with transaction.atomic():
        lock_owner(principal)
        record_event(principal, action="review.read", target_kind=AUDIT_KIND, target_id=item.pk, after=subject(item))


def note_shared_review_read(actor: Actor, item: ReviewItem) -> None:
    """The same of what a tenant shares: its own trail tells of it."""
    with transaction.atomic():
        record_tenant_event(actor, item.tenant_id, EventDraft("review.read", AUDIT_KIND, item.pk, after=subject(item)))
