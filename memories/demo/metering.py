"""A month of metrics before the demo began, invented, and without an alert."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta

from memories.metrics.definitions import HIT_RATIO, RECALL_P50, RECALL_P95, RECALLS, STALENESS_P50, TOTAL, TURNS
from memories.metrics.sampling import MARK, look_of, marks
from memories.models import MetricSample
from tenants.models import Tenant

MONTH = timedelta(days=30)
# The charts of a day need a value each quarter of an hour; those of a month, one an hour.
CLOSELY, COARSE, FINE = timedelta(days=2), timedelta(hours=1), timedelta(minutes=15)
_BUSIEST_HOUR = 15
# Recalls and turns in the busiest hour of a day.
_BUSY = {RECALLS.name: 14.0, TURNS.name: 9.0}
# Median staleness; in seconds, how long recalls took.
_STALE = (0.36, 0.29)
_TIMES = {RECALL_P50.name: 0.024, RECALL_P95.name: 0.07}


def meter(today: datetime) -> None:
    """Store samples of the last month, unless there are samples already."""
    if marks().exists():
        return
    tenants = list(Tenant.objects.filter(is_active=True).order_by("slug").values_list("pk", flat=True))
    rows = []
    for at in _times(look_of(today)):
        rows.append(MetricSample(name=MARK, at=at, value=0.01))
        for place, tenant_id in enumerate(tenants):
            rows += [
                MetricSample(tenant_id=tenant_id, name=name, label=label, at=at, value=value)
                for (name, label), value in _values(place, at, today).items()
                if value
            ]
    MetricSample.objects.bulk_create(rows, batch_size=2000)


def _times(until: datetime) -> Iterator[datetime]:
    at = (until - MONTH).replace(minute=0)
    while at < until:
        yield at
        at += FINE if until - at <= CLOSELY else COARSE


def _values(place: int, at: datetime, today: datetime) -> dict[tuple[str, str], float]:
    """What a tenant's metrics were then: busy by day, quiet at night and at the weekend, and never twice the same."""
    wave = math.sin(at.timestamp() / 5400 + 2 * place) * math.sin(at.timestamp() / 47_000)
    day = max(0.0, math.cos((at.hour - _BUSIEST_HOUR) / 24 * math.tau)) * (0.35 if at.weekday() > 4 else 1.0)  # noqa: PLR2004
    values = {(name, ""): float(round(most * day * (1 + 0.3 * wave))) for name, most in _BUSY.items()}
    if values[RECALLS.name, ""]:
        values[HIT_RATIO.name, ""] = 0.9 + 0.06 * wave
        values |= {(name, TOTAL): seconds * (1 + 0.4 * day + 0.25 * wave) for name, seconds in _TIMES.items()}
    values[STALENESS_P50.name, ""] = _STALE[place % 2] - 0.05 * ((today - at) / MONTH) + 0.01 * wave
    return values
