"""A month of metrics before the demo began, invented, and without an alert; it leads up to what is measured now."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta

from memories.metrics.definitions import (
    HIT_RATIO,
    RECALL_P50,
    RECALL_P95,
    RECALLS,
    STALENESS_P50,
    STALENESS_P95,
    TOTAL,
    TURNS,
)
from memories.metrics.measuring import staleness
from memories.metrics.sampling import MARK, look_of, marks
from memories.models import MetricSample
from memories.services.retention.hygiene_run import hygiene_scan
from tenants.models import Tenant

MONTH = timedelta(days=30)
# The charts of a day need a value each quarter of an hour; those of a month, one an hour.
CLOSELY, COARSE, FINE = timedelta(days=2), timedelta(hours=1), timedelta(minutes=15)
_BUSIEST_HOUR = 15
# Recalls and turns in the busiest hour of a day.
_BUSY = {RECALLS.name: 14.0, TURNS.name: 9.0}
# Shares of staleness, which was this much higher a month ago; in seconds, how long recalls took.
_STALE, _STALER = (STALENESS_P50.name, STALENESS_P95.name), 0.05
_TIMES = {RECALL_P50.name: 0.024, RECALL_P95.name: 0.07}


def meter(today: datetime) -> None:
    """Scan the memories and store samples of the last month, unless there are samples already."""
    if marks().exists():
        return
    hygiene_scan(apply=True)
    stale = {(each.tenant_id, each.metric): value for each, value in staleness(today).items() if each.metric in _STALE}
    tenants = list(Tenant.objects.filter(is_active=True).order_by("slug").values_list("pk", flat=True))
    rows = []
    for at in _times(look_of(today)):
        rows.append(MetricSample(name=MARK, at=at, value=0.01))
        for place, tenant_id in enumerate(tenants):
            rows += [
                MetricSample(tenant_id=tenant_id, name=name, label=label, at=at, value=value)
                for (name, label), value in _values(place, at).items()
                if value
            ]
        rows += [
            MetricSample(tenant_id=tenant_id, name=name, at=at, value=min(1.0, value + _STALER * (today - at) / MONTH))
            for (tenant_id, name), value in stale.items()
        ]
    MetricSample.objects.bulk_create(rows, batch_size=2000)


def _times(until: datetime) -> Iterator[datetime]:
    at = (until - MONTH).replace(minute=0)
    while at < until:
        yield at
        at += FINE if until - at <= CLOSELY else COARSE


def _values(place: int, at: datetime) -> dict[tuple[str, str], float]:
    """What a tenant's metrics were then: busy by day, quiet at night and at the weekend, and never twice the same."""
    wave = math.sin(at.timestamp() / 5400 + 2 * place) * math.sin(at.timestamp() / 47_000)
    day = max(0.0, math.cos((at.hour - _BUSIEST_HOUR) / 24 * math.tau)) * (0.35 if at.weekday() > 4 else 1.0)  # noqa: PLR2004
    values = {(name, ""): float(round(most * day * (1 + 0.3 * wave))) for name, most in _BUSY.items()}
    if values[RECALLS.name, ""]:
        values[HIT_RATIO.name, ""] = 0.9 + 0.06 * wave
        values |= {(name, TOTAL): seconds * (1 + 0.4 * day + 0.25 * wave) for name, seconds in _TIMES.items()}
    return values
