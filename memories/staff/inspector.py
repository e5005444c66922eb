"""The inspector: a member's memories with one column for each kind, filtered by the URL and refreshed live."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.constants import FIRST_YEAR, LAST_YEAR
from memories.selectors.erasure import is_erased
from memories.selectors.staff.inspecting import (
    InspectorFilter,
    OwnerFilter,
    StateFilter,
    counts_by_status,
    inspected,
    member_state,
)
from memories.staff.base import LiveMemberView, first_page_of
from memories.types import ALL_KINDS, CURRENT, Kind, Status
from memoryhub.languages import gettext_lazy
from tenants.principal import ADMINISTERS

PAGE_SIZE = 20
_LONGEST = 200
_TITLES = {
    Kind.EPISODIC: (gettext_lazy("Events"), gettext_lazy("Events")),
    Kind.SEMANTIC: (gettext_lazy("Facts"), gettext_lazy("Facts")),
    Kind.PROCEDURAL: (gettext_lazy("How-tos"), gettext_lazy("How-tos")),
    Kind.CATALOG: (gettext_lazy("Shared catalog"), gettext_lazy("Entries")),
}
_WILL_APPEAR = {
    Kind.EPISODIC: gettext_lazy("What this member says to the agent appears here, word for word."),
    Kind.SEMANTIC: gettext_lazy(
        "Facts appear here when the agent learns something lasting, or when somebody writes one."
    ),
    Kind.PROCEDURAL: gettext_lazy(
        "How-tos appear here when a task taught the agent what works, with how often it did."
    ),
    Kind.CATALOG: gettext_lazy(
        "Articles and product data that everybody here can read appear here once they are imported."
    ),
}
_ERASED = gettext_lazy("Nothing appears here any more: this member was erased.")
_CANNOT = {
    (Kind.EPISODIC, "key"): gettext_lazy("Events have no key."),
    (Kind.EPISODIC, "category"): gettext_lazy("Events have no category."),
    (Kind.EPISODIC, "whose"): gettext_lazy("Events are shared with nobody."),
    (Kind.PROCEDURAL, "key"): gettext_lazy("How-tos have no key."),
    (Kind.CATALOG, "key"): gettext_lazy("The catalog has no keys."),
    (Kind.CATALOG, "category"): gettext_lazy("The catalog has no categories."),
    (Kind.CATALOG, "session_id"): gettext_lazy("Nothing in the catalog comes from a conversation."),
    (Kind.CATALOG, "whose"): gettext_lazy("The catalog belongs to no task."),
}
_STATES = {
    StateFilter.ANY: gettext_lazy("All"),
    StateFilter.CURRENT: gettext_lazy("Current"),
    StateFilter.STALE: gettext_lazy("Stale"),
    StateFilter.SUPERSEDED: gettext_lazy("Replaced"),
    StateFilter.EVICTED: gettext_lazy("Evicted"),
    StateFilter.FLAGGED: gettext_lazy("Flagged"),
}
_OWNERS = {
    OwnerFilter.OWN: gettext_lazy("Own"),
    OwnerFilter.TASK: gettext_lazy("In a task"),
    OwnerFilter.TENANT: gettext_lazy("Shared here"),
    OwnerFilter.GLOBAL: gettext_lazy("Shared with all"),
}
_A_DAY = {"invalid": gettext_lazy("is a day such as 2026-03-05")}
_NAMES = {"session_id": "session", "since": "from", "until": "to"}


class InspectorForm(forms.Form):
    """The filters of a URL. `problems` names the invalid ones, which are ignored."""

    q = forms.CharField(label=gettext_lazy("Words"), required=False, max_length=_LONGEST)
    show = forms.ChoiceField(
        label=gettext_lazy("State"), required=False, choices=[(each.value, each.value) for each in StateFilter]
    )
    whose = forms.ChoiceField(
        label=gettext_lazy("Whose"), required=False, choices=[(each.value, each.value) for each in OwnerFilter]
    )
    category = forms.CharField(label=gettext_lazy("Category"), required=False, max_length=_LONGEST)
    key = forms.CharField(label=gettext_lazy("About"), required=False, max_length=_LONGEST)
    session_id = forms.UUIDField(
        label=gettext_lazy("Conversation"),
        required=False,
        error_messages={"invalid": gettext_lazy("is named by an id")},
    )
    since = forms.DateField(
        label=gettext_lazy("From"), required=False, input_formats=["%Y-%m-%d"], error_messages=_A_DAY
    )
    until = forms.DateField(label=gettext_lazy("To"), required=False, input_formats=["%Y-%m-%d"], error_messages=_A_DAY)

    def add_prefix(self, field_name: str) -> str:
        """The name of a field in the URL."""
        return _NAMES.get(field_name, field_name)

    def clean(self) -> None:
        for name in ("since", "until"):
            day = self.cleaned_data.get(name)
            if day is not None and not FIRST_YEAR <= day.year <= LAST_YEAR:
                self.add_error(name, _A_DAY["invalid"])

    @cached_property
    def problems(self) -> list[str]:
        """A sentence for each ignored filter, with the reason."""
        found = []
        for name, errors in self.errors.as_data().items():
            choices = getattr(self.fields[name], "choices", ())
            error = errors[0]
            reason = " ".join(map(str, error.messages))
            if choices:
                reason = _("is one of %(choices)s") % {
                    "choices": ", ".join(str(value) for value, __ in choices if value)
                }
            elif error.code in ("max_length", "null_characters_not_allowed"):
                reason = _("has to be a text of at most %(most)s characters") % {"most": _LONGEST}
            found.append(
                _("%(filter)s %(reason)s; it was left out.") % {"filter": self.fields[name].label, "reason": reason}
            )
        return found

    @cached_property
    def given(self) -> dict[str, str]:
        """The valid filters as they are written in the URL."""
        valid = [name for name in self.fields if name not in self.errors]
        return {self.add_prefix(name): self[name].value() for name in valid if self[name].value()}

    @property
    def filter(self) -> InspectorFilter:
        """The valid filters, for the selector."""
        given = self.cleaned_data
        return InspectorFilter(
            query=given.get("q", ""),
            show=StateFilter(given.get("show", "")),
            whose=OwnerFilter(given.get("whose", "")),
            category=given.get("category", ""),
            key=given.get("key", ""),
            session_id=given.get("session_id"),
            since=_midnight(given.get("since")),
            until=_midnight(given.get("until"), later=1),
        )

    @property
    def chips(self) -> list[tuple[str, str, str]]:
        """Label, value and the URL without it, for each filter that the page does not show as a row of links."""
        labels = {self.add_prefix(name): str(field.label) for name, field in self.fields.items()}
        names = [name for name in self.given if name not in ("show", "whose")]
        return [(labels[name], self.given[name], self.address(**{name: ""})) for name in names]

    def address(self, **changes: str) -> str:
        """The query string with these filters changed; drops empty filters and restarts every column at page one."""
        return f"?{urlencode({name: value for name, value in {**self.given, **changes}.items() if value})}"


class Inspector(LiveMemberView):
    """The memories of a member; with `live`, only the part of the page that refreshes itself."""

    reads = "inspector"
    tab = "inspector"
    title = gettext_lazy("Memory")
    template_name = "admin/memories/member/inspector.html"
    part_template = "admin/memories/member/_inspector.html"
    refresh_url = "inspector_live"

    def get_part(self) -> Mapping[str, Any]:
        form = InspectorForm(self.request.GET)
        form.is_valid()
        counts = counts_by_status(self.principal)
        problems = [*form.problems]
        return {
            "form": form,
            "columns": self._columns(form, counts, problems),
            "problems": problems,
            "states": _state_facets(form, counts),
            "whose": [(words, form.address(whose=each), form.filter.whose is each) for each, words in _OWNERS.items()],
            "state": member_state(self.principal),
            "key_url": self.url("search_key") if self.may(ADMINISTERS) else "",
        }

    def _columns(
        self, form: InspectorForm, counts: Mapping[Kind, Counter[Status]], problems: list[str]
    ) -> list[dict[str, Any]]:
        """The context of each kind's column; successors and counts are queried for all columns at once."""
        cursors = {kind: self.request.GET.get(kind.value, "") for kind in ALL_KINDS}
        pages = {}
        for kind, cursor in cursors.items():
            pages[kind], fault = first_page_of(inspected(self.principal, kind, form.filter), cursor, limit=PAGE_SIZE)
            if fault:
                problems.append(_("The address names a page that does not exist; this is the first one."))
                cursors[kind] = ""
        views = self.counted_views([row for page in pages.values() for row in page.rows])
        erased = not self.member.is_active and is_erased(self.member.pk)

        def at(kind: Kind, cursor: str) -> str:
            places = {each.value: place for each, place in {**cursors, kind: cursor}.items() if place}
            return f"?{urlencode({**form.given, **places})}"

        columns = []
        for kind, page in pages.items():
            rows = tuple(view for view in views if view.kind is kind)
            total = counts[kind].total()
            more = bool(page.next_cursor or cursors[kind])
            title, name = _TITLES[kind]
            columns.append(
                {
                    "kind": kind,
                    "title": title,
                    "name": name,
                    "rows": rows,
                    "found": f"{len(rows)}{'+' if more else ''}" if form.given else "",
                    "total": total,
                    "older": at(kind, page.next_cursor) if page.next_cursor else "",
                    "newest": at(kind, "") if cursors[kind] else "",
                    "empty": _ERASED if erased and kind is not Kind.CATALOG else _empty(form, kind, total),
                }
            )
        return columns


