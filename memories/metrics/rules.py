"""The rules file for Prometheus, from the definitions. Pure.

Several processes serve the same values, so each rule takes the worst of them; it compares tenant by tenant.
"""

from __future__ import annotations

import json
from datetime import timedelta

from memories.metrics.definitions import ALERTS, Alert, Comparison

_HEAD = """\
# Written by `manage.py alert_rules`, from memories/metrics/definitions.py. Change it there, then write this file anew.
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
    """The whole file."""
    return _HEAD + "\n".join(map(_rule, ALERTS))


def expression(alert: Alert) -> str:
    """When the alert holds, in the language of Prometheus."""
    worst = "max" if alert.comparison is Comparison.OVER else "min"
    chosen = f'{{{alert.metric.label}="{alert.label}"}}' if alert.label else ""
    value = f"{worst} by (tenant) ({alert.metric.exposed}{chosen})"
    condition = f"{value} {alert.comparison} {alert.threshold:g}"
    if alert.at_least is None:
        return condition
    metric, minimum = alert.at_least
    return f"{condition} and on (tenant) max by (tenant) ({metric.exposed}) >= {minimum:g}"


def duration(span: timedelta) -> str:
    """As Prometheus writes it, in minutes or hours."""
    minutes = int(span.total_seconds()) // 60
    return f"{minutes // 60}h" if minutes and minutes % 60 == 0 else f"{minutes}m"


def summary(alert: Alert) -> str:
    """One line, with the places that Prometheus fills."""
    return f'{alert.title} ({{{{ $labels.tenant }}}}): {{{{ $value | printf "%.4g" }}}}'


def description(alert: Alert) -> str:
    """What it means and what to do."""
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
    """A YAML string: JSON is YAML."""
    return json.dumps(text, ensure_ascii=False)
