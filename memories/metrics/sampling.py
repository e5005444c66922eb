"""Samples of all metrics, every five minutes: what the charts are drawn from, and which alerts hold since when.

Invariant: a look is stored whole or not at all, and once, whoever looks: its mark is unique. What is idle is not
stored: at a marked time without a sample a metric had its idle value. So rows are as many as there is activity, and old
ones are thinned out to one look an hour, then dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import perf_counter

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from memories.metrics.alerting import Holding, follows, standings
from memories.metrics.measuring import Measured, measure
from memories.models import MetricSample
from memoryhub import background
from memoryhub.background import Repeated

log = logging.getLogger(__name__)

EVERY = timedelta(minutes=5)
# Whoever samples asks so often (s) whether it is time, so that no look is missed by a hair.
PAUSE_SECONDS = 60.0
# All looks are kept so long, then the first of each hour, then none.
FINE = timedelta(hours=48)
KEPT = timedelta(days=90)
# Rows beside the values: that a look was taken (its seconds), and since when an alert holds (seconds since 1970).
MARK = "sampled"
ALERT = "alert."
_LOOKS_AT_ONCE = 200


def sample_metrics(now: datetime | None = None) -> bool:
    """Take the look of these five minutes, unless it was taken; say whether."""
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
    except IntegrityError:  # another process was faster, or a tenant went meanwhile
        log.info("The metrics of %s were not stored here.", at.isoformat())
        return False
    thin(now)
    return True


def look_of(now: datetime) -> datetime:
    """The time that a look at `now` is stored under."""
    return datetime.fromtimestamp(now.timestamp() // EVERY.total_seconds() * EVERY.total_seconds(), UTC)


def marks() -> QuerySet[MetricSample]:
    """The looks that were taken."""
    return MetricSample.objects.filter(tenant=None, name=MARK, label="")


def held(at: datetime) -> dict[Holding, datetime]:
    """Since when which alerts held at the look `at`."""
    rows = MetricSample.objects.filter(at=at, name__startswith=ALERT).values_list("name", "tenant_id", "value")
    return {
        Holding(name.removeprefix(ALERT), tenant_id): datetime.fromtimestamp(value, UTC)
        for name, tenant_id, value in rows
    }


def thin(now: datetime) -> int:
    """Drop what is too old, and of the looks older than FINE all but the first of each hour; return how many looks."""
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


def serve() -> Callable[[], None]:
    """Start the thread of a serving process that has no Celery; return what stops it again."""
    return background.serve(Repeated("metric sampling", sample_metrics, pause=PAUSE_SECONDS))


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
