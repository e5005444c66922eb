"""As of: the memory of a member as it was believed at a time, chosen on a slider or exactly.

Invariant: the address says all that is shown, so it can be shared; a slider leads to the address of its time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from urllib.parse import urlencode
from uuid import UUID

from django.core.cache import cache
from django.http import HttpResponse, HttpResponseRedirect
from django.utils import timezone

from memories.admin.members.histogram import histogram_of
from memories.admin.members.page import Looking, MemberPage
from memories.admin.members.times import moment_in, moment_of, said, written
from memories.errors import InvalidInput
from memories.models import Fact, Playbook
from memories.presenting.lines import SECTIONS, Section
from memories.selectors.history.as_of import (
    Filters,
    Since,
    changes_by_day,
    count_as_of,
    forgotten_since,
    page_as_of,
    since,
)
from memories.selectors.memories import Memory
from memories.types import Kind

A_PAGE = 15
# The steps of the slider over the whole time.
_STEPS = 1000
_LONGEST_SEARCH = 200
# What the page calls each field.
_LABELS = {"at": "Exact time", "q": "Search"}
# Numbers of days, no words; counting them anew takes a tenth of a second with 100,000 memories.
_HISTOGRAM_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Shown:
    """A memory as it was, and what became of it since."""

    row: Memory
    words: str
    at: datetime
    became: Since
    ended_at: datetime | None
    after: str
    after_address: str
    address: str


@dataclass(frozen=True, slots=True)
class Column:
    """Some memories of a kind, and what the address of those before them asks for; empty if there are none."""

    section: Section
    shown: tuple[Shown, ...]
    older: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address asks for."""

    at: datetime
    exact: bool
    filters: Filters
    kind: Kind | None = None
    cursor: str = ""

    def query(self, **more: str) -> str:
        """The same in an address, with more or something else of it."""
        filters = self.filters
        parts = {
            "at": written(self.at) if self.exact else "",
            "q": filters.query,
            "category": filters.category,
            "key": filters.key,
            "session": str(filters.session_id or ""),
            "shared": "1" if filters.shared else "",
            **more,
        }
        return urlencode({name: value for name, value in parts.items() if value})


def as_of(looking: Looking) -> HttpResponse:
    """The memory as it was believed then, in three columns."""
    now, given = timezone.now(), looking.request.GET
    error, status = "", 200
    try:
        if given.get("point"):
            return _at_the_slider(looking, given, now)
        asked = asked_in(given, now)
        columns = _columns(looking, asked, now)
    except InvalidInput as refused:
        asked, error, status = Asked(now, exact=False, filters=Filters()), said(refused, _LABELS), 400
        columns = _columns(looking, asked, now)
    by_day = _changes(looking, now)
    begin = datetime.combine(min(by_day), time.min, tzinfo=UTC) if by_day else now - timedelta(days=1)
    return looking.render(
        "admin/memories/member/as_of.html",
        title="As of",
        status=status,
        error=error,
        asked=asked,
        columns=columns,
        counts=_counts(looking, asked),
        forgotten=sum(forgotten_since(looking.principal, asked.at).values()),
        narrowed=asked.filters != Filters(),
        histogram=histogram_of(by_day, begin=begin, now=now, at=asked.at),
        slider=_slider(begin, now, asked.at),
        written=written(asked.at),
        latest=written(now),
        kept=_kept(asked),
    )


def asked_in(given: Mapping[str, str], now: datetime) -> Asked:
    """What an address asks for. Raises InvalidInput."""
    at = given.get("at", "").strip()
    kind = given.get("kind", "")
    if kind and kind not in set(Kind):
        raise InvalidInput("kind", f"must be one of {', '.join(Kind)}.")
    return Asked(
        at=moment_in(at, "at", now=now) if at else now,
        exact=bool(at),
        filters=_filters(given),
        kind=Kind(kind) if kind else None,
        cursor=given.get("cursor", ""),
    )


def described(row: Memory) -> str:
    """A memory in its words, of a how-to its title."""
    return row.title if isinstance(row, Playbook) else row.text


