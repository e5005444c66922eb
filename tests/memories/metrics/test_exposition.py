"""What Prometheus reads: every metric with its words, tenants by slug, in a form that Prometheus itself finds good."""

from __future__ import annotations

import subprocess
import uuid
from datetime import UTC, datetime

from memories.metrics.alerts import MetricReading
from memories.metrics.definitions import METRICS, STAGES
from memories.metrics.exposition import SHARED, render
from memories.metrics.measuring import Measured
from tests.memories.metrics.promtool import promtool

ACME = uuid.uuid4()
NOW = datetime(2026, 3, 3, 12, 0, tzinfo=UTC)


def lines(readings: dict[MetricReading, float]) -> list[str]:
    return render(Measured(NOW, readings, {ACME: "acme"})).decode().splitlines()


def test_each_metric_has_its_words_and_an_idle_tenant_its_zeros() -> None:
    told = lines({})
    for metric in METRICS:
        assert f"# HELP {metric.exposed} {metric.help}" in told
        assert f"# TYPE {metric.exposed} gauge" in told
        has_zero = metric.idle is not None
        assert (f'{metric.exposed}{{tenant="acme"}} 0.0' in told) is has_zero


def test_stages_are_labels_and_what_is_of_no_tenant_is_shared() -> None:
    readings = {MetricReading("recall_p95_seconds", ACME, stage): 0.5 for stage in STAGES}
    told = lines(readings | {MetricReading("index_lag_seconds", None): 7.0})
    assert f'memoryhub_index_lag_seconds{{tenant="{SHARED}"}} 7.0' in told
    assert [line for line in told if line.startswith("memoryhub_recall_p95")] == [
        f'memoryhub_recall_p95_seconds{{stage="{stage}",tenant="acme"}} 0.5' for stage in sorted(STAGES)
    ]


def test_promtool_finds_nothing_wrong_with_it() -> None:
    text = render(Measured(NOW, {MetricReading("recall_p95_seconds", ACME, "total"): 0.5}, {ACME: "acme"}))
    command = [promtool(), "check", "metrics"]
    verdict = subprocess.run(command, input=text, capture_output=True, check=False)  # noqa: S603 - our own
    assert (verdict.returncode, verdict.stdout, verdict.stderr) == (0, b"", b"")
