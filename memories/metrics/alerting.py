"""Which alerts hold, since when, and whether they fire: what Prometheus does with the rules file, for the page. Pure.

Invariant: decided by `definitions.ALERTS` alone, as the rules file is (`tests/memories/metrics/test_agreement.py`). An
alert is pending while its condition holds, and fires once it has held at every look for as long as it must last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from memories.metrics.definitions import ALERTS, Alert

# Two looks further apart than this are not one after the other: what held at both may not have held between them.
LONGEST_GAP = timedelta(minutes=15)


class Reading(NamedTuple):
    """Which value it is; no tenant: of what belongs to none."""

    metric: str
    tenant_id: UUID | None
    label: str = ""


class Holding(NamedTuple):
    """An alert that holds in a tenant."""

    alert: str
    tenant_id: UUID | None


Readings = Mapping[Reading, float]


@dataclass(frozen=True, slots=True)
class Standing:
    """An alert whose condition holds: the value now, since when, and whether it fires or is pending."""

    alert: Alert
    tenant_id: UUID | None
    value: float
    since: datetime
    fires: bool


def holding(readings: Readings) -> Iterator[tuple[Alert, UUID | None, float]]:
    """The alerts whose condition holds, with tenant and value."""
    alerts = {(alert.metric.name, alert.label): alert for alert in ALERTS}
    for reading, value in readings.items():
        alert = alerts.get((reading.metric, reading.label))
        if alert is not None and alert.beyond(value) and _enough(alert, reading.tenant_id, readings):
            yield alert, reading.tenant_id, value


def standings(readings: Readings, before: Mapping[Holding, datetime], at: datetime) -> list[Standing]:
    """The alerts that hold at `at`; `before` says since when they held at the look just before this one."""
    found = []
    for alert, tenant_id, value in holding(readings):
        since = before.get(Holding(alert.name, tenant_id), at)
        found.append(Standing(alert, tenant_id, value, since, fires=at - since >= alert.lasting))
    return found


def follows(before: datetime, at: datetime) -> bool:
    """Whether the look at `at` came right after the one `before`."""
    return timedelta(0) < at - before <= LONGEST_GAP


def _enough(alert: Alert, tenant_id: UUID | None, readings: Readings) -> bool:
    if alert.at_least is None:
        return True
    metric, minimum = alert.at_least
    return readings.get(Reading(metric.name, tenant_id), metric.idle or 0.0) >= minimum
