"""The times that people give with what they say: "since March 2024", "last year", "yesterday", "on Friday".

Each is the beginning (UTC) of the day, month or year that the words name, and never lies after the moment of speaking.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

MONTHS = "january february march april may june july august september october november december".split()
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_MONTH = rf"(?P<month>{'|'.join(MONTHS)})"
_NUMBERS = dict(zip("one two three four five six seven eight nine ten".split(), range(1, 11), strict=True)) | {
    "a": 1,
    "an": 1,
}

# Words that say that something began or ended then; other statements only give a time with "since".
_EVENT = re.compile(
    r"\b(?:moved|relocated|left|started|joined|began|quit|stopped|gave up|sold|bought|adopted|got|became|married|died"
    r"|passed away|retired|switched|changed|broke up|split up|divorced|ended|cancelled|last day)\b",
    re.IGNORECASE,
)
_SINCE = re.compile(r"\bsince\s+(?P<rest>.+)$", re.IGNORECASE)


def began(words: str, now: datetime) -> datetime | None:
    """Since when something holds, or when it changed, by `words` said at `now`; None if they do not say."""
    if match := _SINCE.search(words):
        return _time(match["rest"], now, at_start=True)
    return _time(words, now) if _EVENT.search(words) else None


def _time(words: str, now: datetime, *, at_start: bool = False) -> datetime | None:
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    for pattern, moment in _TIMES:
        match = pattern.match(words.strip()) if at_start else pattern.search(words)
        if match and (found := moment(match, today)) is not None:
            return found if found <= now else None
    return None


def _moment(year: int, month: int, day: int) -> datetime | None:
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None


def _date(match: re.Match[str], today: datetime) -> datetime | None:
    month, day = MONTHS.index(match["month"].casefold()) + 1, int(match["day"] or 1)
    if match["year"]:
        return _moment(int(match["year"]), month, day)
    found = _moment(today.year, month, day)
    return found if found is None or found <= today else _moment(today.year - 1, month, day)


def _year(match: re.Match[str], _today: datetime) -> datetime | None:
    return _moment(int(match["year"]), 1, 1)


def _days_back(match: re.Match[str], today: datetime) -> datetime | None:
    back = {"today": 0, "this morning": 0, "yesterday": 1, "last night": 1, "the day before yesterday": 2}
    return today - timedelta(days=back[" ".join(match["day"].casefold().split())])


def _last_period(match: re.Match[str], today: datetime) -> datetime | None:
    match match["period"].casefold():
        case "year":
            return _moment(today.year - 1, 1, 1)
        case "month":
            return (today.replace(day=1) - timedelta(days=1)).replace(day=1)
        case _:
            return today - timedelta(days=today.weekday() + 7)


def _ago(match: re.Match[str], today: datetime) -> datetime | None:
    written = match["count"].casefold()
    count = int(written) if written.isdigit() else _NUMBERS[written]
    match match["unit"].casefold():
        case "year":
            return _moment(today.year - count, today.month, min(today.day, 28))
        case "month":
            months = today.year * 12 + today.month - 1 - count
            return _moment(months // 12, months % 12 + 1, min(today.day, 28))
        case unit:
            return today - timedelta(days=count * (7 if unit == "week" else 1))


def _weekday(match: re.Match[str], today: datetime) -> datetime | None:
    back = (today.weekday() - WEEKDAYS.index(match["weekday"].casefold())) % 7
    return today - timedelta(days=back or 7)


_TIMES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], datetime], datetime | None]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), moment)
    for pattern, moment in (
        (rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+(?P<year>(?:19|20)\d\d))?\b", _date),
        (rf"\b{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<year>(?:19|20)\d\d))?\b", _date),
        (rf"(?:\b|^){_MONTH}(?P<day>)(?:\s+(?P<year>(?:19|20)\d\d))\b", _date),
        (rf"(?:\b(?:in|since|last|of)\s+|^)(?:early\s+|late\s+)?{_MONTH}(?P<day>)(?P<year>)\b", _date),
        (r"(?:\b(?:in|since|of)\s+|^)(?P<year>(?:19|20)\d\d)\b", _year),
        (r"\b(?P<day>today|this\s+morning|(?:the\s+day\s+before\s+)?yesterday|last\s+night)\b", _days_back),
        (r"\blast\s+(?P<period>year|month|week)\b", _last_period),
        (rf"\b(?P<count>\d{{1,2}}|{'|'.join(_NUMBERS)})\s+(?P<unit>day|week|month|year)s?\s+ago\b", _ago),
        (rf"(?:\b(?:on|last|since)\s+|^)(?P<weekday>{'|'.join(WEEKDAYS)})\b(?!s)", _weekday),
    )
)
