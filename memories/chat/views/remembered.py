"""The lists of facts, how-tos, events and shared entries, their download, and the choice of theme."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from memories.chat.forgetting import ForgetCard, forget_card
from memories.chat.frame import THEME_COOKIE, THEMES
from memories.chat.presenting import cards_of, member_page, searched_words, tabs_of
from memories.chat.undo_offer import taken_offer
from memories.chat.views.reviews import first_contradiction
from memories.errors import NotFound
from memories.importing.records import record_line
from memories.presenting.lines import SECTIONS, Group, category_title, day_title, grouped
from memories.presenting.memory import SOURCES, MemoryView
from memories.selectors.member_lists import (
    SHOWN_OF,
    SORTINGS_OF,
    Facets,
    ListChoice,
    Shown,
    Sorting,
    facets_of,
    searched,
)
from memories.selectors.member_lists import listed as listed_rows
from memories.selectors.memories import Memory
from memories.selectors.sessions import search_sessions, with_found_words
from memories.services.erasure.proposals import find_proposal
from memories.services.portability.memories_export import export_memories
from memories.types import Kind, Source
from memoryhub.redirects import next_address
from tenants.principal import Principal

PAGE_SIZE = 50
# Results of one kind on the page that searches all kinds.
FOUND_OF_A_KIND = 5

_SHOWN: Mapping[Shown, Promise] = {
    Shown.CURRENT: gettext_lazy("Current"),
    Shown.STALE: gettext_lazy("Not confirmed lately"),
    Shown.UNUSED: gettext_lazy("Never used"),
    Shown.SENSITIVE: gettext_lazy("Sensitive"),
    Shown.REPLACED: gettext_lazy("Replaced or outdated"),
    Shown.EVERYTHING: gettext_lazy("With questions and greetings"),
}
_SORTINGS: Mapping[Sorting, Promise] = {
    Sorting.NEWEST: gettext_lazy("Newest first"),
    Sorting.OLDEST: gettext_lazy("Oldest first"),
    Sorting.CHANGED: gettext_lazy("Last changed first"),
    Sorting.USED: gettext_lazy("Most used first"),
}
_FIRST_SORTING: Mapping[Kind, Promise] = {
    Kind.SEMANTIC: gettext_lazy("By category"),
    Kind.PROCEDURAL: gettext_lazy("By title"),
    Kind.EPISODIC: gettext_lazy("Newest first"),
}


@dataclass(frozen=True, slots=True)
class ListSelect:
    """A choice above a list: its parameter, label, the chosen value, and the values with their words."""

    name: str
    label: str
    chosen: str
    options: list[tuple[str, str]]


@member_page()
def home(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The list of facts; with `?q=`, what memories of every kind and conversations match, the first of each."""
    query = searched_words(request)
    if not query:
        return redirect("remember:list", kind=Kind.SEMANTIC)
    words, choice, tabs = searched(query), ListChoice(query=query), tabs_of(principal, query)
    found = [
        (section, count, cards_of(principal, list(listed_rows(principal, section.kind, choice)[:FOUND_OF_A_KIND])))
        for section, count in tabs["kinds"]
        if count
    ]
    sessions = with_found_words(principal, search_sessions(principal, query), words)[:FOUND_OF_A_KIND]
    context = {"tabs": tabs, "query": query, "words": words, "found": found, "sessions": sessions}
    return render(request, "remember/found.html", context)


@member_page()
def listed(request: HttpRequest, principal: Principal, kind: Kind) -> HttpResponse:
    """One section; `?q=` searches it, `?page=` selects a page, and the selects above the list narrow and sort it.

    `?forget=` asks whether to delete what a proposal lists.
    """
    return list_page(request, principal, kind)


def list_page(
    request: HttpRequest, principal: Principal, kind: Kind, *, refused: Mapping[str, Any] | None = None
) -> HttpResponse:
    """Render the list. `refused` holds a memory that could not be added, with the reason `why`."""
    choice = _choice(request)
    page: Page[Memory] = Paginator(listed_rows(principal, kind, choice), PAGE_SIZE).get_page(request.GET.get("page"))
    cards = cards_of(principal, list(page.object_list))
    address = reverse("remember:list", kwargs={"kind": kind})
    kept = urlencode({name: value for name, value in request.GET.items() if value and name in _PARAMETERS})
    tabs = tabs_of(principal, choice.query)
    asks = kind is Kind.SEMANTIC and page.number == 1 and tabs.get("to_settle") and not choice.narrows
    contradiction = first_contradiction(principal) if asks else None
    context: dict[str, Any] = {
        "kind": kind,
        "section": SECTIONS[kind],
        "tabs": tabs,
        "contradiction": contradiction,
        "others_to_settle": tabs.get("to_settle", 0) - (contradiction is not None),
        "query": choice.query,
        "words": searched(choice.query),
        "choice": choice,
        "selects": _selects(kind, choice, facets_of(principal, kind, choice)),
        "page": page,
        "base": f"?{kept}&" if kept else "?",
        "cards": cards,
        "groups": _groups(kind, cards, choice.sorting),
        "here": f"{address}?{kept}" if kept else address,
        "forget": _asked(request, principal),
        "undo_offer": taken_offer(request),
        "refused": refused,
        "is_first": kind is Kind.SEMANTIC and not (page.paginator.count or choice.query or choice.narrows),
    }
    return render(request, f"remember/{kind.value}.html", context, status=400 if refused else 200)


