"""The sweep of sessions whose time is over: by Celery, or on a thread of a web process without it.

Invariant: each session expires in a transaction of its own, so a sweep may be stopped anywhere, run again, or run
beside another. What cannot expire now is left as it is, and does not keep others waiting.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db import DatabaseError
from django.utils import timezone

from memories.errors import MemoriesError
from memories.models import Session
from memories.services.sessions.entries import expire_session
from memoryhub import background
from memoryhub.background import Repeated
from tenants.errors import TenantsError
from tenants.models import Membership
from tenants.principals import system_principal
from tenants.selectors import has_active_member

log = logging.getLogger(__name__)

PAUSE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Sweep:
    """How many sessions expired, and how many were due and could not."""

    expired: int = 0
    failed: int = 0


def expire_sessions(now: datetime | None = None) -> Sweep:
    """Expire all sessions that are due, of members who are active; of others everything stays as it is."""
    now = now or timezone.now()
    due = Session.objects.filter(has_active_member(), expires_at__lte=now, expired_at=None).order_by("expires_at", "pk")
    expired = failed = 0
    for session in list(due.only("pk", "tenant_id", "user_id")):
        try:
            expired += _expire(session, now)
        except (MemoriesError, TenantsError, DatabaseError) as error:
            failed += 1
            log.warning("Session %s did not expire: %s. It is tried again.", session.pk, type(error).__name__)
    return Sweep(expired, failed)


def serve() -> Callable[[], None]:
    """Start the thread of a serving process that has no Celery; return what stops it again."""
    return background.serve(Repeated("session-expiry", expire_sessions, pause=PAUSE_SECONDS))


def _expire(session: Session, now: datetime) -> bool:
    membership = Membership.objects.select_related("tenant", "user").get(
        tenant_id=session.tenant_id, user_id=session.user_id
    )
    return expire_session(system_principal(membership), session_id=session.pk, now=now)
