"""Reads requests for whole memories (`services/portability/member_export.py`)."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from memories.constants import EXPORT_WAITS
from memories.models import ExportRequest, RequestState
from tenants.models import User
from tenants.principal import KeyHolder

# The event of a request that the daily number refused, in the tenant's audit log.
LIMITED = "export.limited"
_DAY = timedelta(days=1)


def asked_lately(asker: User | KeyHolder) -> int:
    """The number of whole memories that a person, in all tenants, or a backend key asked for in the last 24 hours."""
    return _asked_by(asker).filter(asked_at__gt=timezone.now() - _DAY).count()


def to_take(asker: User | KeyHolder, now: datetime) -> QuerySet[ExportRequest]:
    """The approved requests of `asker` that can still be downloaded."""
    return _asked_by(asker).filter(state=RequestState.APPROVED, decided_at__gt=now - EXPORT_WAITS)


def _asked_by(asker: User | KeyHolder) -> QuerySet[ExportRequest]:
    if isinstance(asker, KeyHolder):
        return ExportRequest.objects.filter(asked_by_key=asker.key_id)
    return ExportRequest.objects.filter(asked_by=asker)


def exports_of(membership_id: UUID) -> QuerySet[ExportRequest]:
    """The requests for the memory of one member, latest first."""
    rows = ExportRequest.objects.filter(membership=membership_id).select_related("asked_by", "decided_by")
    return rows.order_by("-asked_at", "pk")
