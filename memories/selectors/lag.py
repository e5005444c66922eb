"""What waits for the search plane: of one member, and of several tenants beside each other.

Invariant: an entry names a memory by its id and holds no words, so whoever may see that something waits sees no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, Max, Min, Q, QuerySet
from django.utils import timezone

from memories.models import OutboxEntry
from memories.search.outbox import pending
from memories.types import Owner
from tenants.models import Tenant
from tenants.principal import Principal, Right

# So much later than usual people notice: a fact that was just said is not found by its meaning yet.
LATE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Lag:
    """How many changes wait, since when the oldest of them does, and how many were tried in vain (at most so often)."""

    waiting: int
    failing: int
    oldest: datetime | None
    attempts: int
    now: datetime

    @property
    def behind(self) -> timedelta:
        """How far the index is behind."""
        return max(self.now - self.oldest, timedelta()) if self.oldest else timedelta()

    @property
    def is_late(self) -> bool:
        """Whether somebody should look."""
        return self.behind > LATE or self.failing > 0


@dataclass(frozen=True, slots=True)
class TenantLag:
    """The lag of a tenant; of what all tenants share if there is no name."""

    tenant_id: UUID | None
    name: str
    lag: Lag


def waiting_of(principal: Principal) -> QuerySet[OutboxEntry]:
    """What waits of the principal's own memory, the oldest first."""
    principal.require(Right.READ)
    return pending(Owner(principal.tenant_id, principal.user_id)).order_by("id")


def lag_of(entries: QuerySet[OutboxEntry], *, now: datetime | None = None) -> Lag:
    """The lag of these entries together."""
    found = entries.order_by().aggregate(**_measures())
    return _lag(found, now or timezone.now())


def lag_by_tenant(entries: QuerySet[OutboxEntry], *, now: datetime | None = None) -> list[TenantLag]:
    """The lag of each tenant that has anything waiting among `entries`, the latest tenant first."""
    now = now or timezone.now()
    found: Sequence[Mapping[str, object]] = list(entries.order_by().values("tenant_id").annotate(**_measures()))
    names = dict(Tenant.objects.filter(pk__in=[row["tenant_id"] for row in found]).values_list("pk", "name"))
    lags = [
        TenantLag(tenant_id, names.get(tenant_id, "") if tenant_id else "", _lag(row, now))
        for row in found
        for tenant_id in [row["tenant_id"] if isinstance(row["tenant_id"], UUID) else None]
    ]
    return sorted(lags, key=lambda each: (each.lag.oldest or now, each.name))


def _measures() -> dict[str, Count | Min | Max]:
    return {
        "waiting": Count("pk"),
        "failing": Count("pk", filter=Q(attempts__gt=0)),
        "oldest": Min("created_at"),
        "attempts": Max("attempts"),
    }


def _lag(row: Mapping[str, object], now: datetime) -> Lag:
    oldest, tried = row["oldest"], row["attempts"]
    return Lag(
        waiting=int(str(row["waiting"])),
        failing=int(str(row["failing"])),
        oldest=oldest if isinstance(oldest, datetime) else None,
        attempts=tried if isinstance(tried, int) else 0,
        now=now,
    )
