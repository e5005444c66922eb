"""All spans of a chain share one axis of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memories.staff.chain_drawing import LENGTH, axis_of

NOW = datetime(2026, 5, 1, tzinfo=UTC)
YEAR = timedelta(days=100)


def test_the_axis_runs_from_the_first_moment_to_now() -> None:
    axis = axis_of([None, NOW - YEAR, NOW - YEAR / 2], now=NOW)
    assert (axis.begin, axis.end) == (NOW - YEAR, NOW)
    assert (axis.ticks[0], axis.ticks[-1], axis.by_clock) == (NOW - YEAR, NOW, False)


def test_what_is_yet_to_come_is_on_it() -> None:
    assert axis_of([NOW + YEAR], now=NOW).end == NOW + YEAR


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


def test_a_chain_of_one_moment_has_an_axis_too() -> None:
    axis = axis_of([NOW], now=NOW)
    assert axis.end > axis.begin
    assert axis.by_clock
