"""Times on the staff pages: parsing from a URL, the form fields for them, and the histogram of changes.

A time means the last microsecond of the day, minute or second that it names, so that a page includes everything in that
period. A time without a zone is in the reader's zone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.text import format_lazy

from memories.constants import FIRST_YEAR, LAST_YEAR
from memoryhub.languages import gettext_lazy

_MALFORMED = gettext_lazy("is not a time; write it like 2026-03-05 14:30, or a day like 2026-03-05.")
_NO_DATE = gettext_lazy("is not a date that a calendar has; write it like 2026-03-05.")
_NOT_ON_THE_CLOCK = gettext_lazy("does not exist on that day; look at the hour and the day once more.")
_AHEAD = gettext_lazy("lies ahead; nothing is known of it yet.")
_OUTSIDE = format_lazy(gettext_lazy("lies outside the years {first} to {last}."), first=FIRST_YEAR, last=LAST_YEAR)
_LONGEST = 40


def moment_in(text: str, *, now: datetime) -> datetime:
    """Parse `text` to the end of the period that it names, but at most `now`. Raises ValidationError."""
    written = text.strip().replace(" ", "T", 1)
    if len(written) > _LONGEST:
        raise ValidationError(_MALFORMED)
    try:
        parse_date(written.partition("T")[0])
    except ValueError as error:
        raise ValidationError(_NO_DATE) from error
    try:
        day, moment = parse_date(written), parse_datetime(written)
    except ValueError as error:
        raise ValidationError(_NOT_ON_THE_CLOCK) from error
    if day is not None:
        return _bounded(datetime.combine(day, time.min), timedelta(days=1), now)
    if moment is None:
        raise ValidationError(_MALFORMED)
    return _bounded(moment, _length(written, moment), now)


def moment_of(text: str, *, now: datetime) -> datetime:
    """Parse the position of a slider, in seconds since 1970, to the end of that second. Raises ValidationError."""
    try:
        begin = datetime.fromtimestamp(float(text), tz=timezone.get_current_timezone()).replace(microsecond=0)
    except (ValueError, OverflowError, OSError) as error:
        raise ValidationError(_MALFORMED) from error
    return _bounded(begin, timedelta(seconds=1), now)


def written(moment: datetime) -> str:
    """Format a moment for a URL or a form field: the reader's time, to the second."""
    return f"{timezone.localtime(moment):%Y-%m-%dT%H:%M:%S}"


def _length(text: str, moment: datetime) -> timedelta:
    """The length of the period that `text` names: a minute, a second, or a microsecond if it has a fraction."""
    if moment.microsecond:
        return timedelta(microseconds=1)
    clock = text.partition("T")[2]
    return timedelta(seconds=1) if clock.count(":") > 1 + ("+" in clock or "-" in clock) else timedelta(minutes=1)


def _bounded(begin: datetime, length: timedelta, now: datetime) -> datetime:
    if not FIRST_YEAR <= begin.year <= LAST_YEAR:
        raise ValidationError(_OUTSIDE)
    if timezone.is_naive(begin):
        begin = timezone.make_aware(begin)
    if begin > now:
        raise ValidationError(_AHEAD)
    return min(begin + length - timedelta(microseconds=1), now)


class MomentField(forms.CharField):
    """A time or a day in the past, parsed by `moment_in`."""

    read = staticmethod(moment_in)

    def clean(self, value: Any) -> datetime | None:
        text = super().clean(value)
        return self.read(text, now=timezone.now()) if text else None


class SliderField(MomentField):
    """The position of a time slider, parsed by `moment_of`."""

    read = staticmethod(moment_of)


def first_error(form: forms.Form) -> str:
    """The first error of a form, after the label of its field; empty for a valid form."""
    for name, errors in form.errors.items():
        return f"{form.fields[name].label}: {errors[0]}"
    return ""


WIDTH, HEIGHT = 1000.0, 64.0
MOST_BARS = 100
# The minimum size of a bar keeps even a single change visible.
_LOWEST = _NARROWEST = 2.0
_GAP = 0.15


@dataclass(frozen=True, slots=True)
class HistogramBar:
    """A range of days, the number of changes in it, and the rectangle in drawing units that shows the number."""

    first: date
    last: date
    count: int
    x: float
    y: float
    width: float
    height: float


def histogram_of(by_day: Mapping[date, int], *, begin: datetime, now: datetime, at: datetime) -> dict[str, Any]:
    """Group the changes of each day (UTC) from `begin` to `now` into at most MOST_BARS bars.

    `mark` is the x coordinate of `at`, the time that the page shows. `most` is the highest count of a bar.
    """
    first, last = begin.astimezone(UTC).date(), now.astimezone(UTC).date()
    days = (last - first).days + 1
    per_bar = -(-days // MOST_BARS)
    counts = [0] * -(-days // per_bar)
    for day, count in by_day.items():
        counts[min(max((day - first).days, 0) // per_bar, len(counts) - 1)] += count
    most, whole = max(counts), max(now - begin, timedelta(seconds=1))

    def place_of(moment: datetime) -> float:
        return round(min(max((moment - begin) / whole, 0.0), 1.0) * WIDTH, 1)

    bars = []
    for place, count in enumerate(counts):
        if count:
            day = first + timedelta(days=place * per_bar)
            start = datetime.combine(day, time(), UTC)
            left, right = place_of(start), place_of(start + timedelta(days=per_bar))
            height = round(max(_LOWEST, HEIGHT * count / most), 1)
            until = min(last, day + timedelta(days=per_bar - 1))
            width = max(_NARROWEST, round((right - left) * (1 - _GAP), 1))
            bars.append(HistogramBar(day, until, count, left, HEIGHT - height, width, height))
    return {
        "bars": bars,
        "mark": place_of(at),
        "most": most,
        "total": sum(counts),
        "first": first,
        "last": last,
        "width": WIDTH,
        "height": HEIGHT,
    }
