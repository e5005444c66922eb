"""The palette's search: conversations, facts and pages by the words of `?q=`, as HTML."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from memories.chat.presenting import address, member_page, searched_words
from memories.presenting.lines import SECTIONS
from memories.presenting.memory import MemoryView
from memories.selectors.member_lists import searched
from memories.selectors.memories import list_memories
from memories.selectors.sessions import search_sessions
from memories.types import Kind
from tenants.principal import Principal

# Results of one kind.
MOST = 6


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A result: the text, the URL and the glyph."""

    text: str
    url: str
    icon: str


@member_page()
def show(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The results by kind; without words, the latest conversations and all pages."""
    query = searched_words(request)
    sessions = [
        FoundPage(str(each), reverse("chat:session", args=[each.pk]), "episodic")
        for each in search_sessions(principal, query)[:MOST]
    ]
    kinds = (Kind.SEMANTIC, Kind.PROCEDURAL) if query else ()
    memories = [
        FoundPage(MemoryView(row).addressed, address(kind, row.pk), kind.value)
        for kind in kinds
        for row in list_memories(principal, kind, query=" ".join(searched(query)))[:MOST]
    ]
    wanted = query.casefold()
    pages = [each for each in _pages() if wanted in each.text.casefold()]
    groups = ((_("Conversations"), sessions), (_("What I remember"), memories), (_("Pages"), pages))
    return render(request, "chat/_found.html", {"groups": [group for group in groups if group[1]], "query": query})


def _pages() -> list[FoundPage]:
    """The member's pages."""
    return [
        FoundPage(_("New chat"), reverse("chat:new"), "plus"),
        FoundPage(_("All conversations"), reverse("chat:conversations"), "episodic"),
        *(
            FoundPage(str(section.title), reverse("remember:list", kwargs={"kind": kind}), kind.value)
            for kind, section in SECTIONS.items()
        ),
        FoundPage(_("To settle"), reverse("remember:reviews"), "scales"),
        FoundPage(_("Account"), reverse("account:home"), "info"),
        FoundPage(_("Connect an agent"), reverse("connect:home"), "plus"),
    ]
