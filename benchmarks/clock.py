"""Times of many calls, and what the machine needs for them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds of one operation: median and 95th percentile of `count` calls."""

    count: int
    p50: float
    p95: float


def times_of(milliseconds: Iterable[float]) -> Times:
    """Summarise at least two calls."""
    values = sorted(milliseconds)
    return Times(len(values), statistics.median(values), statistics.quantiles(values, n=20, method="inclusive")[-1])


def timed(call: Callable[[str], object], text: str) -> float:
    """Milliseconds that one call takes."""
    begin = time.perf_counter()
    call(text)
    return (time.perf_counter() - begin) * 1000


def resident_megabytes() -> tuple[float, float]:
    """Memory of this process now and at its highest, in MB (Linux)."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    now, peak = (int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    return now, peak
