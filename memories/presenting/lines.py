"""Display text: sections, verbs for audit events, how a state ended, usage lines, and relative times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import Generic, TypeVar

from django.utils import formats, timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy
from django_stubs_ext import StrOrPromise, StrPromise

from memories.models import CatalogEntry, Fact, Playbook
from memories.selectors.memories import Memory
from memories.types import CURRENT, Contradiction, Kind, Status


def headline(row: Memory) -> str:
    """The short form of a memory for lists: its title, or its text if it has none."""
    return row.title if isinstance(row, Playbook | CatalogEntry) else row.text


DID: Mapping[str, StrOrPromise] = {
    "created": gettext_lazy("wrote it down"),
    "merged": gettext_lazy("came upon it again"),
    "described": gettext_lazy("changed its metadata"),
    "superseded": gettext_lazy("replaced it"),
    "retired": gettext_lazy("retired it"),
    "promoted": gettext_lazy("copied it into a wider scope"),
    "retracted": gettext_lazy("found it to be wrong"),
    "pinned": gettext_lazy("pinned it"),
    "unpinned": gettext_lazy("unpinned it"),
    "confirmed": gettext_lazy("confirmed it"),
    "unconfirmed": gettext_lazy("took the confirmation back"),
    "kept": gettext_lazy("kept it"),
    "evicted": gettext_lazy("let it go"),
    "archived": gettext_lazy("put it into the archive"),
    "unarchived": gettext_lazy("took it out of the archive"),
    "restored": gettext_lazy("brought it back"),
    "revived": gettext_lazy("kept it after all"),
    "stale": gettext_lazy("came to doubt it"),
}


# The verbs for staff, which name the action exactly.
STAFF_DID: Mapping[str, StrOrPromise] = {
    **DID,
    "merged": gettext_lazy("said it again"),
    "replaced": gettext_lazy("put another value in its place"),
    "deleted": gettext_lazy("deleted it"),
    "retracted": gettext_lazy("marked it as never true"),
    "evicted": gettext_lazy("evicted it"),
    "archived": gettext_lazy("archived it"),
    "revived": gettext_lazy("returned it from eviction"),
    "stale": gettext_lazy("marked it as stale"),
    "forgotten": gettext_lazy("had it erased"),
    "erased": gettext_lazy("erased it after its time"),
    "succeeded": gettext_lazy("noted that it worked"),
    "failed": gettext_lazy("noted that it did not work"),
    "read": gettext_lazy("looked at it"),
    "asked": gettext_lazy("asked about it"),
}


def did(action: str) -> str:
    """The verb phrase for an audit event, such as `replaced it`, to follow the actor's name."""
    noun, __, verb = action.partition(".")
    return str(STAFF_DID.get(verb, verb.replace("_", " ") or noun))


def state_word(row: Fact | Playbook) -> str:
    """The state of a row in a word or two, so that no page relies on colour only."""
    if row.status == Status.EVICTED:
        return _("evicted")
    if row.status == Status.STALE:
        return _("stale")
    if row.status in CURRENT:
        return _("believed")
    if row.retracted:
        return _("never true")
    return _("replaced") if row.superseded_by_id else _("retired")


def state_look(row: Fact | Playbook) -> str:
    """The state of a row as a CSS class: evicted, current, stale, retracted or superseded."""
    if row.status == Status.EVICTED:
        return "evicted"
    if row.superseded_at is None:
        return "stale" if row.status == Status.STALE else "current"
    return "retracted" if row.retracted else "superseded"


def ending_of(row: Fact | Playbook) -> str:
    """How a state ended, in a sentence; empty for a current one."""
    if row.status in CURRENT:
        return ""
    if row.superseded_at is None:
        return _("It was evicted.")
    if row.retracted or row.contradiction == Contradiction.HARSH:
        return _("It was wrong.") if row.superseded_by_id else _("It was wrong, and nothing took its place.")
    return _("It was true until then; then it changed.") if row.superseded_by_id else _("It stopped being true.")


def believed(row: Fact | Playbook, *, exact: bool = False) -> str:
    """The period in which a state was believed, such as `3 Mar 2025 to 9 May 2026`; `exact` to the second in UTC."""
    if row.superseded_at == row.learned_at:
        return _("never current: it corrects the past")
    return (_exact_span if exact else span)(row.learned_at, row.superseded_at)


def valid(row: Fact | Playbook) -> str:
    """The stated period in which a fact was true in the world, to the second in UTC; empty for a how-to."""
    if not isinstance(row, Fact):
        return ""
    if row.retracted:
        return _("never")
    if row.valid_from is not None:
        return _exact_span(row.valid_from, row.valid_to)
    return _("no period stated") if row.valid_to is None else _("until %(day)s") % {"day": in_utc(row.valid_to)}


def _exact_span(since: datetime, until: datetime | None) -> str:
    if until is None:
        return _("since %(day)s") % {"day": in_utc(since)}
    return _("%(first)s to %(last)s") % {"first": in_utc(since), "last": in_utc(until)}


