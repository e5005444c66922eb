"""The as-of page: a member's memory as it was believed at a given time.

The URL holds the whole state of the page, so it can be shared. The slider submits a position, which redirects to the
URL of that time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.cache import caches
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.text import format_lazy

from memories.constants import FIRST_YEAR
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
from memories.staff.base import MemberView, refusal_words
from memories.staff.times import MomentField, SliderField, first_error, histogram_of, written
from memories.types import ALL_KINDS, Kind
from memoryhub.languages import gettext_lazy

PAGE_SIZE = 15
# Number of steps of the slider.
_STEPS = 1000
_LONGEST = 200
# The histogram takes 0.1 s with 100,000 memories; it holds counts only, so caching it leaks no text.
_HISTOGRAM_SECONDS = 60
_TOO_LONG = dict.fromkeys(
    ("max_length", "null_characters_not_allowed"),
    format_lazy(gettext_lazy("may have {most} characters at most."), most=_LONGEST),
)


class AsOfForm(forms.Form):
    """The filters of the URL; `point` is the position of the slider."""

    at = MomentField(label=gettext_lazy("Exact time"), required=False)
    point = SliderField(label=gettext_lazy("Exact time"), required=False)
    q = forms.CharField(label=gettext_lazy("Search"), required=False, max_length=_LONGEST, error_messages=_TOO_LONG)
    category = forms.CharField(
        label=gettext_lazy("Category"), required=False, max_length=_LONGEST, error_messages=_TOO_LONG
    )
    key = forms.CharField(label=gettext_lazy("Key"), required=False, max_length=_LONGEST, error_messages=_TOO_LONG)
    session = forms.UUIDField(
        label=gettext_lazy("Session"),
        required=False,
        error_messages={"invalid": gettext_lazy("is not the id of a session.")},
    )
    shared = forms.BooleanField(required=False)
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind"),
        required=False,
        choices=[(kind.value, kind.value) for kind in ALL_KINDS],
        error_messages={
            "invalid_choice": format_lazy(gettext_lazy("must be one of {kinds}."), kinds=", ".join(ALL_KINDS))
        },
    )
    cursor = forms.CharField(label=gettext_lazy("Page"), required=False)

    @property
    def filter(self) -> AsOfFilter:
        """The filters for the selector; no filters for an invalid form."""
        if not self.is_valid():
            return AsOfFilter()
        given = self.cleaned_data
        return AsOfFilter(given["q"], given["category"], given["key"], given["session"], given["shared"])

    @property
    def kept(self) -> dict[str, str]:
        """The query parameters that links to another time or page carry over."""
        by = self.filter
        parts = {"q": by.query, "category": by.category, "key": by.key, "session": str(by.session_id or "")}
        return {name: value for name, value in {**parts, "shared": "1" if by.shared else ""}.items() if value}


class AsOf(MemberView):
    """The memory as believed at that time, with one column for each kind."""

    reads = "as of"
    tab = "as_of"
    title = gettext_lazy("As of")
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
            error, kind, cursor = refusal_words(refused), "", ""
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
            earliest=f"{FIRST_YEAR}-01-01T00:00:00",
            latest=written(self.now),
            kept=form.kept.items(),
        )

    def _columns(self, by: AsOfFilter, kind: str, cursor: str) -> Iterator[dict[str, Any]]:
        """For each kind: the section, its rows, and the query string of the next page."""
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
        """The number of changes on each day, cached for a minute because moving the slider requests it repeatedly."""
        name = f"memories.changes_by_day:{self.principal.tenant_id}:{self.principal.user_id}"
        kept: Mapping[date, int] | None = caches["local"].get(name)
        if kept is None:
            kept = changes_by_day(self.principal, now=self.now)
            caches["local"].set(name, kept, _HISTOGRAM_SECONDS)
        return kept


def _became(row: Memory, now: datetime) -> tuple[Since, datetime | None]:
    """The state of a row since that time, and the time it changed."""
    became = since(row, now=now)
    columns = {Since.EVICTED: "evicted_at", Since.EXPIRED: "expires_at"}
    return became, getattr(row, columns.get(became, "superseded_at"), None)


def _slider(begin: datetime, now: datetime, at: datetime) -> dict[str, int]:
    """The ends, step and position of the slider, in seconds since 1970."""
    first, last = int(begin.timestamp()), int(now.timestamp())
    step = max(1, (last - first) // _STEPS)
    return {"min": first, "max": max(last, first + 1), "step": step, "value": max(first, int(at.timestamp()))}
