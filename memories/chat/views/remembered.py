"""The lists of facts, how-tos, events and shared entries, their download, looks by staff, and the choice of theme."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from memories.chat.frame import THEME_COOKIE, THEMES
from memories.chat.presenting import cards_of, member_page, next_address, searched_words, tabs_of
from memories.errors import InvalidInput
from memories.importing.records import record_line
from memories.presenting.lines import SECTIONS, Group, day_title, grouped
from memories.presenting.memory import MemoryView
from memories.selectors.history.stories import facts_by_category
from memories.selectors.looks import looks_at
from memories.selectors.memories import Memory, list_memories
from memories.services.portability.memories_export import export_memories
from memories.types import Kind, Status
from tenants.principal import Principal

PAGE_SIZE = 50


@member_page()
def home(_request: HttpRequest, _principal: Principal) -> HttpResponse:
    """Redirect to the list of facts."""
    return redirect("remember:list", kind=Kind.SEMANTIC)


@member_page()
def listed(request: HttpRequest, principal: Principal, kind: Kind) -> HttpResponse:
    """One section; `?q=` searches it, `?show=replaced` shows superseded memories, `?page=` selects a page."""
    query = searched_words(request)
    replaced = request.GET.get("show") == "replaced" and kind in (Kind.SEMANTIC, Kind.PROCEDURAL)
    rows = _rows(principal, kind, query, [Status.SUPERSEDED] if replaced else None)
    page: Page[Memory] = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    cards = cards_of(principal, list(page.object_list))
    show = "replaced" if replaced else ""
    kept = urlencode({name: value for name, value in (("q", query), ("show", show)) if value})
    context: dict[str, Any] = {
        "kind": kind,
        "section": SECTIONS[kind],
        "tabs": tabs_of(principal),
        "query": query,
        "show": show,
        "page": page,
        "base": f"?{kept}&" if kept else "?",
        "cards": cards,
        "groups": _groups(kind, cards),
    }
    return render(request, f"remember/{kind.value}.html", context)


def _rows(principal: Principal, kind: Kind, query: str, status: list[Status] | None) -> QuerySet[Any]:
    if kind is Kind.SEMANTIC:
        return facts_by_category(principal, query=query, status=status)
    return list_memories(principal, kind, query=query, status=status)


def _groups(kind: Kind, cards: Iterable[MemoryView]) -> tuple[Group[MemoryView], ...]:
    """Facts by category, with pinned ones under their own heading; other kinds by day."""
    if kind is Kind.SEMANTIC:
        return tuple(grouped(cards, _category_title))
    today = timezone.localdate()
    return tuple(grouped(cards, lambda card: day_title(timezone.localdate(card.since), today)))


def _category_title(card: MemoryView) -> str:
    if card.pinned:
        return "Pinned"
    return card.category.replace("_", " ").capitalize() or "Other"


@member_page()
def looks(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Who looked at the member's memory, when and why; `?cursor=` selects a page."""
    cursor = request.GET.get("cursor", "")
    try:
        found, following = looks_at(principal, limit=PAGE_SIZE, cursor=cursor)
    except InvalidInput:
        return redirect("remember:looks")
    today = timezone.localdate()
    context = {
        "groups": tuple(grouped(found, lambda each: day_title(timezone.localdate(each.at), today))),
        "cursor": cursor,
        "following": following,
        "tabs": tabs_of(principal),
    }
    return render(request, "remember/looks.html", context)


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
