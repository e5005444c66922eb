"""Time expressions in English: "since March 2024", "last year", "yesterday", "on Friday".

Each gives the beginning (UTC) of the day, month or year it names, and never a time after the message.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memories.english.text import any_of, compiled

MONTHS = "january february march april may june july august september october november december".split()
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_COUNTS = {
    word: max(1, number) for number, word in enumerate("a one two three four five six seven eight nine ten".split())
}
_DAYS_BACK = {"today": 0, "this morning": 0, "yesterday": 1, "last night": 1, "the day before yesterday": 2}

# Words stating that something began or ended at the given time; other statements give a date only with "since".
_EVENT = any_of(
    """
    moved, relocated, left, started, joined, began, quit, stopped, gave up, sold, bought, adopted, got, became, married,
    died, passed away, retired, switched, changed, broke up, split up, divorced, ended, cancelled, last day
    """
)
_SINCE = compiled(r"\bsince\s+(?P<rest>.+)$")
_MONTH = rf"(?P<month>{'|'.join(MONTHS)})"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
# In order of precision: the first match wins.
_TIMES = tuple(
    compiled(pattern)
    for pattern in (
        rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR})?\b",
        rf"\b{_MONTH}\s+{_DAY}\b(?:,?\s+{_YEAR})?\b",
        rf"\b{_MONTH}\s+{_YEAR}\b",
        rf"(?:\b(?:in|since|last|of)\s+|^)(?:early\s+|late\s+)?{_MONTH}\b",
        rf"(?:\b(?:in|since|of)\s+|^){_YEAR}\b",
        rf"\b(?P<named>{'|'.join(reversed(_DAYS_BACK))})\b".replace(" ", r"\s+"),
        r"\blast\s+(?P<last>year|month|week)\b",
        rf"\b(?P<count>\d{{1,2}}|{'|'.join(_COUNTS)}|an)\s+(?P<unit>day|week|month|year)s?\s+ago\b",
        rf"(?:\b(?:on|last|since)\s+|^)(?P<weekday>{'|'.join(WEEKDAYS)})\b(?!s)",
    )
)


def began(words: str, now: datetime) -> datetime | None:
    """Return the time since which `words`, said at `now`, hold, or None if they name none."""
    since = _SINCE.search(words)
    if not since and not _EVENT.search(words):
        return None
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    for pattern in _TIMES:
        if match := pattern.match(since["rest"].strip()) if since else pattern.search(words):
            said = {name: " ".join(part.casefold().split()) for name, part in match.groupdict("").items()}
            if found := _moment(said, today):
                return found if found <= now else None
    return None


def _moment(said: dict[str, str], today: datetime) -> datetime | None:
    """Return the beginning of the time named by a match's groups; None for an impossible date such as 31 June."""
    days, months = 0, 0
    match said:
        case {"month": month}:
            try:
                day = today.replace(
                    int(said.get("year") or today.year), MONTHS.index(month) + 1, int(said.get("day", 1))
                )
            except ValueError:
                return None
            return day if said.get("year") or day <= today else day.replace(day.year - 1)
        case {"year": year}:
            return today.replace(int(year), 1, 1)
        case {"last": "year"}:
            return today.replace(today.year - 1, 1, 1)
        case {"last": "month"}:
            return (today.replace(day=1) - timedelta(days=1)).replace(day=1)
        case {"last": _}:
            days = today.weekday() + 7
        case {"named": named}:
            days = _DAYS_BACK[named]
        case {"weekday": weekday}:
            days = (today.weekday() - WEEKDAYS.index(weekday)) % 7 or 7
        case {"count": said_count, "unit": unit}:
            count = int(said_count) if said_count.isdigit() else _COUNTS.get(said_count, 1)
            days = count * {"day": 1, "week": 7}.get(unit, 0)
            months = count * {"month": 1, "year": 12}.get(unit, 0)
    if not months:
        return today - timedelta(days=days)
    year_back, month_back = divmod(today.year * 12 + today.month - 1 - months, 12)
    return today.replace(year_back, month_back + 1, min(today.day, 28))
