"""Summaries of times."""

from __future__ import annotations

import pytest

from benchmarks.measures import times_of


def test_the_median_and_the_95th_percentile_of_many_calls() -> None:
    times = times_of(float(number) for number in range(1, 102))
    assert times.count == 101
    assert times.p50 == 51.0
    assert times.p95 == pytest.approx(96.0)
