"""Evaluates alerts (which hold, since when, and which fire), and writes them as a rules file for Prometheus.

`alert_definitions.ALERTS` defines both (`tests/memories/metrics/test_agreement.py` compares them). An alert is pending
while its condition holds, and fires once it has held at every sampling for its whole duration. Several processes export
the same values, so each Prometheus rule takes the worst of them by tenant. Pure functions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from memories.metrics.alert_definitions import ALERTS
from memories.metrics.definitions import Alert, Comparison
from memoryhub.installation import PROGRAM

# Samplings further apart than this do not count as consecutive, since an alert may not have held in between.
LONGEST_GAP = timedelta(minutes=15)


class MetricReading(NamedTuple):
    """The key of one value: metric, tenant and label; tenant None for values without a tenant."""

    metric: str
    tenant_id: UUID | None
    label: str = ""


class Holding(NamedTuple):
    """The key of an alert that holds in a tenant."""

    alert: str
    tenant_id: UUID | None


Readings = Mapping[MetricReading, float]


@dataclass(frozen=True, slots=True)
class AlertState:
    """An alert whose condition holds: its value, its start time, and whether it fires or is pending."""

    alert: Alert
    tenant_id: UUID | None
    value: float
    since: datetime
    fires: bool


def holding(readings: Readings) -> Iterator[tuple[Alert, UUID | None, float]]:
    """The alerts whose condition holds, each with tenant and value."""
    alerts = {(alert.metric.name, alert.label): alert for alert in ALERTS}
    for reading, value in readings.items():
        alert = alerts.get((reading.metric, reading.label))
        if alert is not None and alert.beyond(value) and _enough(alert, reading.tenant_id, readings):
            yield alert, reading.tenant_id, value


def standings(readings: Readings, before: Mapping[Holding, datetime], at: datetime) -> list[AlertState]:
    """The alerts that hold at `at`; `before` are their start times at the sampling before this one."""
    found = []
    for alert, tenant_id, value in holding(readings):
        since = before.get(Holding(alert.name, tenant_id), at)
        found.append(AlertState(alert, tenant_id, value, since, fires=at - since >= alert.lasting))
    return found


def follows(before: datetime, at: datetime) -> bool:
    """Whether the sampling at `at` is consecutive to the one at `before`."""
    return timedelta(0) < at - before <= LONGEST_GAP


def _enough(alert: Alert, tenant_id: UUID | None, readings: Readings) -> bool:
    if alert.at_least is None:
        return True
    metric, minimum = alert.at_least
    return readings.get(MetricReading(metric.name, tenant_id), metric.idle or 0.0) >= minimum


_HEAD = f"""\
# Written by `{PROGRAM} alert_rules`, from memories/metrics/alert_definitions.py. Change it there, then write this anew.
groups:
  - name: memoryhub
    rules:
"""
_RULE = """\
      - alert: {name}
        expr: {expression}
        for: {lasting}
        labels:
          severity: {severity}
        annotations:
          summary: {summary}
          description: {description}
"""


def rules_file() -> str:
    """The content of the Prometheus rules file."""
    return _HEAD + "\n".join(map(_rule, ALERTS))


def expression(alert: Alert) -> str:
    """The PromQL expression of an alert."""
    worst = "max" if alert.comparison is Comparison.OVER else "min"
    chosen = f'{{{alert.metric.label}="{alert.label}"}}' if alert.label else ""
    value = f"{worst} by (tenant) ({alert.metric.exposed}{chosen})"
    condition = f"{value} {alert.comparison} {alert.threshold:g}"
    if alert.at_least is None:
        return condition
    metric, minimum = alert.at_least
    return f"{condition} and on (tenant) max by (tenant) ({metric.exposed}) >= {minimum:g}"


def duration(span: timedelta) -> str:
    """A duration in Prometheus' format, in hours or minutes."""
    minutes = int(span.total_seconds()) // 60
    return f"{minutes // 60}h" if minutes and minutes % 60 == 0 else f"{minutes}m"


def summary(alert: Alert) -> str:
    """One line with Prometheus placeholders for tenant and value."""
    return f'{alert.title} ({{{{ $labels.tenant }}}}): {{{{ $value | printf "%.4g" }}}}'


def description(alert: Alert) -> str:
    """The meaning of the alert, and the action to take."""
    return f"{alert.means} {alert.do}"


def _rule(alert: Alert) -> str:
    return _RULE.format(
        name=alert.name,
        expression=_quoted(expression(alert)),
        lasting=duration(alert.lasting),
        severity=alert.severity.value,
        summary=_quoted(summary(alert)),
        description=_quoted(description(alert)),
    )


def _quoted(text: str) -> str:
    """The text as a YAML string; JSON strings are valid YAML."""
    return json.dumps(text, ensure_ascii=False)
