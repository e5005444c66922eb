"""The page of changes in a member's memory between two times, with old and new text side by side."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from memories.errors import InvalidInput
from memories.hygiene.differences import Piece, differences
from memories.models import Fact
from memories.presenting.lines import SECTIONS, headline
from memories.selectors.history.changes import (
    Change,
    ChangedRow,
    ChangeStep,
    Differences,
    differences_between,
    steps_between,
)
from memories.staff.base import MemberView, refusal_words
from memories.staff.times import MomentField, first_error, written
from memories.types import ALL_KINDS, Kind
from memoryhub.languages import gettext_lazy

A_FEW, PAGE_SIZE = 8, 30
# The default period if the URL names no time.
_USUAL = timedelta(days=7)
TITLES = {
    Change.REPLACED: (pgettext_lazy("changes", "Replaced"), gettext_lazy("Something else is believed in its place.")),
    Change.LEARNED: (pgettext_lazy("changes", "Learned"), gettext_lazy("Believed from then on; it replaced nothing.")),
    Change.RETIRED: (pgettext_lazy("changes", "Ended"), gettext_lazy("No longer believed; nothing replaced it.")),
    Change.RESTORED: (pgettext_lazy("changes", "Brought back"), gettext_lazy("Believed again after an undo.")),
    Change.EVICTED: (
        pgettext_lazy("changes", "Evicted"),
        gettext_lazy("Hidden by the garbage collection when its time was over."),
    ),
}
# These changes have only one side, an old or a new row.
_ONE_SIDED = (Change.LEARNED, Change.RETIRED, Change.EVICTED)
_UNKNOWN = {"invalid_choice": gettext_lazy("is no change of facts or how-tos; follow a link of this page.")}


class ChangesForm(forms.Form):
    """Two times; with `change` and `kind`, one paginated list."""

    since = MomentField(label=gettext_lazy("From"), required=False)
    at = MomentField(label=gettext_lazy("To"), required=False)
    change = forms.ChoiceField(
        label=gettext_lazy("Change"),
        required=False,
        choices=[(each.value, each.value) for each in Change],
        error_messages=_UNKNOWN,
    )
    kind = forms.ChoiceField(
        label=gettext_lazy("Change"),
        required=False,
        choices=[(each.value, each.value) for each in ALL_KINDS],
        error_messages=_UNKNOWN,
    )
    cursor = forms.CharField(label=gettext_lazy("Page"), required=False)

    def clean(self) -> None:
        if self.cleaned_data.get("change") and "kind" not in self.errors and not self.cleaned_data["kind"]:
            self.add_error("change", _UNKNOWN["invalid_choice"])


class ChangesPage(MemberView):
    """A few changes of each type, or all of one type with pagination."""

    reads = "what changed"
    tab = "as_of"
    title = gettext_lazy("What changed")
    template_name = "admin/memories/member/changes.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        now = timezone.now()
        form = ChangesForm(request.GET)
        error = "" if form.is_valid() else first_error(form)
        given = {} if error else form.cleaned_data
        second: datetime = given.get("at") or now
        first: datetime = given.get("since") or second - _USUAL
        try:
            found = differences_between(self.principal, first, second)
            parts = list(self._parts(found, given))
        except InvalidInput as refused:
            labels = {"since": _("From"), "at": _("To")}
            words = f"{labels[refused.field]}: {refused.reason}" if refused.field in labels else refusal_words(refused)
            error, given, first, second = words, {}, now - _USUAL, now
            found = differences_between(self.principal, first, second)
            parts = list(self._parts(found, given))
        return self.render(
            status=400 if error else 200,
            error=error,
            found=found,
            parts=parts,
            one=bool(given.get("change")),
            gone=[(SECTIONS[kind], count) for kind, count in found.forgotten.items()],
            since=written(first),
            until=written(second),
            between=urlencode(_times(found)),
            latest=written(now),
        )

    def _parts(self, found: Differences, given: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """For each type and kind: the count, some changes, and the URL of the rest."""
        wanted = (given["change"], given["kind"]) if given.get("change") else None
        for (change, kind), count in sorted(found.counts.items(), key=_in_order):
            if not count or wanted not in (None, (change, kind)):
                continue
            some = steps_between(
                self.principal,
                found.first,
                found.second,
                change=change,
                kind=kind,
                limit=PAGE_SIZE if wanted else A_FEW,
                cursor=given["cursor"] if wanted else "",
            )
            address = {**_times(found), "change": change.value, "kind": kind.value}
            title, hint = TITLES[change]
            yield {
                "change": change,
                "title": title,
                "hint": hint,
                "section": SECTIONS[kind],
                "count": count,
                "lines": [self._line(step) for step in some.steps],
                "has_before": change is not Change.LEARNED,
                "has_after": change not in (Change.RETIRED, Change.EVICTED),
                "more": urlencode(address) if some.next_cursor and not wanted else "",
                "cursor": urlencode({**address, "cursor": some.next_cursor}) if some.next_cursor and wanted else "",
            }

    def _line(self, step: ChangeStep) -> dict[str, Any]:
        """One change with both texts split into pieces, and the URLs of both rows."""
        words_of = headline if step.change in _ONE_SIDED else wording
        before, after = (words_of(row) if row else "" for row in (step.before, step.after))
        left: tuple[Piece, ...] = (Piece(before, differs=False),)
        right: tuple[Piece, ...] = (Piece(after, differs=False),)
        if before and after and step.change is not Change.RESTORED:
            left, right = differences(before, after)
        urls = [self.url("record", row.pk) if row else "" for row in (step.before, step.after)]
        return {"step": step, "before": left, "after": right, "before_url": urls[0], "after_url": urls[1]}


def wording(row: ChangedRow) -> str:
    """The full text of a memory, with each step of a how-to on its own line."""
    if isinstance(row, Fact):
        return row.text
    steps = [f"{place}. {step}" for place, step in enumerate(row.steps, 1)]
    return "\n".join(part for part in (row.title, row.trigger, row.text, *steps) if part)


def _times(found: Differences) -> dict[str, str]:
    return {"since": written(found.first), "at": written(found.second)}


def _in_order(counted: tuple[tuple[Change, Kind], int]) -> tuple[int, bool]:
    change, kind = counted[0]
    return list(TITLES).index(change), kind is not Kind.SEMANTIC
