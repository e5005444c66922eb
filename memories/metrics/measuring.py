"""The values of all metrics now, of all active tenants together, from the database: right whatever process asks.

Invariant: the number of queries does not grow with tenants, and each reads a window or an index; a value of one tenant
is made of that tenant's rows alone. What belongs to no tenant (changes of global knowledge) has the tenant None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from memories.metrics import activity, backlog, states
from memories.metrics.alerting import Reading, Readings
from memories.metrics.definitions import BY_NAME, METRICS
from tenants.models import Tenant


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured `at`; `readings` leave out what is idle, `slugs` names each active tenant."""

    at: datetime
    readings: Readings
    slugs: dict[UUID, str]

    def complete(self) -> Readings:
        """The readings, with the idle value of each metric of an active tenant that has one."""
        idle = {
            Reading(metric.name, tenant_id): metric.idle
            for metric in METRICS
            if metric.idle is not None and not metric.label
            for tenant_id in self.slugs
        }
        return idle | dict(self.readings)


_MEASURES: tuple[Callable[[datetime], dict[Reading, float]], ...] = (
    activity.writes,
    activity.kept_out,
    activity.contradictions,
    activity.recalls,
    activity.latencies,
    activity.turns,
    activity.consolidations,
    states.staleness,
    states.open_scopes,
    backlog.index,
    backlog.consolidation,
)


def measure(now: datetime | None = None) -> Measured:
    """Look once."""
    now = now or timezone.now()
    slugs = dict(Tenant.objects.filter(is_active=True).order_by().values_list("id", "slug"))
    readings: dict[Reading, float] = {}
    for taken in _MEASURES:
        for reading, value in taken(now).items():
            known = reading.tenant_id is None or reading.tenant_id in slugs
            if known and value != BY_NAME[reading.metric].idle:
                readings[reading] = value
    return Measured(now, readings, slugs)
