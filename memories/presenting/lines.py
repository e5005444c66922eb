"""Display text: sections, verbs for audit events, how a state ended, usage lines, and relative times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import Generic, TypeVar

from django.utils import timezone

from memories.models import CatalogEntry, Fact, Playbook
from memories.selectors.memories import Memory
from memories.types import CURRENT, Contradiction, Kind, Status


def headline(row: Memory) -> str:
    """The short form of a memory for lists: its title, or its text if it has none."""
    return row.title if isinstance(row, Playbook | CatalogEntry) else row.text


DID: Mapping[str, str] = {
    "created": "wrote it down",
    "merged": "came upon it again",
    "described": "changed its metadata",
    "superseded": "replaced it",
    "retired": "retired it",
    "promoted": "copied it into a wider scope",
    "retracted": "found it to be wrong",
    "pinned": "pinned it",
    "unpinned": "unpinned it",
    "confirmed": "confirmed it",
    "unconfirmed": "took the confirmation back",
    "kept": "kept it",
    "evicted": "let it go",
    "archived": "put it into the archive",
    "unarchived": "took it out of the archive",
    "restored": "brought it back",
    "revived": "kept it after all",
    "stale": "came to doubt it",
}


# The verbs for staff, which name the action exactly.
STAFF_DID: Mapping[str, str] = {
    **DID,
    "merged": "said it again",
    "replaced": "put another value in its place",
    "deleted": "deleted it",
    "retracted": "marked it as never true",
    "evicted": "evicted it",
    "archived": "archived it",
    "revived": "returned it from eviction",
    "stale": "marked it as stale",
    "forgotten": "had it erased",
    "erased": "erased it after its time",
    "succeeded": "noted that it worked",
    "failed": "noted that it did not work",
    "read": "looked at it",
    "asked": "asked about it",
}


def did(action: str) -> str:
    """The verb phrase for an audit event, such as `replaced it`, to follow the actor's name."""
    noun, _, verb = action.partition(".")
    return STAFF_DID.get(verb, verb.replace("_", " ") or noun)


def state_word(row: Fact | Playbook) -> str:
    """The state of a row in a word or two, so that no page relies on colour only."""
    if row.status == Status.EVICTED:
        return "evicted"
    if row.status == Status.STALE:
        return "stale"
    if row.status in CURRENT:
        return "believed"
    if row.retracted:
        return "never true"
    return "replaced" if row.superseded_by_id else "retired"


def ending_of(row: Fact | Playbook, *, staff: bool = False) -> str:
    """How a state ended, in a sentence; empty for a current one. Staff also read the kind of contradiction."""
    if row.status in CURRENT:
        return ""
    if row.superseded_at is None:
        return "It was evicted."
    if row.retracted or row.contradiction == Contradiction.HARSH:
        sentence, kind = (
            "It was wrong." if row.superseded_by_id else "It was wrong, and nothing took its place.",
            "harsh",
        )
    else:
        sentence = "It was true until then; then it changed." if row.superseded_by_id else "It stopped being true."
        kind = "natural"
    return f"{sentence[:-1]} ({kind})." if staff and row.contradiction else sentence


def believed(row: Fact | Playbook) -> str:
    """The period in which a state was believed, such as `3 Mar 2025 to 9 May 2026`."""
    if row.superseded_at == row.learned_at:
        return "at no time: it puts the past right"
    return span(row.learned_at, row.superseded_at)


def valid(row: Fact | Playbook) -> str:
    """The known period in which a fact was true in the world; empty for a how-to."""
    if not isinstance(row, Fact):
        return ""
    if row.retracted:
        return "never"
    if row.valid_from is not None:
        return span(row.valid_from, row.valid_to)
    return "not known" if row.valid_to is None else f"until {_day(row.valid_to)}"


def span(since: datetime, until: datetime | None) -> str:
    """A period in days, or in hours and minutes if it starts and ends on the same day."""
    if until is None:
        return f"since {_day(since)}"
    if _day(since) == _day(until):
        first, last = timezone.localtime(since), timezone.localtime(until)
        return f"{_day(since)}, {first:%H:%M} to {last:%H:%M}"
    return f"{_day(since)} to {_day(until)}"


def _day(moment: datetime) -> str:
    local = timezone.localdate(moment)
    return f"{local.day} {local:%b %Y}"


@dataclass(frozen=True, slots=True)
class Section:
    """A kind in the interface: `slug` is its URL part, `title` the plural, `noun` the singular, `hint` a gloss."""

    kind: Kind
    slug: str
    title: str
    noun: str
    hint: str


SECTIONS: Mapping[Kind, Section] = {
    section.kind: section
    for section in (
        Section(Kind.SEMANTIC, "facts", "Facts", "fact", "what is true"),
        Section(Kind.PROCEDURAL, "how-tos", "How-tos", "how-to", "what works"),
        Section(Kind.EPISODIC, "events", "Events", "event", "what happened"),
        Section(Kind.CATALOG, "shared", "Shared", "shared entry", "what everybody here can read"),
    )
}
_KIND_OF_SLUG = {section.slug: kind for kind, section in SECTIONS.items()}


class KindConverter:
    """The path converter `<kind:…>`: `facts` in the URL is `Kind.SEMANTIC` in the view."""

    regex = "|".join(_KIND_OF_SLUG)

    def to_python(self, value: str) -> Kind:
        """The kind for a URL slug."""
        return _KIND_OF_SLUG[value]

    def to_url(self, value: Kind | str) -> str:
        """The URL slug for a kind."""
        return SECTIONS[Kind(value)].slug


Item = TypeVar("Item")

_MINUTE = 60
_HOUR = 60 * _MINUTE
_SMALL_HOURS = 6 * _HOUR  # below this, hours are shown even across midnight, where "yesterday" would sound too long ago
_DAYS_IN_WORDS = 7


@dataclass(frozen=True, slots=True)
class Group(Generic[Item]):
    """Items under one heading."""

    title: str
    items: tuple[Item, ...]


def ago(moment: datetime, now: datetime) -> str:
    """A relative time; after a week, a date. Both times must be in the reader's zone."""
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
    """A date such as `3 Mar`, with the year unless it is this year."""
    return f"{day.day} {day:%b}" if day.year == today.year else f"{day.day} {day:%b %Y}"


def in_full(moment: datetime) -> str:
    """A time such as `Tuesday 3 March 2026, 14:05 CET`."""
    return f"{moment:%A} {moment.day} {moment:%B %Y, %H:%M %Z}".strip()


def in_utc(moment: datetime) -> str:
    """A time such as `2026-03-03 14:05:09 UTC`."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def day_title(day: date, today: date) -> str:
    """The heading of a day: Today, Yesterday, or the date with its weekday."""
    days = (today - day).days
    if days == 0:
        return "Today"
    if days == 1:
        return "Yesterday"
    return f"{day:%A} {day.day} {day:%B}" + ("" if day.year == today.year else f" {day.year}")


def age_title(day: date, today: date) -> str:
    """The heading of a list that goes far back: by day, then by week, then by month."""
    days = (today - day).days
    if days <= 1:
        return day_title(day, today)
    if days < _DAYS_IN_WORDS:
        return "Earlier this week"
    if timedelta(days=days) < timedelta(days=30):
        return "This month"
    return f"{day:%B}" if day.year == today.year else f"{day:%B %Y}"


def grouped(items: Iterable[Item], title: Callable[[Item], str]) -> Iterator[Group[Item]]:
    """Group consecutive items with the same title, keeping their order."""
    for heading, members in groupby(items, title):
        yield Group(heading, tuple(members))
