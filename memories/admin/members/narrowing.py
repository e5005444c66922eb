"""What the address of the inspector asks for, and addresses that ask for something else: each view can be shared.

Invariant: what an address asks for and cannot be asked is named and left out; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from typing import TypeVar
from urllib.parse import urlencode
from uuid import UUID

from django.http import QueryDict
from django.utils import timezone
from django.utils.dateparse import parse_date

from memories.constants import FIRST_YEAR, LAST_YEAR
from memories.selectors.staff.inspecting import Narrowing, Show, Whose
from memories.types import Kind
from tenants.errors import is_storable

LONGEST = 200
_FIELDS = ("q", "show", "whose", "category", "key", "session", "from", "to")
_WORDS = {
    "q": "Words",
    "show": "State",
    "whose": "Whose",
    "category": "Category",
    "key": "About",
    "session": "Conversation",
    "from": "From",
    "to": "To",
}
Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that is on, and the address without it."""

    name: str
    value: str
    without: str


@dataclass(frozen=True, slots=True)
class Asked:
    """An address of the inspector. `given` are its filters as written, `cursors` the page of each column."""

    by: Narrowing
    given: Mapping[str, str]
    cursors: Mapping[Kind, str]
    problems: tuple[str, ...] = ()

    @property
    def narrow(self) -> bool:
        """Whether any filter is on."""
        return bool(self.given)

    @property
    def chips(self) -> tuple[Chip, ...]:
        """The filters that are on, but for those that have a row of links of their own."""
        shown = [name for name in self.given if name not in ("show", "whose")]
        return tuple(Chip(_WORDS[name], self.given[name], self.address(**{name: ""})) for name in shown)

    def address(self, **changes: str) -> str:
        """The query with these filters changed, an empty one left out; lists begin anew. Ends so that one more fits."""
        kept = {name: value for name, value in {**self.given, **changes}.items() if value}
        return f"?{urlencode(kept)}"

    def page(self, kind: Kind, cursor: str) -> str:
        """The same view with this column elsewhere; the other columns stay where they are."""
        cursors = {**self.cursors, kind: cursor}
        turned = {each.value: place for each, place in cursors.items() if place}
        return f"?{urlencode({**self.given, **turned})}"


@dataclass(slots=True)
class _Reading:
    """An address while it is read."""

    query: QueryDict
    given: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def text(self, name: str) -> str:
        value = self.query.get(name, "").strip()
        if len(value) > LONGEST or not is_storable(value):
            self.refuse(name, f"has to be a text of at most {LONGEST} characters")
            return ""
        if value:
            self.given[name] = value
        return value

    def choice(self, name: str, among: type[Choice]) -> Choice:
        value = self.text(name)
        if value not in [each.value for each in among]:
            self.refuse(name, f"is one of {', '.join(each.value for each in among if each.value)}")
            value = ""
        return among(value)

    def uuid(self, name: str) -> UUID | None:
        value = self.text(name)
        try:
            return UUID(value) if value else None
        except ValueError:
            self.refuse(name, "is named by an id")
            return None

    def day(self, name: str) -> date | None:
        value = self.text(name)
        try:
            day = parse_date(value) if value else None
        except ValueError:
            day = None
        if value and (day is None or not FIRST_YEAR <= day.year <= LAST_YEAR):
            self.refuse(name, "is a day such as 2026-03-05")
            return None
        return day

    def refuse(self, name: str, reason: str) -> None:
        self.given.pop(name, None)
        self.problems.append(f"{_WORDS[name]} {reason}; it was left out.")


def read(query: QueryDict) -> Asked:
    """What this query asks for. Never raises: see `Asked.problems`."""
    reading = _Reading(query)
    by = Narrowing(
        query=reading.text("q"),
        show=reading.choice("show", Show),
        whose=reading.choice("whose", Whose),
        category=reading.text("category"),
        key=reading.text("key"),
        session_id=reading.uuid("session"),
        since=_begin(reading.day("from")),
        until=_begin(reading.day("to"), later=1),
    )
    ordered = {name: reading.given[name] for name in _FIELDS if name in reading.given}
    cursors = {kind: query.get(kind.value, "") for kind in Kind}
    return Asked(by, ordered, cursors, tuple(reading.problems))


def _begin(day: date | None, *, later: int = 0) -> datetime | None:
    """When a day, or the one `later`, begins where the reader is."""
    if day is None:
        return None
    return timezone.make_aware(datetime.combine(day + timedelta(days=later), time.min))
