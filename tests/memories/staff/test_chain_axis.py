"""All spans of a chain share one axis of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memories.staff.chain_drawing import LENGTH, axis_of

NOW = datetime(2026, 5, 1, tzinfo=UTC)
YEAR = timedelta(days=100)


def test_a_bar_stands_where_its_span_is() -> None:
    axis = axis_of([NOW - YEAR], now=NOW)
    half = axis.bar(NOW - YEAR / 2, None)
    assert (half.x, half.width, half.open_start) == (500, 500, False)
    known = axis.bar(None, NOW - YEAR / 2)
    assert (known.x, known.width, known.open_start) == (0, 500, True)


def test_the_shortest_span_is_seen_and_none_leaves_the_axis() -> None:
    axis = axis_of([NOW - YEAR], now=NOW)
    moment = axis.bar(NOW, NOW)
    assert moment.width > 0
    assert moment.x + moment.width == LENGTH
    assert axis.bar(NOW - 9 * YEAR, NOW + 9 * YEAR).width == LENGTH
