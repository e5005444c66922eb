"""Reading what was sampled: the state at the last look, and the course of values over a time.

Invariant: only what belongs to the named tenants is read; `None` among them is what belongs to no tenant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from memories.metrics.alerting import Holding, Reading, Readings, Standing
from memories.metrics.definitions import ALERTS, BY_NAME
from memories.metrics.sampling import ALERT, MARK, held, marks
from memories.models import MetricSample

# All tenants, and what belongs to none: for staff of the platform.
Tenants = Collection[UUID | None] | None
_ALERTS = {alert.name: alert for alert in ALERTS}


@dataclass(frozen=True, slots=True)
class Look:
    """What was found at the last look; `at` is None before the first."""

    at: datetime | None = None
    readings: Readings = field(default_factory=dict)
    standings: tuple[Standing, ...] = ()


def last_look(tenants: Tenants) -> Look:
    """The last look at these tenants; None: at all."""
    at = marks().order_by("-at").values_list("at", flat=True).first()
    if at is None:
        return Look()
    rows = MetricSample.objects.filter(_of(tenants), at=at).exclude(name__startswith=ALERT).exclude(name=MARK)
    readings = {
        Reading(name, tenant_id, label): value
        for name, tenant_id, label, value in rows.values_list("name", "tenant_id", "label", "value")
        if name in BY_NAME
    }
    since = {each: moment for each, moment in held(at).items() if tenants is None or each.tenant_id in tenants}
    return Look(at, readings, tuple(_standings(readings, since, at)))


def looks(since: datetime, until: datetime) -> list[datetime]:
    """When was looked, in order."""
    return list(marks().filter(at__gt=since, at__lte=until).order_by("at").values_list("at", flat=True))


def course(
    tenants: Collection[UUID | None],
    since: datetime,
    until: datetime,
    labels: Collection[str] | None = None,
    names: Collection[str] = BY_NAME.keys(),
) -> dict[Reading, dict[datetime, float]]:
    """The samples of these tenants, of each value by time, with one of `labels` if given; no idle values."""
    rows = MetricSample.objects.filter(_of(tenants), name__in=names, at__gt=since, at__lte=until).order_by()
    if labels is not None:
        rows = rows.filter(label__in=labels)
    found: dict[Reading, dict[datetime, float]] = defaultdict(dict)
    for name, tenant_id, label, at, value in rows.values_list("name", "tenant_id", "label", "at", "value").iterator():
        found[Reading(name, tenant_id, label)][at] = value
    return found


def _of(tenants: Tenants) -> Q:
    if tenants is None:
        return Q()
    named = Q(tenant_id__in=[each for each in tenants if each is not None])
    return named | Q(tenant_id=None) if None in tenants else named


def _standings(readings: Readings, since: Mapping[Holding, datetime], at: datetime) -> list[Standing]:
    found = []
    for (name, tenant_id), moment in since.items():
        alert = _ALERTS.get(name)
        value = None if alert is None else readings.get(Reading(alert.metric.name, tenant_id, alert.label))
        if alert is not None and value is not None:  # else it is of a definition that is gone
            found.append(Standing(alert, tenant_id, value, moment, fires=at - moment >= alert.lasting))
    return sorted(found, key=lambda each: (not each.fires, each.since, each.alert.name, str(each.tenant_id)))
