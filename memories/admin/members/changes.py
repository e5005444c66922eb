"""What changed in a member's memory between two times, old and new side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.http import HttpResponse
from django.utils import timezone

from memories.admin.members.as_of import record_address
from memories.admin.members.page import Looking, MemberPage
from memories.admin.members.times import moment_in, said, written
from memories.errors import InvalidInput
from memories.hygiene.differences import Piece, differences
from memories.models import Fact
from memories.presenting.lines import SECTIONS, Section
from memories.selectors.history.changes import (
    Change,
    Differences,
    Statement,
    Step,
    differences_between,
    steps_between,
)
from memories.types import Kind

A_FEW, A_PAGE = 8, 30
# Without a time to compare with.
_USUAL = timedelta(days=7)
# What the page calls each field.
_LABELS = {"since": "From", "at": "To"}
TITLES = {
    Change.REPLACED: ("Replaced", "Something else is believed in its place."),
    Change.LEARNED: ("Learned", "Believed from then on, in the place of nothing."),
    Change.RETIRED: ("Ended", "Not believed any more, with nothing in its place."),
    Change.RESTORED: ("Brought back", "Believed again, by an undo."),
    Change.EVICTED: ("Evicted", "Hidden by the collection, for its time was over."),
}


# Of these only one side is anything.
_ONE_SIDED = (Change.LEARNED, Change.RETIRED, Change.EVICTED)


@dataclass(frozen=True, slots=True)
class Line:
    """One change, with both wordings in pieces and their pages."""

    step: Step
    before: tuple[Piece, ...]
    after: tuple[Piece, ...]
    before_address: str
    after_address: str


@dataclass(frozen=True, slots=True)
class Part:
    """The changes of one sort and kind: how many, some of them, and the address of the others."""

    change: Change
    title: str
    hint: str
    section: Section
    count: int
    lines: tuple[Line, ...]
    more: str
    cursor: str

    @property
    def has_before(self) -> bool:
        """Whether anything was believed before these changes."""
        return self.change is not Change.LEARNED

    @property
    def has_after(self) -> bool:
        """Whether anything was believed after them."""
        return self.change not in (Change.RETIRED, Change.EVICTED)


def changes(looking: Looking) -> HttpResponse:
    """All sorts of changes with a few of each, or with `change` and `kind` page by page those of one sort."""
    now, given = timezone.now(), looking.request.GET
    error, status = "", 200
    try:
        first, second = _times(given, now)
        found = differences_between(looking.principal, first, second)
        parts = _parts(looking, found, given)
    except InvalidInput as refused:
        error, status = said(refused, _LABELS), 400
        first, second = now - _USUAL, now
        found = differences_between(looking.principal, first, second)
        parts = _parts(looking, found, {})
    return looking.render(
        "admin/memories/member/changes.html",
        title="What changed",
        status=status,
        error=error,
        found=found,
        parts=parts,
        one=bool(given.get("change")) and not error,
        gone=[(SECTIONS[kind], count) for kind, count in found.forgotten.items()],
        since=written(first),
        until=written(second),
        between=urlencode({"since": written(first), "at": written(second)}),
        latest=written(now),
    )


def _times(given: Mapping[str, str], now: datetime) -> tuple[datetime, datetime]:
    """The two times, a week up to now unless said. Raises InvalidInput."""
    at, begin = given.get("at", "").strip(), given.get("since", "").strip()
    second = moment_in(at, "at", now=now) if at else now
    return (moment_in(begin, "since", now=now) if begin else second - _USUAL), second


def _parts(looking: Looking, found: Differences, given: Mapping[str, str]) -> list[Part]:
    wanted = _wanted(given)
    return [
        _part(looking, found, change, kind, count, given.get("cursor", "") if wanted else "", alone=wanted is not None)
        for change in TITLES
        for kind in (Kind.SEMANTIC, Kind.PROCEDURAL)
        if (count := found.counts.get((change, kind), 0)) and wanted in (None, (change, kind))
    ]


def _wanted(given: Mapping[str, str]) -> tuple[Change, Kind] | None:
    if not given.get("change"):
        return None
    try:
        return Change(given["change"]), Kind(given.get("kind", ""))
    except ValueError as error:
        raise InvalidInput("change", "is no change of facts or how-tos; follow a link of this page.") from error


def _part(
    looking: Looking, found: Differences, change: Change, kind: Kind, count: int, cursor: str, *, alone: bool
) -> Part:
    some = steps_between(
        looking.principal,
        found.first,
        found.second,
        change=change,
        kind=kind,
        limit=A_PAGE if alone else A_FEW,
        cursor=cursor,
    )
    address = {"since": written(found.first), "at": written(found.second), "change": change.value, "kind": kind.value}
    title, hint = TITLES[change]
    return Part(
        change,
        title,
        hint,
        SECTIONS[kind],
        count,
        tuple(_line(looking, step) for step in some.steps),
        more=urlencode(address) if some.next_cursor and not alone else "",
        cursor=urlencode({**address, "cursor": some.next_cursor}) if some.next_cursor and alone else "",
    )


def _line(looking: Looking, step: Step) -> Line:
    told = headline if step.change in _ONE_SIDED else wording
    before, after = (told(row) if row else "" for row in (step.before, step.after))
    left: tuple[Piece, ...] = (Piece(before, differs=False),)
    right: tuple[Piece, ...] = (Piece(after, differs=False),)
    if before and after and step.change is not Change.RESTORED:
        left, right = differences(before, after)
    addresses = [record_address(looking, row.pk) if row else "" for row in (step.before, step.after)]
    return Line(step, left, right, *addresses)


def headline(row: Statement) -> str:
    """A fact, or what a how-to is called."""
    return row.text if isinstance(row, Fact) else row.title


def wording(row: Statement) -> str:
    """All words of a memory, each step of a how-to in a line of its own."""
    if isinstance(row, Fact):
        return row.text
    steps = [f"{place}. {step}" for place, step in enumerate(row.steps, 1)]
    return "\n".join(part for part in (row.title, row.trigger, row.text, *steps) if part)


PAGES = (MemberPage("changes", "changes/", changes, reads="what changed", under="as_of"),)
