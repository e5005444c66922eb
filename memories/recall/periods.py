"""Reads the time expressions of a query, such as "last spring" or "vor zwei Wochen", as periods. Pure.

A small grammar over tables of words for each language (`words_en.py` and its siblings) and no library: `dateparser`
takes milliseconds a sentence, reads "may" and "second" as dates, and gives moments where recall needs periods. An
expression relative to another memory ("before I moved") is not resolved; the vocabularies mark it as a question about
the past (`Vocabulary.past`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

import numpy as np
from numpy.typing import NDArray

from memories.recall.pool import SECONDS_PER_DAY, CandidateRow, Moment, stamps
from memories.recall.vocabulary import Vocabulary, fold
from memories.recall.words_en import OTHERS_TOO
from memories.types import Kind

# A long message may name many times; what asks for one comes early.
MAX_CHARACTERS, MAX_PERIODS = 2_000, 4
# Outside of a period, closeness halves with this share of its length, and with at least this many days.
SOFTNESS, LEAST_SOFTNESS = 0.25, 2.0
LONGEST_SOFTNESS = 30.0
# A fact that holds in a period counts less than one that begins in it, and one that does not hold at most this much.
HOLDS, HOLDS_NOT = 0.7, 0.5
# Closeness below this is none.
LEAST = 0.2
# A period longer than this many days says little.
LONG_DAYS, LONG_SHARE = 200.0, 0.5

_DAY, _WEEK, _MONTH, _YEAR, _WEEKEND, _PART = range(6)
_TOKEN = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?\.\d\d?\.\d{4}|\d+|[^\W\d_]+")
_ORDINALS = frozenset({"st", "nd", "rd", "th", "er", "o"})
_JOINED = (
    (re.compile(r"\bil y a\b", re.IGNORECASE), "ilya"),
    (re.compile(r"\bavant.hier\b", re.IGNORECASE), "avanthier"),
)
_DIGITS = 2
_SATURDAY = 5
_FIRST_YEAR, _LAST_YEAR = 1900, 2099
_OPEN_START, _OPEN_END = date(1, 1, 1), date(9999, 1, 1)
_SEASON_MONTHS = 3
_INTRODUCING = ("in", "since", "before", "after", "until", "between")

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Period:
    """The days from `first` up to but without `end`, in UTC; either may be open.

    `certain`: the expression means this one, as "last March" does and "in March" does not.
    """

    first: datetime
    end: datetime
    certain: bool

    @property
    def days(self) -> float:
        """The length."""
        return (self.end - self.first).total_seconds() / SECONDS_PER_DAY

    @property
    def is_open(self) -> bool:
        """True if it has no beginning or no end."""
        return self.first.year == _OPEN_START.year or self.end.year == _OPEN_END.year


def periods(text: str, now: datetime, language: Vocabulary) -> tuple[Period, ...]:
    """Return the periods that a query names, seen from `now` and in its time zone, in order."""
    text = text[:MAX_CHARACTERS]
    for joined, word in _JOINED:
        text = joined.sub(word, text)
    reader = _PhraseReader([fold(token) for token in _TOKEN.findall(text)], language, now.date())
    zone = now.tzinfo or UTC

    def moment(day: date) -> datetime:
        if day in (_OPEN_START, _OPEN_END):
            return datetime.combine(day, time(), UTC)
        return datetime.combine(day, time(), zone).astimezone(UTC)

    return tuple(Period(moment(span.first), moment(span.end), span.certain) for span in reader.read())


def closeness(named: Sequence[Period], rows: Sequence[CandidateRow]) -> tuple[Floats, Floats]:
    """Return for each candidate how close it is to the nearest period, 0 to 1: of the certain ones, and of all."""
    count = len(rows)
    every, certain = np.zeros(count, np.float32), np.zeros(count, np.float32)
    if not named:
        return certain, every
    began, ended = _days([row.since for row in rows]), _days([row.until for row in rows])
    lasting = np.array([row.kind is Kind.SEMANTIC for row in rows], np.bool_)
    for period in named:
        near = _near(period, began, ended, lasting)
        every = np.maximum(every, near)
        if period.certain:
            certain = np.maximum(certain, near)
    return certain, every


def _near(period: Period, began: NDArray[np.float64], ended: NDArray[np.float64], lasting: NDArray[np.bool_]) -> Floats:
    first, end = (_day_number(moment) for moment in (period.first, period.end))
    length = LONGEST_SOFTNESS if period.is_open else period.days
    softness = min(max(length * SOFTNESS, LEAST_SOFTNESS), LONGEST_SOFTNESS)
    outside = np.maximum(np.maximum(first - began, began - end), 0.0)
    near = np.exp2(-outside / softness)
    holds = (began < end) & ~(ended <= first)
    near = np.where(lasting & (outside > 0), np.where(holds, HOLDS, near * HOLDS_NOT), near)
    near = np.where(np.isnan(began) | (near < LEAST), 0.0, near)
    return (near * (LONG_SHARE if period.is_open or period.days > LONG_DAYS else 1.0)).astype(np.float32)


def _days(moments: Sequence[Moment]) -> NDArray[np.float64]:
    """Return moments as days since 1970, NaN where unknown."""
    known = stamps(moments)
    return np.where(np.isnat(known), np.nan, known.astype(np.int64) / SECONDS_PER_DAY)


def _day_number(moment: datetime) -> float:
    return moment.timestamp() / SECONDS_PER_DAY


@dataclass(frozen=True, slots=True)
class _Days:
    """A period in days of the member's calendar."""

    first: date
    end: date
    certain: bool = True


