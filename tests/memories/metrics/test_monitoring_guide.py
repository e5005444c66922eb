"""The guide of metrics and alerts says exactly what is defined."""

from __future__ import annotations

from pathlib import Path

from memories.metrics.alert_definitions import ALERTS
from memories.metrics.alerts import duration
from memories.metrics.charting import condition, shown
from memories.metrics.definitions import METRICS, Alert, Metric, Unit
from memories.metrics.exposition import CACHED_SECONDS
from memories.metrics.sampling import EVERY, FINE, KEPT

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "monitoring.md"


def row_of_metric(metric: Metric) -> str:
    """A line of the first table."""
    window = duration(metric.window) if metric.window else "now"
    label = f" `{metric.label}`" if metric.label else ""
    return f"| `{metric.exposed}`{label} | {metric.unit.value} | {window} | {metric.help} |"


def row_of_alert(alert: Alert) -> str:
    """A line of the second table."""
    metric = f"`{alert.metric.name}`" + (f" of `{alert.label}`" if alert.label else "")
    lasting = shown(alert.lasting.total_seconds(), Unit.SECONDS) if alert.lasting else "at once"
    fewest = f"`{alert.at_least[0].name}` {alert.at_least[1]:g}" if alert.at_least else ""
    return (
        f"| `{alert.name}` | {metric} {condition(alert)} | {lasting} | {fewest} | {alert.severity.value} |"
        f" {alert.means} {alert.do} |"
    )


def test_each_metric_and_each_alert_stands_in_the_guide_in_the_words_of_the_source() -> None:
    rows = [line for line in GUIDE.read_text().splitlines() if line.lower().startswith("| `memoryhub_")]
    assert rows == [row_of_metric(metric) for metric in METRICS]
    alerts = [line for line in GUIDE.read_text().splitlines() if line.startswith("| `Memoryhub")]
    assert alerts == [row_of_alert(alert) for alert in ALERTS]


def test_the_times_in_the_guide_are_those_of_the_source() -> None:
    told = " ".join(GUIDE.read_text().split())
    assert f"every {duration(EVERY)[:-1]} minutes" in told
    assert f"for {FINE.total_seconds() / 3600:g} hours, then one an hour for {KEPT.days} days" in told
    assert f"at most once in {CACHED_SECONDS:g} seconds" in told
