"""Bars of a histogram: every change under one, none outside the drawing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memories.staff.times import MOST_BARS, WIDTH, histogram_of

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize("days", [0, 1, 99, 100, 1500])
def test_every_change_is_under_one_bar_inside_the_drawing(days: int) -> None:
    begin = NOW.replace(hour=0) - timedelta(days=days)
    by_day = {(begin + timedelta(days=day)).date(): day % 7 for day in range(days + 1)}
    drawn = histogram_of(by_day, begin=begin, now=NOW, at=NOW)
    assert sum(bar.count for bar in drawn["bars"]) == drawn["total"] == sum(by_day.values())
    assert len(drawn["bars"]) <= MOST_BARS
    assert all(bar.x >= 0 and bar.x + bar.width <= WIDTH + 2 and bar.y >= 0 for bar in drawn["bars"])
    assert drawn["mark"] == WIDTH
