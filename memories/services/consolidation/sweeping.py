"""Sweeping: who is due for a consolidation by the rules of their tenant, and consolidating them one after the other.

Invariant: an owner whose consolidation fails, or takes long, keeps nobody else waiting, and is taken up again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from memories.errors import MemoriesError
from memories.models import EpisodeLedger, Trigger
from memories.selectors.policies import Policy, policy_of
from memories.services.consolidation.running import RunReport, consolidate
from memoryhub.leases import free
from tenants.errors import TenantsError
from tenants.principals import system_principal
from tenants.selectors import active_memberships, has_active_member

log = logging.getLogger(__name__)

# A sweep begins no further owner after so long: those who waited longest are looked for anew.
SWEEP_SECONDS = 600.0
# One owner begins no further batch after so long, while others wait; then it is their turn.
OWNER_SECONDS = 30.0
OFF, TURN = "off", "turn"


@dataclass(frozen=True, slots=True)
class Due:
    """An owner to consolidate, and why."""

    tenant_id: UUID
    user_id: UUID
    trigger: Trigger


def due(now: datetime) -> Iterator[Due]:
    """The owners whose episodes waited long enough, or are enough; longest waiting first. Nobody who is not active."""
    ready = Q(retry_at__isnull=True) | Q(retry_at__lte=now)
    policies: dict[UUID, Policy] = {}
    rows = EpisodeLedger.objects.unscoped("consolidation of every owner").filter(
        has_active_member(), free(now), ready, waiting_since__isnull=False
    )
    for row in list(rows.order_by("waiting_since")):
        policy = policies.get(row.tenant_id) or policies.setdefault(row.tenant_id, policy_of(row.tenant_id))
        trigger = _trigger(row, policy, now)
        if trigger is not None:
            yield Due(row.tenant_id, row.user_id, trigger)


def sweep() -> list[RunReport]:
    """Consolidate who is due, by turns, as long as SWEEP_SECONDS last. Nothing if MEMORYHUB_CONSOLIDATE is off."""
    reports: list[RunReport] = []
    if settings.MEMORYHUB_CONSOLIDATE == OFF:
        return reports
    ends = time.monotonic() + SWEEP_SECONDS
    while time.monotonic() <= ends:
        done = [report for owner in due(timezone.now()) if (report := _in_time(owner, ends)) is not None]
        reports += done
        if not any(report.episodes or report.given_up for report in done):
            break
    return reports


def _in_time(owner: Due, ends: float) -> RunReport | None:
    return consolidate_owner(owner) if time.monotonic() <= ends else None


def consolidate_owner(owner: Due) -> RunReport | None:
    """One owner; nobody acts for a membership that ended, so their episodes wait."""
    membership = active_memberships().filter(tenant_id=owner.tenant_id, user_id=owner.user_id).first()
    if membership is None:
        return None
    try:
        return consolidate(system_principal(membership), trigger=owner.trigger, seconds=OWNER_SECONDS)
    except (MemoriesError, TenantsError) as error:
        log.info("A consolidation was put off: %s", error)
        return None


def _trigger(row: EpisodeLedger, policy: Policy, now: datetime) -> Trigger | None:
    if row.attempts:
        return Trigger.RETRY
    if settings.MEMORYHUB_CONSOLIDATE == TURN:
        return Trigger.TURN
    if row.stored - row.consolidated >= policy.consolidate_every:
        return Trigger.COUNT
    if row.waiting_since is not None and row.waiting_since + policy.consolidate_after <= now:
        return Trigger.AGE
    return None
