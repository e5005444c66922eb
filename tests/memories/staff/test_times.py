"""Times in addresses: read as people write them, refused in a sentence."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from memories.staff.times import moment_in, moment_of, written

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-05", datetime(2026, 3, 5, 23, 59, 59, 999999, tzinfo=UTC)),
        ("2026-03-05 14:30", datetime(2026, 3, 5, 14, 30, 59, 999999, tzinfo=UTC)),
        ("2026-03-05T14:30+02:00", datetime(2026, 3, 5, 12, 30, 59, 999999, tzinfo=UTC)),
        ("2026-03-05T14:30:20Z", datetime(2026, 3, 5, 14, 30, 20, 999999, tzinfo=UTC)),
        ("2026-03-05T14:30:20.000004Z", datetime(2026, 3, 5, 14, 30, 20, 4, tzinfo=UTC)),
        ("2026-03-10", NOW),
    ],
)
def test_a_time_is_the_end_of_what_it_names_and_never_later_than_now(text: str, moment: datetime) -> None:
    assert moment_in(text, now=NOW) == moment


def test_a_time_without_a_zone_is_the_readers() -> None:
    with timezone.override(ZoneInfo("America/New_York")):
        moment = moment_in("2026-03-05 14:30", now=NOW)
        assert moment == datetime(2026, 3, 5, 19, 30, 59, 999999, tzinfo=UTC)
        assert moment_in(written(moment), now=NOW) == moment.replace(microsecond=999999)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("yesterday", "is not a time"),
        ("2026-13-05", "is not a date"),
        ("2026-02-30 10:00", "is not a date"),
        ("2026-03-05T25:00", "does not exist"),
        ("2026-03-10 12:01", "lies ahead"),
        ("0001-01-01", "lies outside"),
        ("9999-12-31T23:59:59-12:00", "lies outside"),
        ("2026-03-05" * 50, "is not a time"),
        ("2026-03-05\0", "is not a time"),
        ("٢٠٢٦-٠٣-٠٥T99:99", "does not exist"),
    ],
)
def test_what_is_no_time_is_refused_in_a_sentence(text: str, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        moment_in(text, now=NOW)


def test_a_slider_gives_seconds() -> None:
    assert moment_of("1772720000.4", now=NOW).timestamp() == pytest.approx(1772720000.999999)
    for wrong in ("", "soon", "nan", "inf", "1e300", "-99999999999999"):
        with pytest.raises(ValidationError):
            moment_of(wrong, now=NOW)
