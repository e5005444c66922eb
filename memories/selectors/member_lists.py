"""The lists of a member's own pages: which memories they show, in which order, and what they can be narrowed by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet

from memories.consolidation.rules import content_words
from memories.selectors.memories import list_memories
from memories.types import ALL_KINDS, Kind, Source, Status
from tenants.principal import Principal


class Shown(StrEnum):
    """Which memories a list shows; a kind has those of `SHOWN_OF`."""

    CURRENT = ""
    STALE = "stale"
    UNUSED = "unused"
    SENSITIVE = "sensitive"
    REPLACED = "replaced"
    EVERYTHING = "everything"


class Sorting(StrEnum):
    """The order of a list; the first groups facts by category and sorts the other kinds as they are grouped."""

    GROUPED = ""
    NEWEST = "newest"
    OLDEST = "oldest"
    CHANGED = "changed"
    USED = "used"


SHOWN_OF: dict[Kind, tuple[Shown, ...]] = {
    Kind.SEMANTIC: (Shown.CURRENT, Shown.STALE, Shown.UNUSED, Shown.SENSITIVE, Shown.REPLACED),
    Kind.PROCEDURAL: (Shown.CURRENT, Shown.SENSITIVE, Shown.REPLACED),
    Kind.EPISODIC: (Shown.CURRENT, Shown.SENSITIVE, Shown.EVERYTHING),
    Kind.CATALOG: (),
}
_NEWEST, _OLDEST, _CHANGED = Sorting.NEWEST, Sorting.OLDEST, Sorting.CHANGED
SORTINGS_OF: dict[Kind, tuple[Sorting, ...]] = {
    Kind.SEMANTIC: (Sorting.GROUPED, _NEWEST, _OLDEST, _CHANGED, Sorting.USED),
    Kind.PROCEDURAL: (Sorting.GROUPED, _NEWEST, _OLDEST, _CHANGED),
    Kind.EPISODIC: (Sorting.GROUPED, _OLDEST),
    Kind.CATALOG: (),
}
_STATUSES = {Shown.STALE: [Status.STALE], Shown.REPLACED: [Status.SUPERSEDED]}
_AT = {Kind.EPISODIC: "happened_at", Kind.SEMANTIC: "learned_at", Kind.PROCEDURAL: "learned_at"}


@dataclass(frozen=True, slots=True)
class ListChoice:
    """What a reader chose for a list: the words searched, and values to narrow by; empty ones narrow nothing."""

    query: str = ""
    shown: Shown = Shown.CURRENT
    category: str = ""
    source: str = ""
    app: str = ""
    sorting: Sorting = Sorting.GROUPED

    @property
    def narrows(self) -> bool:
        """Whether it leaves out more than words do."""
        return bool(self.shown or self.category or self.source or self.app)


def searched(query: str) -> tuple[str, ...]:
    """The words of a query that memories are searched for, without function words unless it has no others.

    Facts are shown in the second person and stored in the third, so "you" occurs in none of them.
    """
    every = query.split()
    return tuple(word for word in every if content_words(word)) or tuple(every)


def listed(principal: Principal, kind: Kind, choice: ListChoice) -> QuerySet[Any]:
    """The principal's memories of one kind as chosen. What the kind does not have narrows and sorts nothing."""
    shown = choice.shown if choice.shown in SHOWN_OF[kind] else Shown.CURRENT
    rows: QuerySet[Any] = list_memories(
        principal,
        kind,
        query=" ".join(searched(choice.query)),
        status=_STATUSES.get(shown),
        category=choice.category if kind in (Kind.SEMANTIC, Kind.PROCEDURAL) else "",
    )
    if kind is Kind.EPISODIC and shown is not Shown.EVERYTHING:
        rows = rows.filter(recallable=True)
    if shown is Shown.SENSITIVE:
        rows = rows.exclude(sensitivity={})
    elif shown is Shown.UNUSED:
        rows = rows.filter(use_count=0)
    if choice.source and kind is Kind.SEMANTIC:
        rows = rows.filter(source=choice.source)
    if choice.app and kind is not Kind.CATALOG:
        rows = rows.filter(app=choice.app)
    return _sorted(rows, kind, choice.sorting)


def _sorted(rows: QuerySet[Any], kind: Kind, sorting: Sorting) -> QuerySet[Any]:
    """Grouped facts: pinned ones first, then by category, newest first in each; those without a category last."""
    if sorting not in SORTINGS_OF[kind]:
        return rows
    if sorting is Sorting.GROUPED and kind is Kind.SEMANTIC:
        last = ExpressionWrapper(Q(category=""), output_field=BooleanField())
        rows = rows.annotate(uncategorised=last)
        return rows.order_by("-pinned", "uncategorised", "category", "-learned_at", "id")
    at = _AT.get(kind, "created_at")
    columns = {
        Sorting.NEWEST: (f"-{at}", "id"),
        Sorting.OLDEST: (at, "id"),
        Sorting.CHANGED: ("-updated_at", "id"),
        Sorting.USED: ("-use_count", f"-{at}", "id"),
    }
    return rows.order_by(*columns[sorting]) if sorting in columns else rows


@dataclass(frozen=True, slots=True)
class Facets:
    """The values by which a member's memories of one kind can be narrowed; one value alone narrows nothing."""

    categories: Sequence[str] = ()
    sources: Sequence[Source] = ()
    apps: Sequence[str] = ()


def facets_of(principal: Principal, kind: Kind, choice: ListChoice) -> Facets:
    """The values that occur in a list before it is narrowed by them; one query."""
    if kind is Kind.CATALOG:
        return Facets()
    columns = {Kind.SEMANTIC: ("category", "source", "app"), Kind.PROCEDURAL: ("category", "app")}.get(kind, ("app",))
    rows = listed(principal, kind, replace(choice, query="", category="", source="", app=""))
    found: dict[str, set[str]] = {column: set() for column in columns}
    for values in rows.order_by().values_list(*columns).distinct():
        for column, value in zip(columns, values, strict=True):
            found[column].add(value)
    return Facets(
        _several(found.get("category", set())),
        tuple(Source(each) for each in _several(found.get("source", set()))),
        _several(found.get("app", set())),
    )


def _several(values: set[str]) -> tuple[str, ...]:
    return tuple(sorted(filter(None, values))) if len(values) > 1 else ()


def counts_of(principal: Principal, query: str = "") -> dict[Kind, int]:
    """How many memories of each kind the lists show for `query`, before they are narrowed."""
    choice = ListChoice(query=query)
    return {kind: listed(principal, kind, choice).count() for kind in ALL_KINDS}
