"""The metrics in Prometheus' text format: gauges labelled with the tenant's slug, cached for CACHED_SECONDS."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from memories.metrics.alerts import MetricReading
from memories.metrics.definitions import METRICS, Metric
from memories.metrics.measuring import Measured, measure

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
CACHED_SECONDS = 15.0
# The label for values without a tenant; a slug never contains parentheses.
SHARED = "(shared)"

_lock = threading.Lock()
_cached: tuple[float, bytes] | None = None


def exposition() -> bytes:
    """The metrics as text, at most CACHED_SECONDS old."""
    global _cached  # noqa: PLW0603 - one cache for all threads of a process
    with _lock:
        if _cached is None or time.monotonic() - _cached[0] >= CACHED_SECONDS:
            _cached = (time.monotonic(), render(measure()))
        return _cached[1]


def forget() -> None:
    """Drop the cached text, so that the next call measures again."""
    global _cached  # noqa: PLW0603
    with _lock:
        _cached = None


def render(measured: Measured) -> bytes:
    """Format the measured values."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(measured))
    return generate_latest(registry)


class _Families(Collector):
    """A collector with one metric family for each metric."""

    def __init__(self, measured: Measured) -> None:
        self._measured = measured

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The families in the order of the definitions, with samples sorted by tenant slug."""
        families = {metric.name: _family(metric) for metric in METRICS}
        for reading, value in sorted(self._measured.complete().items(), key=self._place):
            labels = [self._tenant(reading), *([reading.label] if reading.label else [])]
            families[reading.metric].add_metric(labels, value)
        return families.values()

    def _place(self, item: tuple[MetricReading, float]) -> tuple[str, str]:
        return self._tenant(item[0]), item[0].label

    def _tenant(self, reading: MetricReading) -> str:
        return SHARED if reading.tenant_id is None else self._measured.slugs[reading.tenant_id]


def _family(metric: Metric) -> GaugeMetricFamily:
    labels = ["tenant", *([metric.label] if metric.label else [])]
    return GaugeMetricFamily(metric.exposed, str(metric.help), labels=labels)