def span(since: datetime, until: datetime | None) -> str:
    """A period in days, or in hours and minutes if it starts and ends on the same day."""
    if until is None:
        return _("since %(day)s") % {"day": _day(since)}
    if _day(since) == _day(until):
        first, last = formats.time_format(timezone.localtime(since)), formats.time_format(timezone.localtime(until))
        return _("%(day)s, %(first)s to %(last)s") % {"day": _day(since), "first": first, "last": last}
    return _("%(first)s to %(last)s") % {"first": _day(since), "last": _day(until)}


def _day(moment: datetime) -> str:
    return formats.date_format(timezone.localdate(moment), "DAY_AND_YEAR")


@dataclass(frozen=True, slots=True)
class Section:
    """A kind in the interface: `slug` is its URL part, `title` the plural, `noun` the singular, `hint` a gloss."""

    kind: Kind
    slug: str
    title: StrPromise
    noun: StrPromise
    hint: StrPromise


SECTIONS: Mapping[Kind, Section] = {
    section.kind: section
    for section in (
        Section(Kind.SEMANTIC, "facts", gettext_lazy("Facts"), gettext_lazy("fact"), gettext_lazy("what is true")),
        Section(
            Kind.PROCEDURAL, "how-tos", gettext_lazy("How-tos"), gettext_lazy("how-to"), gettext_lazy("what works")
        ),
        Section(Kind.EPISODIC, "events", gettext_lazy("Events"), gettext_lazy("event"), gettext_lazy("what happened")),
        Section(
            Kind.CATALOG,
            "shared",
            gettext_lazy("Shared"),
            gettext_lazy("shared entry"),
            gettext_lazy("what everybody here can read"),
        ),
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
        return _("just now") if seconds < _MINUTE else _("%(count)d min ago") % {"count": seconds // _MINUTE}
    if seconds > 0 and (days == 0 or seconds < _SMALL_HOURS):
        return _("%(count)d h ago") % {"count": seconds // _HOUR}
    if days == 0:
        return _("at %(time)s") % {"time": formats.time_format(moment)}
    if days == 1:
        return _("yesterday")
    if 1 < days < _DAYS_IN_WORDS:
        return ngettext("%(count)d day ago", "%(count)d days ago", days) % {"count": days}
    return short_date(moment.date(), now.date())


def short_date(day: date, today: date) -> str:
    """A date such as `3 Mar`, with the year unless it is this year."""
    return formats.date_format(day, "DAY" if day.year == today.year else "DAY_AND_YEAR")


def in_full(moment: datetime) -> str:
    """A time such as `Tuesday 3 March 2026, 14:05 CET`."""
    return formats.date_format(moment, "IN_FULL").strip()


def in_utc(moment: datetime) -> str:
    """A time such as `2026-03-03 14:05:09 UTC`."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


# The categories of the offline rules (`memories/english/slots.toml`); others are words of a model or a member.
_CATEGORIES: Mapping[str, StrOrPromise] = {
    "family": pgettext_lazy("category", "Family"),
    "food": pgettext_lazy("category", "Food"),
    "habits": pgettext_lazy("category", "Habits"),
    "health": pgettext_lazy("category", "Health"),
    "home": pgettext_lazy("category", "Home"),
    "personal": pgettext_lazy("category", "Personal"),
    "pets": pgettext_lazy("category", "Pets"),
    "possessions": pgettext_lazy("category", "Possessions"),
    "preferences": pgettext_lazy("category", "Preferences"),
    "taste": pgettext_lazy("category", "Taste"),
    "to do": pgettext_lazy("category", "To do"),
    "work": pgettext_lazy("category", "Work"),
}


def category_title(category: str) -> str:
    """A category as a heading: `home_life` becomes "Home life"; a built-in one is in the language of the page."""
    return str(_CATEGORIES.get(category) or category.replace("_", " ").capitalize())


def day_title(day: date, today: date) -> str:
    """The heading of a day: Today, Yesterday, or the date with its weekday."""
    days = (today - day).days
    if days == 0:
        return _("Today")
    if days == 1:
        return _("Yesterday")
    return capfirst(formats.date_format(day, "WEEKDAY" if day.year == today.year else "WEEKDAY_AND_YEAR"))


def age_title(day: date, today: date) -> str:
    """The heading of a list that goes far back: by day, then by week, then by month."""
    days = (today - day).days
    if days <= 1:
        return day_title(day, today)
    if days < _DAYS_IN_WORDS:
        return _("Earlier this week")
    if timedelta(days=days) < timedelta(days=30):
        return _("This month")
    return capfirst(formats.date_format(day, "MONTH" if day.year == today.year else "MONTH_AND_YEAR"))


def percent(fraction: float, decimals: int = 0) -> str:
    """A fraction as a percentage in the language of the page."""
    return str(formats.get_format("PERCENT")).format(formats.number_format(fraction * 100, decimals))


def grouped(items: Iterable[Item], title: Callable[[Item], str]) -> Iterator[Group[Item]]:
    """Group consecutive items with the same title, keeping their order."""
    for heading, members in groupby(items, title):
        yield Group(heading, tuple(members))
