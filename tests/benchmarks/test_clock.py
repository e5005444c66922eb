"""Summaries of times."""

from __future__ import annotations

import pytest

from benchmarks.measures import resident_megabytes, timed, times_of


def test_the_median_and_the_95th_percentile_of_many_calls() -> None:
    times = times_of(float(number) for number in range(1, 102))
    assert times.count == 101
    assert times.p50 == 51.0
    assert times.p95 == pytest.approx(96.0)


def test_a_call_is_timed_in_milliseconds() -> None:
    seen: list[str] = []
    assert 0.0 <= timed(seen.append, "text") < 1000.0
    assert seen == ["text"]


def test_memory_is_at_most_its_peak() -> None:
    now, peak = resident_megabytes()
    assert 0 < now <= peak
