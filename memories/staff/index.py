"""How far the index is with a member's memory: what waits, what fails, and on demand a comparison with the database.

A comparison reads both sides and changes neither; it names memories by their ids.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from memories.errors import SearchUnavailable
from memories.search import search_plane
from memories.search.checking import IndexProblem, check
from memories.selectors.staff.index_state import lag_of, waiting_of
from memories.staff.base import MemberView, first_page_of
from memories.types import Owner

PAGE_SIZE = 50
# Differences that are named; all of them are counted.
MOST_SHOWN = 50
NO_ANSWER = "The index was not compared: it does not answer now. Nothing was changed; try again when it does."


class Index(MemberView):
    """What waits, and whether the search plane answers."""

    reads = "index"
    tab = "index"
    title = "Index"
    template_name = "admin/memories/member/index.html"

    def get(self, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        return self.show()

    def show(self, *, status: int = 200, refusal: str = "", **compared: Any) -> HttpResponse:
        """The page, with what a comparison found."""
        waiting = waiting_of(self.principal)
        page, fault = first_page_of(waiting, self.request.GET.get("cursor", ""), limit=PAGE_SIZE)
        return self.render(
            status=400 if fault else status,
            refusal=fault or refusal,
            lag=lag_of(waiting),
            entries=[
                # What was removed has no page.
                (entry, self.url("record", entry.memory_id) if entry.operation != "delete" else "")
                for entry in page.rows
            ],
            next_cursor=page.next_cursor,
            health=search_plane().health(),
            checked_at=timezone.now(),
            **compared,
        )


class IndexCheck(Index):
    """The same page with a comparison of this member's part of the index with the database."""

    http_method_names = ["post"]
    reads = "index check"

    def post(self, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        started = timezone.now()
        try:
            search_plane().settle()
        except SearchUnavailable:
            return self.show(refusal=NO_ANSWER, status=503)
        report = check(Owner(self.principal.tenant_id, self.principal.user_id))
        if any(each.problem is IndexProblem.UNREADABLE for each in report.differences):
            return self.show(refusal=NO_ANSWER, status=503)
        found = [
            (each, self.url("record", each.id) if each.id and each.problem is not IndexProblem.NOT_IN_DATABASE else "")
            for each in report.differences[:MOST_SHOWN]
        ]
        took_ms = (timezone.now() - started).total_seconds() * 1000
        return self.show(report=report, took_ms=took_ms, found=found)
