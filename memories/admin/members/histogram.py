"""A histogram of how much changed when, beside the slider: where its bars lie. Pure.

Invariant: every change lies under one bar; the bars together span the time of the slider.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

WIDTH, HEIGHT = 1000.0, 64.0
MOST_BARS = 100
# What changed at all can be seen.
_LOWEST = 2.0
_NARROWEST = 2.0
_GAP = 0.15


@dataclass(frozen=True, slots=True)
class Bar:
    """Some days, what changed in them, and the rectangle for it."""

    first: date
    last: date
    count: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """Bars in a drawing of `width` by `height`; `mark` is the place of the time that is shown."""

    bars: tuple[Bar, ...]
    mark: float
    most: int
    total: int
    first: date
    last: date
    width: float = WIDTH
    height: float = HEIGHT


def histogram_of(by_day: Mapping[date, int], *, begin: datetime, now: datetime, at: datetime) -> Histogram:
    """The changes of each day (UTC) from `begin` to `now`, in bars of as many days as it takes."""
    first, last = begin.astimezone(UTC).date(), now.astimezone(UTC).date()
    days = (last - first).days + 1
    per_bar = -(-days // MOST_BARS)
    counts = [0] * -(-days // per_bar)
    for day, count in by_day.items():
        counts[min(max((day - first).days, 0) // per_bar, len(counts) - 1)] += count
    most, whole = max(counts), max(now - begin, timedelta(seconds=1))

    def place_of(moment: datetime) -> float:
        return min(max((moment - begin) / whole, 0.0), 1.0) * WIDTH

    def bar(place: int, count: int) -> Bar:
        day = first + timedelta(days=place * per_bar)
        start = datetime(day.year, day.month, day.day, tzinfo=UTC)
        left, right = place_of(start), place_of(start + timedelta(days=per_bar))
        height = _height(count, most)
        width = max(_NARROWEST, (right - left) * (1 - _GAP))
        until = min(last, day + timedelta(days=per_bar - 1))
        return Bar(day, until, count, *(round(value, 1) for value in (left, HEIGHT - height, width, height)))

    bars = tuple(bar(place, count) for place, count in enumerate(counts) if count)
    return Histogram(bars, round(place_of(at), 1), most, sum(counts), first, last)


def _height(count: int, most: int) -> float:
    return max(_LOWEST, HEIGHT * count / most) if count else 0.0
