"""Bars of a histogram: every change under one, none outside the drawing."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from memories.staff.times import MOST_BARS, WIDTH, histogram_of

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize("days", [0, 1, 99, 100, 1500])
def test_every_change_is_under_one_bar_inside_the_drawing(days: int) -> None:
    begin = NOW.replace(hour=0) - timedelta(days=days)
    by_day = {(begin + timedelta(days=day)).date(): day % 7 for day in range(days + 1)}
    drawn = histogram_of(by_day, begin=begin, now=NOW, at=NOW)
    assert sum(bar.count for bar in drawn.bars) == drawn.total == sum(by_day.values())
    assert len(drawn.bars) <= MOST_BARS
    assert all(bar.x >= 0 and bar.x + bar.width <= WIDTH + 2 and bar.y >= 0 for bar in drawn.bars)
    assert drawn.mark == WIDTH


def test_the_mark_is_at_the_time_and_the_highest_bar_fills_the_drawing() -> None:
    by_day = {date(2026, 3, 1): 1, date(2026, 3, 5): 40}
    drawn = histogram_of(by_day, begin=NOW - timedelta(days=10), now=NOW, at=NOW - timedelta(days=5))
    assert drawn.mark == WIDTH / 2
    low, high = drawn.bars
    assert (high.height, high.y) == (drawn.height, 0)
    assert 0 < low.height < high.height / 10


def test_a_change_before_the_beginning_is_not_lost() -> None:
    drawn = histogram_of({date(2025, 1, 1): 3}, begin=NOW - timedelta(days=3), now=NOW, at=NOW)
    assert [bar.count for bar in drawn.bars] == [3]
