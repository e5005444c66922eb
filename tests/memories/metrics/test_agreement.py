"""The page and Prometheus agree: the same numbers set off the same alerts at the same time."""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memories.management.commands.alert_rules import FILE
from memories.metrics.alert_definitions import ALERTS
from memories.metrics.alerts import AlertState, Holding, MetricReading, standings
from memories.metrics.definitions import Alert, Comparison
from memories.metrics.exposition import render
from memories.metrics.measuring import Measured, measure
from memories.metrics.sampling import EVERY
from tests.factories import make_membership
from tests.memories.metrics.promtool import expected, judged, write_test
from tests.memories.metrics.situations import OF_ALL, SITUATIONS, mend

ROOT = Path(__file__).resolve().parents[3]
RULES = ROOT / FILE
NOW = datetime(2026, 3, 3, 12, 0, tzinfo=UTC)
# Long enough for the most patient alert.
LASTING = max(alert.lasting for alert in ALERTS) // EVERY + 1


def agrees(folder: Path, looks: Sequence[Measured]) -> list[list[AlertState]]:
    """What the page finds at each look, once promtool has found the same at all of them."""
    found: list[list[AlertState]] = []
    before: dict[Holding, datetime] = {}
    for place, look in enumerate(looks):
        found.append(standings(look.readings, before, NOW + EVERY * place))
        before = {Holding(each.alert.name, each.tenant_id): each.since for each in found[-1]}
    expectations: list[dict[str, Any]] = [
        {"eval_time": f"{5 * place}m", "alertname": alert.name, "exp_alerts": expected(found[place], look, alert.name)}
        for place, look in enumerate(looks)
        for alert in ALERTS
    ]
    path = folder / "agreement.yml"
    write_test(path, RULES, [render(look) for look in looks], expectations)
    verdict = judged(["test", "rules", str(path)], folder)
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
    return found


@pytest.mark.django_db
def test_each_alert_fires_on_its_situation_and_clears_after_it(tmp_path: Path, settings: Any) -> None:
    settings.MEMORYHUB_CONSOLIDATE = "batch"
    members = {alert.name: make_membership() for alert in ALERTS}
    before = measure(NOW)
    for name, make in SITUATIONS.items():
        make(members[name], NOW)
    during = measure(NOW)
    mend()
    after = measure(NOW + timedelta(days=2))
    found = agrees(tmp_path, [before, *[during] * LASTING, after])
    fired = {(each.alert.name, each.tenant_id) for each in found[-2] if each.fires}
    assert fired == {(name, None if name in OF_ALL else member.tenant_id) for name, member in members.items()}
    assert found[0] == found[-1] == []
    at_once = {alert.name for alert in ALERTS if not alert.lasting}
    assert {each.alert.name for each in found[1] if each.fires} == at_once


def near(alert: Alert) -> list[tuple[float, float, bool]]:
    """Values at, just below and just above the threshold, the events behind them, and whether that is bad."""
    enough = alert.at_least[1] if alert.at_least else 0.0
    up, down = math.nextafter(alert.threshold, math.inf), math.nextafter(alert.threshold, -math.inf)
    bad, good = (up, down) if alert.comparison is Comparison.OVER else (down, up)
    too_few = [(bad, enough - 1, False)] if alert.at_least else []
    return [(bad, enough, True), (alert.threshold, enough, False), (good, enough, False), *too_few]


def test_they_agree_on_each_side_of_each_threshold(tmp_path: Path) -> None:
    slugs: dict[uuid.UUID, str] = {}
    readings: dict[MetricReading, float] = {}
    bad: set[tuple[str, uuid.UUID | None]] = set()
    for alert in ALERTS:
        for place, (value, events, is_bad) in enumerate(near(alert)):
            tenant_id = uuid.uuid4()
            slugs[tenant_id] = f"{alert.name.lower()}-{place}"
            readings[MetricReading(alert.metric.name, tenant_id, alert.label)] = value
            if alert.at_least is not None:
                readings[MetricReading(alert.at_least[0].name, tenant_id)] = events
            if is_bad:
                bad.add((alert.name, tenant_id))
    found = agrees(tmp_path, [Measured(NOW, readings, slugs)] * LASTING)
    assert {(each.alert.name, each.tenant_id) for each in found[-1] if each.fires} == bad


def test_promtool_takes_the_rules_file() -> None:
    verdict = judged(["check", "rules", str(RULES)], ROOT)
    assert verdict.returncode == 0 and f"{len(ALERTS)} rules found" in verdict.stdout, verdict.stdout


def test_every_alert_has_a_situation_and_watches_a_value_of_its_own() -> None:
    assert SITUATIONS.keys() == {alert.name for alert in ALERTS}
    assert len({(alert.metric.name, alert.label) for alert in ALERTS}) == len(ALERTS)