# A span, and the place after its last word.
_Found = tuple[_Days, int] | None


@dataclass(slots=True)
class _PhraseReader:
    """Reads the tokens of a query from left to right; each looks at a bounded number of those after it."""

    tokens: Sequence[str]
    language: Vocabulary
    today: date
    _roles: list[dict[str, int]] = field(init=False)

    def __post_init__(self) -> None:
        times = self.language.times
        self._roles = [dict(times.get(token, {})) for token in self.tokens]

    def read(self) -> list[_Days]:
        found: list[_Days] = []
        place = 0
        while place < len(self.tokens) and len(found) < MAX_PERIODS:
            span, place = self._expression(place) or (None, place + 1)
            found += [span] if span else []
        return found

    def _role(self, place: int, role: str) -> int | None:
        """What the word counts for in a role, or None if it has not this role."""
        return self._roles[place].get(role) if 0 <= place < len(self._roles) else None

    def _has(self, place: int, *roles: str) -> bool:
        return any(self._role(place, role) is not None for role in roles)

    def _after_fillers(self, place: int) -> int:
        for _ in range(2):
            place += self._has(place, "skip")
        return place

    def _expression(self, place: int) -> _Found:
        """Read "since May", "the week before 9 June" or a plain expression."""
        if plain := self._plain(place):
            return plain
        if self._has(place, "between") and (one := self._plain(self._after_fillers(place + 1))):
            other = self._plain(self._after_fillers(one[1] + 1)) if self._has(one[1], "and") else None
            return (_joined(one[0], other[0]), other[1]) if other else one
        unit = self._role(place, "unit")
        relation = place + (unit is not None)
        if not self._has(relation, "since", "before", "after", "until"):
            return None
        if self._has(relation, "since") and (lasted := self._rolling(self._after_fillers(relation + 1))):
            return lasted
        inner = self._plain(self._after_fillers(relation + 1))
        return (self._beside(relation, unit, inner[0]), inner[1]) if inner else None

    def _beside(self, relation: int, unit: int | None, span: _Days) -> _Days:
        """The time before or after a span; of a unit, if one is given ("the week before")."""
        if self._has(relation, "since"):
            return _Days(span.first, _OPEN_END)
        if self._has(relation, "until"):
            return _Days(_OPEN_START, span.end)
        if self._has(relation, "before"):
            return _Days(_OPEN_START if unit is None else _back(span.first, 1, unit), span.first)
        return _Days(span.end, _OPEN_END if unit is None else _back(span.end, -1, unit))

    def _plain(self, place: int) -> _Found:
        """Read an expression without "before" and the like."""
        if place >= len(self.tokens):
            return None
        token = self.tokens[place]
        if "-" in token or "." in token:
            return self._written(token, place + 1)
        if (days := self._role(place, "day")) is not None:
            day = self.today - timedelta(days=days)
            return _Days(day, day + timedelta(days=1)), place + 1
        if self._has(place, "ago_first") and (counted := self._counted(place + 1)):
            return self._around(counted[0], counted[1]), counted[2]
        return (
            self._counted_expression(place)
            or self._pointed(place)
            or self._month(place)
            or self._season(place)
            or self._year_alone(place)
        )

    def _counted(self, place: int) -> tuple[int, int, int] | None:
        """Read "two weeks" or "a couple of weeks": the number, the unit, and the place after them."""
        count: int | None = None
        for _ in range(3):
            if place >= len(self.tokens):
                return None
            number = self._role(place, "number")
            if number is None and self.tokens[place].isdigit() and len(self.tokens[place]) <= _DIGITS:
                number = int(self.tokens[place])
            if number is None:
                break
            count, place = number, place + 1
        place = self._after_fillers(place)
        unit = self._role(place, "unit")
        return (count, unit, place + 1) if count is not None and unit is not None else None

    def _counted_expression(self, place: int) -> _Found:
        """Read "two weeks ago", "3 May" and "(les) deux dernières semaines"."""
        if (counted := self._counted(place)) and self._has(counted[2], "ago"):
            return self._around(counted[0], counted[1]), counted[2] + 1
        token = self.tokens[place]
        if (token.isdigit() and len(token) <= _DIGITS) or self._has(place, "number"):
            after = place + 1
            after += after < len(self.tokens) and self.tokens[after] in _ORDINALS
            after = self._after_fillers(after)
            if token.isdigit() and (month := self._role(after, "month")) is not None:
                year, after = self._year(after + 1)
                return self._dated(year, month + 1, int(token), after)
            if self._has(after, "last"):
                return self._rolling(place)
        return None

    def _rolling(self, place: int) -> _Found:
        """Read "two weeks" as the two weeks up to now."""
        number = self._role(place, "number")
        if number is not None and self._has(place + 1, "last") and (unit := self._role(place + 2, "unit")) is not None:
            return self._until_now(number, unit), place + 3
        counted = self._counted(place)
        return (self._until_now(counted[0], counted[1]), counted[2]) if counted else None

    def _until_now(self, count: int, unit: int) -> _Days:
        return _Days(_back(self.today, count, unit), self.today + timedelta(days=1))

    def _around(self, count: int, unit: int) -> _Days:
        """The time about `count` units ago, half a unit to both sides."""
        middle = _back(self.today, count, unit)
        half = {_WEEK: 3, _MONTH: 15, _YEAR: 91}.get(unit, 0)
        return _Days(middle - timedelta(days=half), middle + timedelta(days=half + 1))

    def _pointed(self, place: int) -> _Found:
        """Read "last week", "this summer", "la semana pasada" and "the last two weeks"."""
        last, this = self._has(place, "last"), self._has(place, "this")
        if last and (rolling := self._rolling(place + 1)):
            return rolling
        if last or this:
            span = self._named(place + 1, last=last)
            return (span, place + 2) if span else None
        if self._has(place + 1, "last") and self._has(place, "unit", "season", "month", "weekday"):
            span = self._named(place, last=True)
            return (span, place + 2) if span else None
        return None

    def _named(self, place: int, *, last: bool) -> _Days | None:
        """The latest whole week, month, season or weekday that a word names; without `last` the current one counts."""
        today = self.today
        if (unit := self._role(place, "unit")) is not None:
            return _unit_before(today, unit, last=last)
        if (weekday := self._role(place, "weekday")) is not None:
            back = (today.weekday() - weekday) % 7
            day = today - timedelta(days=(back or 7) if last else back)
            return _Days(day, day + timedelta(days=1))
        month, length = self._role(place, "month"), 1
        if month is None and (season := self._role(place, "season")) is not None:
            month, length = season * _SEASON_MONTHS + 2, _SEASON_MONTHS
        if month is None:
            return None
        span = _months(today.year, month + 1, length)
        while span.first > today or (last and span.end > today):
            span = _months(span.first.year - 1, month + 1, length)
        return span

    def _month(self, place: int) -> _Found:
        """Read "May 3", "May 2024" and "in May"."""
        month = self._role(place, "month")
        if month is None:
            return None
        after = self._after_fillers(place + 1)
        if after < len(self.tokens) and self.tokens[after].isdigit() and len(self.tokens[after]) <= _DIGITS:
            day, after = int(self.tokens[after]), after + 1
            after += after < len(self.tokens) and self.tokens[after] in _ORDINALS
            year, after = self._year(after)
            return self._dated(year, month + 1, day, after)
        year, after = self._year(place + 1)
        if year is not None:
            return _months(year, month + 1, 1), after
        if self.tokens[place] in OTHERS_TOO and not self._has(place - 1, *_INTRODUCING):
            return None
        span = self._named(place, last=False)
        return (_Days(span.first, span.end, certain=False), place + 1) if span else None

    def _season(self, place: int) -> _Found:
        """Read "summer 2025" and "in spring"."""
        season = self._role(place, "season")
        if season is None:
            return None
        year, after = self._year(place + 1)
        if year is not None:
            return _months(year, season * _SEASON_MONTHS + _SEASON_MONTHS, _SEASON_MONTHS), after
        span = self._named(place, last=False)
        before = place - self._has(place - 1, "skip")
        if span is None or not self._has(before - 1, *_INTRODUCING):
            return None
        return _Days(span.first, span.end, certain=False), place + 1

    def _year(self, place: int) -> tuple[int | None, int]:
        """Read a year, and return it with the place after it."""
        at = self._after_fillers(place)
        if at < len(self.tokens) and self.tokens[at].isdigit():
            year = int(self.tokens[at][: len(str(_LAST_YEAR)) + 1])
            if _FIRST_YEAR <= year <= _LAST_YEAR:
                return year, at + 1
        return None, place

    def _year_alone(self, place: int) -> _Found:
        year, after = self._year(place)
        return (_Days(date(year, 1, 1), date(year + 1, 1, 1)), after) if year is not None else None

    def _written(self, token: str, after: int) -> _Found:
        """Read 2024-05-03 or 3.5.2024."""
        parts = [int(part) for part in re.split(r"[-.]", token)]
        year, month, day = parts if "-" in token else parts[::-1]
        return self._dated(year, month, day, after) if _FIRST_YEAR <= year <= _LAST_YEAR else None

    def _dated(self, year: int | None, month: int, day: int, after: int) -> _Found:
        """A day; without a year the latest one that is not in the future."""
        try:
            found = date(year or self.today.year, month, day)
            if year is None and found > self.today:
                found = found.replace(year=found.year - 1)
        except ValueError:
            return None
        return _Days(found, found + timedelta(days=1)), after


