"""The values of all metrics now, of all active tenants together, from the database, so every process agrees.

The number of queries does not grow with tenants, and each reads a window or an index. A tenant's value is made of that
tenant's rows alone; changes of global knowledge have the tenant None.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Count, F, Min, Sum
from django.utils import timezone

from memories.constants import CONSOLIDATE_AFTER
from memories.metrics import activity, states
from memories.metrics import definitions as named
from memories.metrics.alerts import MetricReading, Readings
from memories.metrics.definitions import BY_NAME, METRICS
from memories.models import EpisodeLedger, MemoryPolicy, OutboxEntry
from tenants.models import Tenant
from tenants.selectors import has_active_member


def index(now: datetime) -> dict[MetricReading, float]:
    """How many changes wait, and how long the oldest has."""
    rows = OutboxEntry.objects.order_by().values("tenant_id").annotate(oldest=Min("created_at"), count=Count("pk"))
    found: dict[MetricReading, float] = {}
    for row in rows:
        found[MetricReading(named.INDEX_WAITING.name, row["tenant_id"])] = row["count"]
        found[MetricReading(named.INDEX_LAG.name, row["tenant_id"])] = _age(row["oldest"], now)
    return found


def consolidation(now: datetime) -> dict[MetricReading, float]:
    """How many episodes wait, how long the oldest has, and how much longer than it should.

    Ordinals are counted, so forgotten episodes are among them until a run passes. Nobody consolidates for members who
    are not active: theirs do not wait.
    """
    rows = (
        EpisodeLedger.objects.unscoped("metrics of the installation")
        .filter(has_active_member(), waiting_since__isnull=False)
        .order_by()
    )
    patience = _patience()
    found: dict[MetricReading, float] = {}
    for row in rows.values("tenant_id").annotate(
        oldest=Min("waiting_since"), count=Sum(F("stored") - F("consolidated"))
    ):
        tenant_id, age = row["tenant_id"], _age(row["oldest"], now)
        found[MetricReading(named.WAITING_EPISODES.name, tenant_id)] = row["count"]
        found[MetricReading(named.CONSOLIDATION_LAG.name, tenant_id)] = age
        if settings.MEMORYHUB_CONSOLIDATE != "off":
            overdue = max(0.0, age - patience[tenant_id].total_seconds())
            found[MetricReading(named.CONSOLIDATION_OVERDUE.name, tenant_id)] = overdue
    return found


def _patience() -> defaultdict[UUID, timedelta]:
    """How long episodes may wait in each tenant."""
    decided = MemoryPolicy.objects.filter(consolidate_hours__isnull=False).values_list("tenant_id", "consolidate_hours")
    own = {tenant_id: timedelta(hours=hours) for tenant_id, hours in decided if hours is not None}
    return defaultdict(lambda: CONSOLIDATE_AFTER, own)


def _age(since: datetime, now: datetime) -> float:
    return max(0.0, (now - since).total_seconds())


@dataclass(frozen=True, slots=True)
class Measured:
    """The values measured `at`; idle values are omitted, and `slugs` names each active tenant."""

    at: datetime
    readings: Readings
    slugs: dict[UUID, str]

    def complete(self) -> Readings:
        """The readings, with the idle value of each metric of an active tenant that has one."""
        idle = {
            MetricReading(metric.name, tenant_id): metric.idle
            for metric in METRICS
            if metric.idle is not None and not metric.label
            for tenant_id in self.slugs
        }
        return idle | dict(self.readings)


_MEASURES: tuple[Callable[[datetime], dict[MetricReading, float]], ...] = (
    activity.writes,
    activity.kept_out,
    activity.contradictions,
    activity.recalls,
    activity.latencies,
    activity.turns,
    activity.consolidations,
    states.staleness,
    states.open_scopes,
    index,
    consolidation,
)


def measure(now: datetime | None = None) -> Measured:
    """Look once."""
    now = now or timezone.now()
    slugs = dict(Tenant.objects.filter(is_active=True).order_by().values_list("id", "slug"))
    readings: dict[MetricReading, float] = {}
    for taken in _MEASURES:
        for reading, value in taken(now).items():
            known = reading.tenant_id is None or reading.tenant_id in slugs
            if known and value != BY_NAME[reading.metric].idle:
                readings[reading] = value
    return Measured(now, readings, slugs)
