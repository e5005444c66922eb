"""Times in words: how long ago, and which day. Pure: plain values and `now` in, words out.

Invariant: what is shown short is always given in full elsewhere (a tooltip, a `datetime` attribute).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Generic, TypeVar

Item = TypeVar("Item")

_MINUTE = 60
_HOUR = 60 * _MINUTE
_SMALL_HOURS = 6 * _HOUR  # a nearer moment is given in hours past midnight, too: "yesterday" would sound far
_DAYS_IN_WORDS = 7


@dataclass(frozen=True, slots=True)
class Group(Generic[Item]):
    """What belongs under one heading."""

    title: str
    items: tuple[Item, ...]


def ago(moment: datetime, now: datetime) -> str:
    """How long ago, as a person says it; a date beyond a week. Both times in the reader's zone."""
    seconds = (now - moment).total_seconds()
    days = (now.date() - moment.date()).days
    if -_MINUTE < seconds < _HOUR:
        return "just now" if seconds < _MINUTE else f"{int(seconds // _MINUTE)} min ago"
    if seconds > 0 and (days == 0 or seconds < _SMALL_HOURS):
        return f"{int(seconds // _HOUR)} h ago"
    if days == 0:
        return f"at {moment:%H:%M}"
    if days == 1:
        return "yesterday"
    if 1 < days < _DAYS_IN_WORDS:
        return f"{days} days ago"
    return short_date(moment.date(), now.date())


def short_date(day: date, today: date) -> str:
    """Such as `3 Mar`, with the year when it is not this one."""
    return f"{day.day} {day:%b}" if day.year == today.year else f"{day.day} {day:%b %Y}"


def in_full(moment: datetime) -> str:
    """Such as `Tuesday 3 March 2026, 14:05 CET`."""
    return f"{moment:%A} {moment.day} {moment:%B %Y, %H:%M %Z}".strip()


def day_title(day: date, today: date) -> str:
    """The heading of one day: Today, Yesterday, or the date with its weekday."""
    days = (today - day).days
    if days == 0:
        return "Today"
    if days == 1:
        return "Yesterday"
    return f"{day:%A} {day.day} {day:%B}" + ("" if day.year == today.year else f" {day.year}")


def age_title(day: date, today: date) -> str:
    """The heading of a list that goes far back: by day at first, then by week, then by month."""
    days = (today - day).days
    if days <= 1:
        return day_title(day, today)
    if days < _DAYS_IN_WORDS:
        return "Earlier this week"
    if timedelta(days=days) < timedelta(days=30):
        return "This month"
    return f"{day:%B}" if day.year == today.year else f"{day:%B %Y}"


def grouped(items: Iterable[Item], title: Callable[[Item], str]) -> Iterator[Group[Item]]:
    """Neighbours of one title under one heading, in the order in which they come."""
    for heading, members in groupby(items, title):
        yield Group(heading, tuple(members))
