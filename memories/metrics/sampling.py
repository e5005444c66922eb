"""Samples of all metrics, taken every five minutes: the data of the charts, and the start time of each alert.

A sampling is stored completely or not at all, and only once: its mark is unique, whichever process takes it. Idle
values are not stored; at a marked time, a missing sample means the idle value. Old samplings are thinned to one an
hour, then dropped. Reads are limited to the given tenants; `None` among them means rows without a tenant.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import perf_counter
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from memories.metrics.alert_definitions import ALERTS
from memories.metrics.alerts import AlertState, Holding, MetricReading, Readings, follows, standings
from memories.metrics.definitions import BY_NAME
from memories.metrics.measuring import Measured, measure
from memories.models import MetricSample

log = logging.getLogger(__name__)

EVERY = timedelta(minutes=5)
# All samplings are kept for FINE, then the first of each hour until KEPT.
FINE = timedelta(hours=48)
KEPT = timedelta(days=90)
# Additional rows: the mark of a sampling (its duration in seconds), and an alert's start (seconds since 1970).
MARK = "sampled"
ALERT = "alert."
_LOOKS_AT_ONCE = 200


def sample_metrics(now: datetime | None = None) -> bool:
    """Take the sampling of these five minutes, unless it exists; return whether it was stored."""
    now = now or timezone.now()
    at = look_of(now)
    if marks().filter(at=at).exists():
        return False
    began = perf_counter()
    measured = measure(now)
    try:
        with transaction.atomic():
            MetricSample.objects.create(name=MARK, at=at, value=perf_counter() - began)
            MetricSample.objects.bulk_create([*_values(measured, at), *_alerts(measured, at)])
    except IntegrityError:  # another process was faster, or a tenant was deleted meanwhile
        log.info("The metrics of %s were not stored here.", at.isoformat())
        return False
    thin(now)
    return True


def look_of(now: datetime) -> datetime:
    """The start of the five minutes that `now` is in, under which a sampling is stored."""
    return datetime.fromtimestamp(now.timestamp() // EVERY.total_seconds() * EVERY.total_seconds(), UTC)


def marks() -> QuerySet[MetricSample]:
    """The marks of all samplings."""
    return MetricSample.objects.filter(tenant=None, name=MARK, label="")


def held(at: datetime) -> dict[Holding, datetime]:
    """The start times of the alerts that held at the sampling `at`."""
    rows = MetricSample.objects.filter(at=at, name__startswith=ALERT).values_list("name", "tenant_id", "value")
    return {
        Holding(name.removeprefix(ALERT), tenant_id): datetime.fromtimestamp(value, UTC)
        for name, tenant_id, value in rows
    }


def thin(now: datetime) -> int:
    """Delete samples older than KEPT and, of those older than FINE, all samplings but the first of each hour.

    Returns the number of samplings thinned out.
    """
    MetricSample.objects.filter(at__lt=now - KEPT).delete()
    seen: set[datetime] = set()
    spare: list[datetime] = []
    for at in marks().filter(at__lt=now - FINE).order_by("at").values_list("at", flat=True):
        hour = at.replace(minute=0)
        if hour in seen:
            spare.append(at)
        seen.add(hour)
    for start in range(0, len(spare), _LOOKS_AT_ONCE):
        MetricSample.objects.filter(at__in=spare[start : start + _LOOKS_AT_ONCE]).delete()
    return len(spare)


def _values(measured: Measured, at: datetime) -> list[MetricSample]:
    return [
        MetricSample(tenant_id=reading.tenant_id, name=reading.metric, label=reading.label, at=at, value=value)
        for reading, value in measured.readings.items()
    ]


def _alerts(measured: Measured, at: datetime) -> list[MetricSample]:
    last = marks().filter(at__lt=at).order_by("-at").values_list("at", flat=True).first()
    before = held(last) if last is not None and follows(last, at) else {}
    return [
        MetricSample(
            tenant_id=standing.tenant_id, name=f"{ALERT}{standing.alert.name}", at=at, value=standing.since.timestamp()
        )
        for standing in standings(measured.readings, before, at)
    ]


# None means all tenants and the rows without a tenant, for superusers.
Tenants = Collection[UUID | None] | None
_ALERTS = {alert.name: alert for alert in ALERTS}


@dataclass(frozen=True, slots=True)
class Sampling:
    """The result of the last sampling; `at` is None before the first."""

    at: datetime | None = None
    readings: Readings = field(default_factory=dict)
    standings: tuple[AlertState, ...] = ()


def last_look(tenants: Tenants) -> Sampling:
    """The last sampling for these tenants; None means all."""
    at = marks().order_by("-at").values_list("at", flat=True).first()
    if at is None:
        return Sampling()
    rows = MetricSample.objects.filter(_of(tenants), at=at).exclude(name__startswith=ALERT).exclude(name=MARK)
    readings = {
        MetricReading(name, tenant_id, label): value
        for name, tenant_id, label, value in rows.values_list("name", "tenant_id", "label", "value")
        if name in BY_NAME
    }
    since = {each: moment for each, moment in held(at).items() if tenants is None or each.tenant_id in tenants}
    return Sampling(at, readings, tuple(_standings(readings, since, at)))


def looks(since: datetime, until: datetime) -> list[datetime]:
    """The sampling times after `since` and by `until`, in order."""
    return list(marks().filter(at__gt=since, at__lte=until).order_by("at").values_list("at", flat=True))


def course(
    tenants: Collection[UUID | None],
    since: datetime,
    until: datetime,
    labels: Collection[str] | None = None,
    names: Collection[str] = BY_NAME.keys(),
) -> dict[MetricReading, dict[datetime, float]]:
    """The samples of these tenants by reading and time, limited to `labels` if given; without idle values."""
    rows = MetricSample.objects.filter(_of(tenants), name__in=names, at__gt=since, at__lte=until).order_by()
    if labels is not None:
        rows = rows.filter(label__in=labels)
    found: dict[MetricReading, dict[datetime, float]] = defaultdict(dict)
    for name, tenant_id, label, at, value in rows.values_list("name", "tenant_id", "label", "at", "value").iterator():
        found[MetricReading(name, tenant_id, label)][at] = value
    return found


def _of(tenants: Tenants) -> Q:
    if tenants is None:
        return Q()
    named = Q(tenant_id__in=[each for each in tenants if each is not None])
    return named | Q(tenant_id=None) if None in tenants else named


def _standings(readings: Readings, since: Mapping[Holding, datetime], at: datetime) -> list[AlertState]:
    found = []
    for (name, tenant_id), moment in since.items():
        alert = _ALERTS.get(name)
        value = None if alert is None else readings.get(MetricReading(alert.metric.name, tenant_id, alert.label))
        if alert is not None and value is not None:  # otherwise its definition was removed
            found.append(AlertState(alert, tenant_id, value, moment, fires=at - moment >= alert.lasting))
    return sorted(found, key=lambda each: (not each.fires, each.since, each.alert.name, str(each.tenant_id)))
