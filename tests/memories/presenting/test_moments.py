"""Times in words."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from memories.presenting.lines import age_title, ago, day_title

NOW = datetime(2026, 3, 10, 14, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("before", "words"),
    [
        pytest.param(timedelta(minutes=59), "59 min ago", id="minutes"),
        pytest.param(timedelta(hours=3), "3 h ago", id="the same day"),
        pytest.param(timedelta(hours=20), "yesterday", id="before midnight"),
        pytest.param(timedelta(days=7), "3 Mar", id="a week"),
        pytest.param(timedelta(days=100), "30 Nov 2025", id="another year"),
        pytest.param(timedelta(hours=-2), "at 16:30", id="later today"),
        pytest.param(timedelta(days=-3), "13 Mar", id="in the future"),
    ],
)
def test_how_long_ago_is_said_as_a_person_would(before: timedelta, words: str) -> None:
    assert ago(NOW - before, NOW) == words


@pytest.mark.parametrize(
    ("before", "words"),
    [
        pytest.param(timedelta(minutes=5), "5 min ago", id="minutes"),
        pytest.param(timedelta(hours=2), "2 h ago", id="an evening"),
        pytest.param(timedelta(hours=7), "yesterday", id="half a day"),
        pytest.param(timedelta(hours=-24), "11 Mar", id="tomorrow"),
    ],
)
def test_midnight_makes_nothing_that_is_near_sound_far(before: timedelta, words: str) -> None:
    past_midnight = datetime(2026, 3, 10, 0, 0, 10, tzinfo=UTC)
    assert ago(past_midnight - before, past_midnight) == words


@pytest.mark.parametrize(
    ("day", "by_day", "by_age"),
    [
        pytest.param(date(2026, 3, 10), "Today", "Today", id="today"),
        pytest.param(date(2026, 3, 5), "Thursday 5 March", "Earlier this week", id="this week"),
        pytest.param(date(2026, 2, 20), "Friday 20 February", "This month", id="within thirty days"),
        pytest.param(date(2026, 1, 2), "Friday 2 January", "January", id="this year"),
        pytest.param(date(2024, 1, 2), "Tuesday 2 January 2024", "January 2024", id="years ago"),
    ],
)
def test_headings_get_coarser_with_age(day: date, by_day: str, by_age: str) -> None:
    assert (day_title(day, NOW.date()), age_title(day, NOW.date())) == (by_day, by_age)