def _state_facets(
    form: InspectorForm, counts: Mapping[Kind, Counter[Status]]
) -> list[tuple[str, str, bool, int | None]]:
    """Label, URL, whether it is chosen, and count of each state.

    Flagged memories have no count, because counting them reads every row. Only the member's own memories are counted.
    """
    every: Counter[Status] = sum((counts[kind] for kind in ALL_KINDS if kind is not Kind.CATALOG), Counter())
    count: dict[StateFilter, int | None] = {
        StateFilter.ANY: every.total(),
        StateFilter.CURRENT: sum(every[status] for status in CURRENT),
        StateFilter.STALE: every[Status.STALE],
        StateFilter.SUPERSEDED: every[Status.SUPERSEDED],
        StateFilter.EVICTED: every[Status.EVICTED],
    }
    if form.filter.whose is not OwnerFilter.OWN:
        count = {}
    return [
        (words, form.address(show=each), form.filter.show is each, count.get(each)) for each, words in _STATES.items()
    ]


def _empty(form: InspectorForm, kind: Kind, total: int) -> str:
    beyond = form.filter.out_of_reach_of(kind)
    if beyond:
        return " ".join(str(_CANNOT[kind, name]) for name in beyond)
    return _("Nothing here fits the filters.") if form.given and total else _WILL_APPEAR[kind]


def _midnight(day: date | None, *, later: int = 0) -> datetime | None:
    """The start of the day, plus `later` days, in the reader's zone."""
    return None if day is None else timezone.make_aware(datetime.combine(day + timedelta(days=later), time.min))
