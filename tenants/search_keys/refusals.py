"""A trace of searches that were refused, on the owner's own chain: who was turned away, when and why."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from tenants.audit.chain import record_event
from tenants.locks import wait_for_owner
from tenants.models import SearchCredential
from tenants.principal import Principal

# A member who keeps asking leaves one event in this time.
EVERY = timedelta(minutes=1)


def record_refusal(principal: Principal, *, reason: str) -> None:
    """Record that this member's search was refused, at most once a minute; `reason` is a few words of ours."""
    now = timezone.now()
    quiet = Q(refused_at=None) | Q(refused_at__lte=now - EVERY)
    rows = SearchCredential.objects.filter(
        membership_id=principal.membership_id,
        membership__tenant_id=principal.tenant_id,
        membership__user_id=principal.user_id,
    )
    if rows.exclude(quiet).exists():
        return
    with transaction.atomic():
        if not wait_for_owner(principal):
            return
        SearchCredential.objects.get_or_create(membership_id=principal.membership_id)
        if rows.filter(quiet).update(refused_at=now):
            record_event(
                principal,
                action="search.refused",
                target_kind="membership",
                target_id=principal.membership_id,
                reason=reason,
            )
