"""The job that ends sessions after their time.

Each session expires in a transaction of its own, so a run may be stopped anywhere or run beside another. A session that
cannot expire now stays as it is and keeps no other waiting.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime

from django.db import DatabaseError
from django.utils import timezone

from memories.errors import MemoriesError
from memories.models import Session
from memories.services.sessions.entries import expire_session
from tenants.errors import TenantsError
from tenants.models import Membership
from tenants.principals import system_principal
from tenants.selectors import has_active_member

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sweep:
    """How many sessions expired, and how many were due and could not."""

    expired: int = 0
    failed: int = 0


def expire_sessions(now: datetime | None = None) -> Sweep:
    """Expire all sessions that are due, of members who are active; of others everything stays as it is."""
    now = now or timezone.now()
    due = (
        Session.objects.unscoped("expiry of every session")
        .filter(has_active_member(), expires_at__lte=now, expired_at=None)
        .order_by("expires_at", "pk")
    )
    expired = failed = 0
    for session in list(due.only("pk", "tenant_id", "user_id")):
        try:
            expired += _expire(session, now)
        except (MemoriesError, TenantsError, DatabaseError) as error:
            failed += 1
            log.warning("Session %s did not expire: %s. It is tried again.", session.pk, type(error).__name__)
    return Sweep(expired, failed)


def _expire(session: Session, now: datetime) -> bool:
    membership = Membership.objects.select_related("tenant", "user").get(
        tenant_id=session.tenant_id, user_id=session.user_id
    )
    return expire_session(system_principal(membership), session_id=session.pk, now=now)