def _filters(given: Mapping[str, str]) -> Filters:
    words = {name: given.get(name, "").strip() for name in ("q", "category", "key")}
    for name, value in words.items():
        if len(value) > _LONGEST_SEARCH or "\0" in value:
            raise InvalidInput(name, f"may have {_LONGEST_SEARCH} characters at most.")
    session = given.get("session", "")
    try:
        session_id = UUID(session) if session else None
    except ValueError as error:
        raise InvalidInput("session", "is not the id of a session.") from error
    return Filters(words["q"], words["category"], words["key"], session_id, bool(given.get("shared")))


def _at_the_slider(looking: Looking, given: Mapping[str, str], now: datetime) -> HttpResponse:
    """To the address of the time that was chosen."""
    asked = Asked(moment_of(given["point"], "at", now=now), exact=True, filters=_filters(given))
    return HttpResponseRedirect(f"{looking.url('as_of')}?{asked.query()}")


def _columns(looking: Looking, asked: Asked, now: datetime) -> list[Column]:
    wanted = asked.filters.kinds if asked.kind is None else (asked.kind,)
    return [_column(looking, asked, kind, now) for kind in wanted]


def _column(looking: Looking, asked: Asked, kind: Kind, now: datetime) -> Column:
    cursor = asked.cursor if kind is asked.kind else ""
    page = page_as_of(looking.principal, kind, asked.at, asked.filters, limit=A_PAGE, cursor=cursor)
    older = asked.query(kind=kind.value, cursor=page.next_cursor) if page.next_cursor else ""
    return Column(SECTIONS[kind], tuple(_shown(looking, row, now) for row in page.rows), older)


def _shown(looking: Looking, row: Memory, now: datetime) -> Shown:
    became = since(row, now=now)
    after = successor_of(row) if became is Since.REPLACED else None
    return Shown(
        row=row,
        words=described(row),
        at=moment(row),
        became=became,
        ended_at=_ended_at(row, became),
        after=described(after) if after else "",
        after_address=record_address(looking, after.pk) if after else "",
        address=record_address(looking, row.pk),
    )


def successor_of(row: Memory) -> Fact | Playbook | None:
    """What took its place."""
    after: Fact | Playbook | None = row.superseded_by if isinstance(row, Fact | Playbook) else None  # type: ignore[assignment]  # of the same model
    return after


def record_address(looking: Looking, memory_id: object) -> str:
    """The page of one memory of this member."""
    return looking.url("record", memory_id)


def moment(row: Memory) -> datetime:
    """When it was said, learned or shared."""
    if isinstance(row, Fact | Playbook):
        return row.learned_at
    said: datetime = getattr(row, "happened_at", row.created_at)
    return said


def _ended_at(row: Memory, became: Since) -> datetime | None:
    match became:
        case Since.REPLACED | Since.ENDED:
            return getattr(row, "superseded_at", None)
        case Since.EVICTED:
            return getattr(row, "evicted_at", None)
        case Since.EXPIRED:
            return getattr(row, "expires_at", None)
        case Since.STILL:
            return None


def _counts(looking: Looking, asked: Asked) -> list[tuple[Section, int]]:
    return [(SECTIONS[kind], count) for kind, count in count_as_of(looking.principal, asked.at).items()]


def _changes(looking: Looking, now: datetime) -> Mapping[date, int]:
    """How much changed on each day, at most a minute old: whoever moves the slider asks again and again."""
    name = f"memories.changes_by_day:{looking.principal.tenant_id}:{looking.principal.user_id}"
    kept: Mapping[date, int] | None = cache.get(name)
    if kept is None:
        kept = changes_by_day(looking.principal, now=now)
        cache.set(name, kept, _HISTOGRAM_SECONDS)
    return kept


def _slider(begin: datetime, now: datetime, at: datetime) -> dict[str, int]:
    """Its ends and its place, in seconds since 1970."""
    first, last = int(begin.timestamp()), int(now.timestamp())
    step = max(1, (last - first) // _STEPS)
    return {"min": first, "max": max(last, first + 1), "step": step, "value": max(first, int(at.timestamp()))}


def _kept(asked: Asked) -> list[tuple[str, str]]:
    """What the slider keeps of the address besides its time."""
    parts = {
        "q": asked.filters.query,
        "category": asked.filters.category,
        "key": asked.filters.key,
        "session": str(asked.filters.session_id or ""),
        "shared": "1" if asked.filters.shared else "",
    }
    return [(name, value) for name, value in parts.items() if value]


PAGES = (MemberPage("as_of", "as-of/", as_of, tab="As of", reads="as of"),)
