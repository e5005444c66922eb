"""As of: the memory of a member as it was believed at a time, chosen on a slider or exactly.

The address holds everything that the page shows, so it can be shared; the slider redirects to the address of its time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from memories.errors import InvalidInput
from memories.models import Fact, Playbook
from memories.presenting.lines import SECTIONS, headline
from memories.presenting.memory import MemoryLink, MemoryView
from memories.selectors.history.as_of import (
    AsOfFilter,
    Since,
    changes_by_day,
    count_as_of,
    forgotten_since,
    page_as_of,
    since,
)
from memories.selectors.memories import Memory
from memories.staff.base import MemberView
from memories.staff.times import MomentField, SliderField, first_error, histogram_of, written
from memories.types import Kind

PAGE_SIZE = 15
# Steps of the slider over the whole time.
_STEPS = 1000
_LONGEST = 200
# The histogram holds counts alone; with 100,000 memories it takes a tenth of a second.
_HISTOGRAM_SECONDS = 60
_TOO_LONG = dict.fromkeys(("max_length", "null_characters_not_allowed"), f"may have {_LONGEST} characters at most.")


class AsOfForm(forms.Form):
    """What the address asks for. `point` is the slider's."""

    at = MomentField(label="Exact time", required=False)
    point = SliderField(label="Exact time", required=False)
    q = forms.CharField(label="Search", required=False, max_length=_LONGEST, error_messages=_TOO_LONG)
    category = forms.CharField(label="Category", required=False, max_length=_LONGEST, error_messages=_TOO_LONG)
    key = forms.CharField(label="Key", required=False, max_length=_LONGEST, error_messages=_TOO_LONG)
    session = forms.UUIDField(
        label="Session", required=False, error_messages={"invalid": "is not the id of a session."}
    )
    shared = forms.BooleanField(required=False)
    kind = forms.ChoiceField(
        label="Kind",
        required=False,
        choices=[(kind.value, kind.value) for kind in Kind],
        error_messages={"invalid_choice": f"must be one of {', '.join(Kind)}."},
    )
    cursor = forms.CharField(label="Page", required=False)

    @property
    def filter(self) -> AsOfFilter:
        """The filters, for the selector; none for an invalid form."""
        if not self.is_valid():
            return AsOfFilter()
        given = self.cleaned_data
        return AsOfFilter(given["q"], given["category"], given["key"], given["session"], given["shared"])

    @property
    def kept(self) -> dict[str, str]:
        """What an address of another time or page keeps."""
        by = self.filter
        parts = {"q": by.query, "category": by.category, "key": by.key, "session": str(by.session_id or "")}
        return {name: value for name, value in {**parts, "shared": "1" if by.shared else ""}.items() if value}


class AsOf(MemberView):
    """The memory as it was believed then, a column a kind."""

    reads = "as of"
    tab = "as_of"
    title = "As of"
    template_name = "admin/memories/member/as_of.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        self.now = timezone.now()
        form = AsOfForm(request.GET)
        error = "" if form.is_valid() else first_error(form)
        if not error and form.cleaned_data["point"]:
            at = {"at": written(form.cleaned_data["point"])}
            return HttpResponseRedirect(f"{self.url('as_of')}?{urlencode(at | form.kept)}")
        given = {} if error else form.cleaned_data
        kind, cursor = given.get("kind", ""), given.get("cursor", "")
        exact = given.get("at")
        self.at: datetime = exact or self.now
        self.address = ({"at": written(self.at)} if exact else {}) | form.kept
        try:
            columns = list(self._columns(form.filter, kind, cursor))
        except InvalidInput as refused:
            error, kind, cursor = f"Page: {refused.reason}", "", ""
            columns = list(self._columns(form.filter, kind, cursor))
        by_day = self._changes()
        begin = datetime.combine(min(by_day), time.min, tzinfo=UTC) if by_day else self.now - timedelta(days=1)
        return self.render(
            status=400 if error else 200,
            error=error,
            at=self.at,
            exact=bool(exact),
            filter=form.filter,
            one_kind=bool(kind),
            cursor=cursor,
            all_kinds=urlencode(self.address),
            columns=columns,
            counts=[(SECTIONS[each], count) for each, count in count_as_of(self.principal, self.at).items()],
            forgotten=sum(forgotten_since(self.principal, self.at).values()),
            narrowed=bool(form.kept),
            histogram=histogram_of(by_day, begin=begin, now=self.now, at=self.at),
            slider=_slider(begin, self.now, self.at),
            written=written(self.at),
            latest=written(self.now),
            kept=form.kept.items(),
        )

    def _columns(self, by: AsOfFilter, kind: str, cursor: str) -> Iterator[dict[str, Any]]:
        """The section of each kind, its rows, and what the address of older ones asks for."""
        for each in (Kind(kind),) if kind else by.kinds:
            page = page_as_of(self.principal, each, self.at, by, limit=PAGE_SIZE, cursor=cursor if kind else "")
            older = {**self.address, "kind": each.value, "cursor": page.next_cursor} if page.next_cursor else {}
            yield {
                "section": SECTIONS[each],
                "rows": [(self._view(row), *_became(row, self.now)) for row in page.rows],
                "older": urlencode(older),
            }

    def _view(self, row: Memory) -> MemoryView:
        after: Any = row.superseded_by if isinstance(row, Fact | Playbook) else None
        link = MemoryLink(headline(after), self.url("record", after.pk)) if after else None
        return MemoryView(row, self.url("record", row.pk), successor=link)

    def _changes(self) -> Mapping[date, int]:
        """How much changed on each day, at most a minute old: moving the slider asks for it again and again."""
        name = f"memories.changes_by_day:{self.principal.tenant_id}:{self.principal.user_id}"
        kept: Mapping[date, int] | None = cache.get(name)
        if kept is None:
            kept = changes_by_day(self.principal, now=self.now)
            cache.set(name, kept, _HISTOGRAM_SECONDS)
        return kept


def _became(row: Memory, now: datetime) -> tuple[Since, datetime | None]:
    """What became of a row since, and when."""
    became = since(row, now=now)
    columns = {Since.EVICTED: "evicted_at", Since.EXPIRED: "expires_at"}
    return became, getattr(row, columns.get(became, "superseded_at"), None)


def _slider(begin: datetime, now: datetime, at: datetime) -> dict[str, int]:
    """The ends, step and position of the slider, in seconds since 1970."""
    first, last = int(begin.timestamp()), int(now.timestamp())
    step = max(1, (last - first) // _STEPS)
    return {"min": first, "max": max(last, first + 1), "step": step, "value": max(first, int(at.timestamp()))}
