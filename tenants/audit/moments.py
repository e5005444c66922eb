"""Parses the days and times that people write in the filters of the audit log and of histories.

Days are read as 2026-03-31, 31 March 2026, March 31, 2026, 31.3.2026 or 31/3/2026, months as 2026-03 or March 2026.
Where day and month could be exchanged (3/4/2026), nothing is guessed.
"""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, date, datetime, time, timedelta

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from tenants.errors import InvalidValue

_DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d %b %Y", "%d %B %Y", "%b %d %Y", "%B %d %Y")
_MONTHS = ("%Y-%m", "%b %Y", "%B %Y")
_SLASHED = ("%d/%m/%Y", "%m/%d/%Y")


def read_moment(field: str, words: str, *, end: bool = False) -> datetime | None:
    """Parse a day, a month or a time; as the `end`, the whole day or month is included. Empty gives None.

    Raises InvalidValue naming the `field`.
    """
    words = " ".join(words.replace(",", " ").split())
    if not words:
        return None
    try:
        period = _period(field, words)
        moment = datetime.combine(period[end], time.min) if period else parse_datetime(words.replace(" UTC", "Z"))
    except (ValueError, OverflowError):
        raise InvalidValue(field, _("There is no such day or time; look at the day and the hour once more.")) from None
    if moment is None:
        raise InvalidValue(
            field, _("Give a day such as 2026-03-31 or 31 March 2026, or a moment such as 2026-03-31T18:00.")
        )
    if not MINYEAR < moment.year < MAXYEAR:  # converting the time zone could leave the range of years
        raise InvalidValue(field, _("Give a day that a calendar has."))
    return timezone.make_aware(moment) if timezone.is_naive(moment) else moment


def _period(field: str, words: str) -> tuple[date, date] | None:
    """The first day and the day after the last; None if the words are no day and no month. Raises OverflowError."""
    days = {day for form in _SLASHED if (day := _read(words, form))}
    if len(days) > 1:
        raise InvalidValue(
            field, _("Day and month could be exchanged: write the month as a word, or the day as 2026-03-31.")
        )
    day = next(iter(days), None) or next((day for form in _DAYS if (day := _read(words, form))), None)
    if day:
        return day, day + timedelta(days=1)
    month = next((day for form in _MONTHS if (day := _read(words, form))), None)
    return (month, (month + timedelta(days=31)).replace(day=1)) if month else None


def _read(words: str, form: str) -> date | None:
    try:
        return datetime.strptime(words, form).date()  # noqa: DTZ007 - a day has no time zone
    except ValueError:
        return None
