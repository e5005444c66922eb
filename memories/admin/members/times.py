"""Times in the addresses of staff's pages: read leniently, refused in a sentence, written so that they come back.

Invariant: a time stands for the end of what it names (a day, a minute, a second), so that what happened in it is in
what is shown; a time without a zone is the reader's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta

from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from memories.constants import FIRST_YEAR, LAST_YEAR
from memories.errors import InvalidInput

_MALFORMED = "is not a time; write it like 2026-03-05 14:30, or a day like 2026-03-05."
_NO_DATE = "is not a date that a calendar has; write it like 2026-03-05."
_NOT_ON_THE_CLOCK = "does not exist on that day; look at the hour and the day once more."
_AHEAD = "lies ahead; nothing is known of it yet."
_OUTSIDE = f"lies outside the years {FIRST_YEAR} to {LAST_YEAR}."
_LONGEST = 40


def moment_in(text: str, field: str, *, now: datetime) -> datetime:
    """The moment that `text` names, at the latest now. Raises InvalidInput."""
    written = text.strip().replace(" ", "T", 1)
    if len(written) > _LONGEST:
        raise InvalidInput(field, _MALFORMED)
    try:
        parse_date(written.partition("T")[0])
    except ValueError as error:
        raise InvalidInput(field, _NO_DATE) from error
    try:
        day, moment = parse_date(written), parse_datetime(written)
    except ValueError as error:
        raise InvalidInput(field, _NOT_ON_THE_CLOCK) from error
    if day is not None:
        begin, length = datetime.combine(day, time.min), timedelta(days=1)
    elif moment is not None:
        begin, length = moment, _length(written, moment)
    else:
        raise InvalidInput(field, _MALFORMED)
    return _bounded(begin, length, field, now)


def moment_of(seconds: str, field: str, *, now: datetime) -> datetime:
    """The moment of a slider: seconds since 1970, of which parts are let go. Raises InvalidInput."""
    try:
        begin = datetime.fromtimestamp(float(seconds), tz=timezone.get_current_timezone()).replace(microsecond=0)
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInput(field, _MALFORMED) from error
    return _bounded(begin, timedelta(seconds=1), field, now)


def said(refused: InvalidInput, labels: Mapping[str, str]) -> str:
    """What was refused in a sentence, under the name that the page has for its field."""
    label = labels.get(refused.field, refused.field.capitalize())
    return f"{label}: {refused.reason}"


def written(moment: datetime) -> str:
    """A moment in an address and in a field for it: the reader's own time, to the second."""
    return f"{timezone.localtime(moment):%Y-%m-%dT%H:%M:%S}"


def day_of(moment: datetime) -> date:
    """The reader's own day."""
    return timezone.localdate(moment)


def _length(text: str, moment: datetime) -> timedelta:
    """How much time is named: a minute if no seconds are given, nothing beyond a fraction of a second."""
    if moment.microsecond:
        return timedelta(microseconds=1)
    clock = text.partition("T")[2]
    return timedelta(seconds=1) if clock.count(":") > 1 + ("+" in clock or "-" in clock) else timedelta(minutes=1)


def _bounded(begin: datetime, length: timedelta, field: str, now: datetime) -> datetime:
    if not FIRST_YEAR <= begin.year <= LAST_YEAR:
        raise InvalidInput(field, _OUTSIDE)
    if timezone.is_naive(begin):
        begin = timezone.make_aware(begin)
    if begin > now:
        raise InvalidInput(field, _AHEAD)
    return min(begin + length - timedelta(microseconds=1), now)
