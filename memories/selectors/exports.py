"""Reads requests for whole memories (`services/portability/member_export.py`)."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from memories.constants import EXPORT_WAITS
from memories.models import ExportRequest, RequestState
from tenants.models import User

# The event of a request that the daily number refused, in the tenant's audit log.
LIMITED = "export.limited"
_DAY = timedelta(days=1)


def asked_lately(asker: User) -> int:
    """The number of whole memories that one person asked for in the last 24 hours, in all tenants."""
    return ExportRequest.objects.filter(asked_by=asker, asked_at__gt=timezone.now() - _DAY).count()


def to_take(staff: User, now: datetime) -> QuerySet[ExportRequest]:
    """The approved requests of `staff` that can still be downloaded."""
    approved = ExportRequest.objects.filter(state=RequestState.APPROVED, asked_by=staff)
    return approved.filter(decided_at__gt=now - EXPORT_WAITS)


def exports_of(membership_id: UUID) -> QuerySet[ExportRequest]:
    """The requests for the memory of one member, latest first."""
    rows = ExportRequest.objects.filter(membership=membership_id).select_related("asked_by", "decided_by")
    return rows.order_by("-asked_at", "pk")
