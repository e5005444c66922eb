"""How far the index is with a member's memory: what waits, what fails, and on demand whether it says the same.

Invariant: comparing reads both sides and changes neither; it names memories by their ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.http import HttpResponse
from django.utils import timezone

from memories.admin.members.page import Looking, MemberPage
from memories.errors import InvalidInput, SearchUnavailable
from memories.models import OutboxEntry
from memories.search import search_plane
from memories.search.checking import CheckReport, IndexProblem, check, settle
from memories.selectors.paging import page_of
from memories.selectors.staff.index_state import lag_of, waiting_of
from memories.types import Kind, Owner

A_PAGE = 50
# Of what differs so much is named; how much it is altogether is counted.
MOST_SHOWN = 50
NO_ANSWER = "The index was not compared: it does not answer now. Nothing was changed; try again when it does."


@dataclass(frozen=True, slots=True)
class Found:
    """One memory in which index and database differ; without an id, the whole part."""

    problem: IndexProblem
    kind: Kind | None
    id: UUID | None
    address: str


def shown(looking: Looking) -> HttpResponse:
    """What waits, and whether the plane is well."""
    return _page(looking)


def compare(looking: Looking) -> HttpResponse:
    """The same, and what a comparison of this member's part with the database found."""
    owner = Owner(looking.principal.tenant_id, looking.principal.user_id)
    started = timezone.now()
    try:
        settle()
    except SearchUnavailable:
        return _page(looking, refusal=NO_ANSWER, status=503)
    report = check(owner)
    if any(each.problem is IndexProblem.UNREADABLE for each in report.differences):
        return _page(looking, refusal=NO_ANSWER, status=503)
    return _page(looking, report=report, took_ms=(timezone.now() - started).total_seconds() * 1000)


def _page(
    looking: Looking, *, report: CheckReport | None = None, took_ms: float = 0.0, refusal: str = "", status: int = 200
) -> HttpResponse:
    waiting = waiting_of(looking.principal)
    try:
        page = page_of(waiting, limit=A_PAGE, cursor=looking.request.GET.get("cursor", ""))
    except InvalidInput as refused:
        refusal, status = str(refused).capitalize(), 400
        page = page_of(waiting, limit=A_PAGE)
    return looking.render(
        "admin/memories/member/index.html",
        title="Index",
        status=status,
        refusal=refusal,
        lag=lag_of(waiting),
        entries=[(entry, _address(looking, entry)) for entry in page.rows],
        next_cursor=page.next_cursor,
        health=search_plane().health(),
        report=report,
        found=_found(looking, report) if report else (),
        took_ms=took_ms,
        checked_at=timezone.now(),
    )


def _address(looking: Looking, entry: OutboxEntry) -> str:
    """The page of its memory; what was removed has none."""
    return looking.url("record", entry.memory_id) if entry.operation != "delete" else ""


def _found(looking: Looking, report: CheckReport) -> list[Found]:
    return [
        Found(
            each.problem,
            each.kind,
            each.id,
            looking.url("record", each.id) if each.id and each.problem is not IndexProblem.NOT_IN_DATABASE else "",
        )
        for each in report.differences[:MOST_SHOWN]
    ]


PAGES = (
    MemberPage("index", "index/", shown, tab="Index", reads="index"),
    MemberPage("index_check", "index/check/", compare, reads="index check", methods=("POST",)),
)
