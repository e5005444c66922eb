"""The ask page: runs a recall as this member would, and explains it stage by stage.

The question arrives by POST, so no URL and no access log holds it, and the form shows it masked. The audit event
records only the length of the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.generic.edit import FormMixin, ProcessFormView

from memories.constants import DEFAULT_RECALL_LIMIT, MAX_QUERY_CHARACTERS, MAX_RECALL_LIMIT
from memories.errors import InvalidInput, NotFound, SearchForbidden
from memories.presenting.lines import SECTIONS
from memories.recall.explaining import Explanation, explain
from memories.recall.request import screened
from memories.recall.selection import Cut
from memories.selectors.policies import Policy, policy_of
from memories.services.admin_requests import note_question
from memories.staff.base import MemberView
from memories.staff.candidates import CUTS, FACTORS, FunnelStep, SignalRow, funnel_of, table_of
from memories.staff.why_not import found_by, why_not_in
from memories.types import ALL_KINDS
from memoryhub.languages import number
from tenants.errors import Forbidden
from tenants.principals import reading_principal, still

# Rows of a table, unless the recall's limit is higher.
ROWS = 40
# Form fields by the parameter names in the errors of `recall`.
_FIELDS = {"query": "question", "types": "kinds"}


class QuestionForm(forms.Form):
    """A question and the parameters of the recall. Times are in the reader's zone."""

    question = forms.CharField(max_length=MAX_QUERY_CHARACTERS, strip=False)
    kinds = forms.MultipleChoiceField(choices=[(kind.value, SECTIONS[kind].title) for kind in ALL_KINDS])
    limit = forms.IntegerField(min_value=1, max_value=MAX_RECALL_LIMIT)
    superseded = forms.BooleanField(required=False)
    as_of = forms.DateTimeField(required=False, input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d"])
    token_budget = forms.IntegerField(required=False, min_value=1)
    threshold = forms.FloatField(required=False, localize=True)
    why = forms.CharField(required=False, max_length=300)


class Ask(FormMixin[QuestionForm], ProcessFormView, MemberView):
    """The form; after a POST, also the explained recall."""

    tab = "ask"
    template_name = "admin/memories/member/ask.html"
    form_class = QuestionForm

    @cached_property
    def policy(self) -> Policy:
        """The memory policy of the member's tenant."""
        return policy_of(self.member.tenant_id)

    def get_initial(self) -> dict[str, Any]:
        """The parameters of the chat's own recalls, except for the limit."""
        threshold = self.policy.recall_threshold
        return {
            "kinds": [kind.value for kind in ALL_KINDS],
            "limit": DEFAULT_RECALL_LIMIT,
            "threshold": "" if threshold is None else number(threshold),
        }

    def form_invalid(self, form: QuestionForm) -> HttpResponse:
        return self.render(form=form, status=400)

    def form_valid(self, form: QuestionForm) -> HttpResponse:
        asked = form.cleaned_data
        question = asked["question"].replace("\r\n", "\n")
        note_question(self.principal, question)
        try:
            explained = explain(
                self.principal,
                question,
                types=asked["kinds"],
                limit=asked["limit"],
                include_superseded=asked["superseded"],
                as_of=asked["as_of"],
                token_budget=asked["token_budget"],
                threshold=asked["threshold"],
            )
        except InvalidInput as error:
            form.add_error(_FIELDS.get(error.field, error.field), _("This") + f" {error.reason}")
            return self.form_invalid(form)
        except SearchForbidden as error:
            return self.render(form=form, closed=str(error))
        self._require_still_staff()
        return self.render(
            form=form, explained=explained, **_stages(explained), **self._why_not(explained, asked["why"])
        )

    def _why_not(self, explained: Explanation, why: str) -> dict[str, Any]:
        """The memories that the words find, or the explanation of the memory that they name."""
        if not why:
            return {"why": ""}
        try:
            return {"why": why, "why_not": why_not_in(self.principal, explained, UUID(why))}
        except (ValueError, NotFound):
            return {"why": why, "matches": found_by(self.principal, why)}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        form = context["form"]
        values = {field.name: "" if (value := field.value()) is None else value for field in form}
        asked = str(values["question"])
        masked = screened(self.principal, asked) if 0 < len(asked) <= MAX_QUERY_CHARACTERS else ""
        return {
            "explained": None,
            "closed": "",
            **context,
            "title": _("Ask as %(name)s") % {"name": self.member.user.shown_name},
            "given": {**values, "question": masked, "masked": bool(masked) and masked != asked},
            "kinds": [(SECTIONS[kind], kind.value in (values["kinds"] or ())) for kind in ALL_KINDS],
            "errors": {name: " ".join(map(str, errors)) for name, errors in form.errors.items()},
            "most": MAX_RECALL_LIMIT,
            "policy": self.policy,
        }

    def _require_still_staff(self) -> None:
        """Check the role again, because the search may take seconds.

        A reader who lost the role meanwhile must see nothing. Raises PermissionDenied.
        """
        try:
            reading_principal(self.member, staff=still(self.staff), roles=self.roles)
        except Forbidden as error:
            raise PermissionDenied from error


def _stages(explained: Explanation) -> dict[str, Any]:
    """The funnel, the candidate table, and the rows that each stage shows."""
    table = table_of(explained.considered, most=max(ROWS, explained.request.limit))
    listed = {row.id: row for row in table.rows}
    beside = [(row, row.considered.beside) for row in table.rows if row.considered and row.considered.beside]
    return {
        "funnel": funnel(explained),
        "table": table,
        "by_part": _found_by_search(table.rows),
        "contexts": [(row, [listed[id_] for id_ in ids if id_ in listed]) for row, ids in beside],
        "by_fusion": sorted(table.rows, key=lambda row: (row.considered and row.considered.fused_rank) or 0),
        "factors": list(FACTORS.values()),
        "cuts": _cuts(explained),
        "cut_rows": [row for row in table.rows if not row.given],
    }


def funnel(explained: Explanation) -> tuple[FunnelStep, ...]:
    """The stages from the candidates of the search to the returned memories."""
    took = {name: stage.get("ms") for name, stage in explained.stages.items()}
    considered = len(explained.considered)
    given = len(explained.answer.items)
    return funnel_of(
        [
            FunnelStep(
                _("Candidates"), explained.found, took["candidates"], _("by words, by meaning, or just written")
            ),
            FunnelStep(_("Loaded"), considered, took["loaded"], _("with their neighbours, as the database has them")),
            FunnelStep(_("Scored"), considered, took["scored"], _("every signal of each")),
            FunnelStep(_("Adjusted"), considered, None, _("by age, use, outcome and kind")),
            FunnelStep(_("Given out"), given, took["selected"], _("within limit, budget and threshold")),
        ]
    )


def _found_by_search(rows: Sequence[SignalRow]) -> list[SignalRow]:
    """The rows that a sub-query found, sorted by their best rank in any sub-query."""
    found = []
    for row in rows:
        places = (row.considered.words, row.considered.meaning) if row.considered else ()
        if ranks := [place.rank for place in places if place]:
            found.append((min(ranks), row.rank, row))
    return [row for *__, row in sorted(found, key=lambda each: each[:2])]


def _cuts(explained: Explanation) -> list[tuple[str, int]]:
    """The number of candidates left out, by reason."""
    counts = {cut: sum(each.cut is cut for each in explained.considered) for cut in CUTS if cut is not Cut.NO}
    found = [(CUTS[cut], count) for cut, count in counts.items() if count]
    if explained.unloaded:
        found.append((_("ended, expired or of another time"), len(explained.unloaded)))
    return found