def _joined(one: _Days, other: _Days) -> _Days:
    """From the beginning of one span to the end of another; a month without a year is before the other."""
    first = one.first
    while first >= other.end and first.year > _FIRST_YEAR:
        first = _back(first, 1, _YEAR)
    return _Days(first, other.end)


def _months(year: int, month: int, count: int) -> _Days:
    return _Days(date(year, month, 1), _back(date(year, month, 1), -count, _MONTH))


def _unit_before(today: date, unit: int, *, last: bool) -> _Days:
    """The current week, month and so on, or the one before it."""
    day = timedelta(days=1)
    monday = today - today.weekday() * day
    if unit == _WEEK:
        return _Days(monday - 7 * last * day, monday + (7 - 7 * last) * day)
    if unit == _MONTH:
        first = _back(today.replace(day=1), int(last), _MONTH)
        return _Days(first, _back(first, -1, _MONTH))
    if unit == _YEAR:
        return _Days(date(today.year - last, 1, 1), date(today.year - last + 1, 1, 1))
    if unit == _WEEKEND:
        # On a Saturday or Sunday, "this weekend" is the current one.
        saturday = monday + (_SATURDAY if today.weekday() >= _SATURDAY and not last else -2) * day
        return _Days(saturday, saturday + 2 * day)
    return _Days(today - last * day, today - last * day + day)


def _back(day: date, count: int, unit: int) -> date:
    """The day `count` units before a day; after months and years, at most the 28th."""
    if unit in (_MONTH, _YEAR):
        months = day.year * 12 + day.month - 1 - count * (12 if unit == _YEAR else 1)
        year, month = divmod(months, 12)
        return date(year, month + 1, min(day.day, 28))
    return day - timedelta(days=count * {_WEEK: 7, _WEEKEND: 7}.get(unit, 1))