def _asked(request: HttpRequest, principal: Principal) -> ForgetCard | None:
    """The card of the open proposal that `?forget=` names, if it is the reader's."""
    try:
        card = forget_card(principal, find_proposal(principal, UUID(request.GET.get("forget", ""))))
    except (ValueError, NotFound):
        return None
    return card if card.can_decide else None


_PARAMETERS = ("q", "show", "category", "source", "app", "sort")


def _choice(request: HttpRequest) -> ListChoice:
    """What the address chooses; a value that does not exist chooses nothing."""
    given = {name: request.GET.get(name, "").replace("\x00", "") for name in _PARAMETERS}
    return ListChoice(
        searched_words(request),
        Shown(given["show"]) if given["show"] in list(Shown) else Shown.CURRENT,
        given["category"],
        given["source"] if given["source"] in Source.values else "",
        given["app"],
        Sorting(given["sort"]) if given["sort"] in list(Sorting) else Sorting.GROUPED,
    )


def _selects(kind: Kind, choice: ListChoice, facets: Facets) -> tuple[ListSelect, ...]:
    """The selects of a list that have something to choose."""
    shown = [(each.value, str(_SHOWN[each])) for each in SHOWN_OF[kind]]
    sortings = [(each.value, str(_SORTINGS.get(each) or _FIRST_SORTING[kind])) for each in SORTINGS_OF[kind]]
    categories = [(each, category_title(each)) for each in facets.categories]
    sources = [(each.value, capfirst(str(SOURCES[each][0]))) for each in facets.sources]
    apps = [(each, each) for each in facets.apps]
    selects = (
        ListSelect("show", _("Show"), choice.shown, shown),
        ListSelect("category", _("Category"), choice.category, _or_all(_("All categories"), categories)),
        ListSelect("source", _("Source"), choice.source, _or_all(_("All sources"), sources)),
        ListSelect("app", _("App"), choice.app, _or_all(_("All apps"), apps)),
        ListSelect("sort", _("Sort"), choice.sorting, sortings),
    )
    return tuple(each for each in selects if each.options)


def _or_all(words: str, options: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [("", words), *options] if options else []


def _groups(kind: Kind, cards: Iterable[MemoryView], sorting: Sorting) -> tuple[Group[MemoryView], ...]:
    """Facts by category, with pinned ones under their own heading, unless sorted otherwise; other kinds by day."""
    if kind is Kind.SEMANTIC:
        return tuple(grouped(cards, _heading if sorting is Sorting.GROUPED else lambda _: ""))
    today = timezone.localdate()
    return tuple(grouped(cards, lambda card: day_title(timezone.localdate(card.since), today)))


def _heading(card: MemoryView) -> str:
    if card.pinned:
        return _("Pinned")
    return category_title(card.category) or _("Other")


@member_page("POST")
def export(_request: HttpRequest, principal: Principal) -> StreamingHttpResponse:
    """Download the member's events, facts, how-tos and items as JSON lines; writes an audit event.

    The download includes superseded memories.
    """
    records = export_memories(principal)

    def lines() -> Iterator[str]:
        with closing(records):
            for record in records:
                yield f"{record_line(record)}\n"

    name = f"memories-{timezone.localdate():%Y-%m-%d}.jsonl"
    return StreamingHttpResponse(
        lines(),
        content_type="application/jsonl; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


_REMEMBERED_FOR = timedelta(days=365)


@login_not_required
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Store the chosen theme in a cookie; any other value deletes the cookie, which restores the system's theme."""
    response = redirect(next_address(request, "/"))
    chosen = request.POST.get("theme", "")
    if chosen in THEMES:
        response.set_cookie(
            THEME_COOKIE, chosen, max_age=_REMEMBERED_FOR, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE
        )
    else:
        response.delete_cookie(THEME_COOKIE, samesite="Lax")
    return response
