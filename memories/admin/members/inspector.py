"""The inspector: what is remembered of a member, side by side, kept up to date while one looks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpResponse

from memories.admin.members import live
from memories.admin.members.narrowing import Asked, read
from memories.admin.members.page import Looking, MemberPage
from memories.admin.members.rows import Row, rows_of
from memories.errors import InvalidInput
from memories.selectors.erasure import is_erased
from memories.selectors.paging import Page, page_of
from memories.selectors.staff.inspecting import Show, Whose, counts_by_status, inspected, member_state
from memories.types import CURRENT, Kind, Status
from tenants.principal import ADMINISTERS

PAGE_SIZE = 20
_TITLES = {
    Kind.EPISODIC: ("What happened", "event", "Events"),
    Kind.SEMANTIC: ("What is true", "fact", "Facts"),
    Kind.PROCEDURAL: ("What works", "how-to", "How-tos"),
    Kind.CATALOG: ("Shared catalog", "entry", "Entries"),
}
_WILL_APPEAR = {
    Kind.EPISODIC: "What this member says to the agent appears here, word for word, as it is said.",
    Kind.SEMANTIC: "Facts appear here when something lasting is learned from what was said, or written down by hand.",
    Kind.PROCEDURAL: "How-tos appear here when a task taught the agent what works, with how often it did.",
    Kind.CATALOG: "Articles and product data that everybody here can read appear here once they are imported.",
}
_ERASED = "Nothing appears here any more: this member was erased."
_CANNOT = {
    (Kind.EPISODIC, "key"): "Events have no key.",
    (Kind.EPISODIC, "category"): "Events have no category.",
    (Kind.EPISODIC, "whose"): "Events are shared with nobody.",
    (Kind.PROCEDURAL, "key"): "How-tos have no key.",
    (Kind.CATALOG, "key"): "The catalog has no keys.",
    (Kind.CATALOG, "category"): "The catalog has no categories.",
    (Kind.CATALOG, "session_id"): "Nothing in the catalog comes from a conversation.",
    (Kind.CATALOG, "whose"): "The catalog belongs to no task.",
}
_STATES = {
    Show.EVERYTHING: "Everything",
    Show.BELIEVED: "Believed",
    Show.STALE: "Not confirmed for long",
    Show.SUPERSEDED: "Replaced",
    Show.EVICTED: "Evicted",
    Show.FLAGGED: "Flagged",
}
_WHOSE = {
    Whose.OWN: "Own",
    Whose.TASK: "In a task",
    Whose.TENANT: "Shared here",
    Whose.GLOBAL: "Shared with all",
}


@dataclass(frozen=True, slots=True)
class Facet:
    """A filter as a link; `count` is none where counting would take long."""

    words: str
    url: str
    chosen: bool
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """One kind. `found` says how much of `total` is in the list; `older` and `newest` are other pages of it."""

    kind: Kind
    title: str
    noun: str
    name: str
    rows: tuple[Row, ...]
    found: str
    total: int
    older: str
    newest: str
    empty: str


def inspect(looking: Looking) -> HttpResponse:
    """The page."""
    asked = read(looking.request.GET)
    return live.shown(looking, "admin/memories/member/inspector.html", _page(asked), title="Memory")


def refresh(looking: Looking) -> HttpResponse:
    """What of it is live."""
    return live.refreshed(looking, "admin/memories/member/_inspector.html", _page(read(looking.request.GET)))


def _page(asked: Asked) -> Any:
    def part(looking: Looking) -> dict[str, Any]:
        counts = counts_by_status(looking.principal)
        problems = list(asked.problems)
        columns = _columns(looking, asked, counts, problems)
        if not looking.membership.is_active and is_erased(looking.membership.pk):
            columns = [each if each.kind is Kind.CATALOG else replace(each, empty=_ERASED) for each in columns]
        return {
            "asked": asked,
            "problems": problems,
            "columns": columns,
            "states": _states(asked, counts),
            "whose": [
                Facet(words, asked.address(whose=each), asked.by.whose is each) for each, words in _WHOSE.items()
            ],
            "state": member_state(looking.principal),
            "key_url": looking.url("search_key") if looking.may(ADMINISTERS) else "",
            "live_url": looking.url("change_live"),
            "pulse_url": looking.url("pulse_live"),
        }

    return part


def _columns(looking: Looking, asked: Asked, counts: dict[Kind, Counter[Status]], problems: list[str]) -> list[Column]:
    """All of them; what their rows name is looked up for all at once."""
    pages = {kind: _rows(looking, asked, kind, problems) for kind in Kind}
    rows = rows_of(looking, [row for page, _ in pages.values() for row in page.rows])
    return [
        _column(asked, kind, page, cursor, tuple(row for row in rows if row.kind is kind), counts[kind].total())
        for kind, (page, cursor) in pages.items()
    ]


def _column(asked: Asked, kind: Kind, page: Page[Any], cursor: str, rows: tuple[Row, ...], total: int) -> Column:
    title, noun, name = _TITLES[kind]
    return Column(
        kind=kind,
        title=title,
        noun=noun,
        name=name,
        rows=rows,
        found=_found(len(rows), page, cursor, narrow=asked.narrow),
        total=total,
        older=asked.page(kind, page.next_cursor) if page.next_cursor else "",
        newest=asked.page(kind, "") if cursor else "",
        empty=_empty(asked, kind, total),
    )


def _rows(looking: Looking, asked: Asked, kind: Kind, problems: list[str]) -> tuple[Page[Any], str]:
    """A page of a column, and the cursor that it begins after; the first one for a cursor that is none."""
    rows, cursor = inspected(looking.principal, kind, asked.by), asked.cursors[kind]
    try:
        return page_of(rows, limit=PAGE_SIZE, cursor=cursor), cursor
    except InvalidInput:
        problems.append("The address names a page that there is not; this is the first one.")
        return page_of(rows, limit=PAGE_SIZE), ""


def _found(shown: int, page: Page[Any], cursor: str, *, narrow: bool) -> str:
    """How many fit the filters, as far as that is known without counting them: empty where nothing is filtered."""
    if not narrow:
        return ""
    return f"{shown}" if not page.next_cursor and not cursor else f"{shown}+"


def _empty(asked: Asked, kind: Kind, total: int) -> str:
    beyond = asked.by.out_of_reach_of(kind)
    if beyond:
        return " ".join(_CANNOT[kind, name] for name in beyond)
    return "Nothing here fits the filters." if asked.narrow and total else _WILL_APPEAR[kind]


def _states(asked: Asked, counts: dict[Kind, Counter[Status]]) -> list[Facet]:
    """The member's own memory by state; what is flagged is not counted, for that takes reading all of it."""
    every: Counter[Status] = sum((counts[kind] for kind in Kind if kind is not Kind.CATALOG), Counter())
    count: dict[Show, int | None] = {
        Show.EVERYTHING: every.total(),
        Show.BELIEVED: sum(every[status] for status in CURRENT),
        Show.STALE: every[Status.STALE],
        Show.SUPERSEDED: every[Status.SUPERSEDED],
        Show.EVICTED: every[Status.EVICTED],
        Show.FLAGGED: None,
    }
    return [
        Facet(words, asked.address(show=each), asked.by.show is each, count[each]) for each, words in _STATES.items()
    ]


PAGES = (
    MemberPage("change", "change/", inspect, tab="Memory", reads="inspector"),
    MemberPage("change_live", "change/live/", refresh, reads="inspector", live=True),
)
