"""The queue of cases, and what staff do with a case on the page of its turn.

The queue shows names, states and ticket numbers, never words of a conversation, so that it is no look at a memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from memories.errors import InvalidInput
from memories.models import CaseState, Fact, Playbook, ReviewItem, ReviewKind, SupportCase
from memories.presenting.memory import MemoryView, reviewed_rows
from memories.selectors.cases import CaseView, assignable, get_case, queue, with_members
from memories.selectors.reviews import open_reviews
from memories.services.cases import (
    NOTE_CHARACTERS,
    TICKET_CHARACTERS,
    change_case,
    flag_turn,
    note_case,
    propose_correction,
)
from memories.staff.base import MemberView, StaffView, first_page_of
from memories.staff.reviews import QUESTIONS
from tenants.admin.scoping import scope_of
from tenants.principal import ADMINISTERS, READS_MEMORY

PAGE_SIZE = 50
_STATES = {
    "": gettext_lazy("Not closed"),
    CaseState.OPEN: pgettext_lazy("case", "Open"),
    CaseState.WAITING: gettext_lazy("Waiting for the member"),
    CaseState.CLOSED: gettext_lazy("Closed"),
}


class Cases(StaffView):
    """The cases of the tenants that the reader supports, latest first; `?state=` and `?mine=1` narrow them."""

    roles = READS_MEMORY
    template_name = "admin/memories/cases.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        scope = scope_of(request, READS_MEMORY)
        state = request.GET.get("state", "")
        state = state if state in _STATES else ""
        mine = bool(request.GET.get("mine"))
        rows = queue([tenant.pk for tenant in scope.shown], state=state, assignee=self.staff.pk if mine else None)
        page, problem = first_page_of(rows, request.GET.get("cursor", ""), limit=PAGE_SIZE)
        return self.render(
            title=_("Cases"),
            scope=scope,
            cases=with_members(page.rows),
            next_cursor=page.next_cursor,
            problem=problem,
            state=state,
            states=_STATES.items(),
            mine=mine,
        )


class CaseForm(forms.Form):
    """State, ticket number and assignee."""

    state = forms.ChoiceField(choices=CaseState.choices)
    ticket = forms.CharField(required=False, max_length=TICKET_CHARACTERS)
    assignee = forms.UUIDField(required=False)


class CorrectionForm(forms.Form):
    """A correction to propose. `how` says which fields count."""

    how = forms.ChoiceField(choices=[("reword", ""), ("retire", ""), ("merge", "")])
    fact = forms.UUIDField()
    second = forms.UUIDField(required=False)
    text = forms.CharField(required=False)
    why = forms.CharField(required=False)


class FlagTurn(MemberView):
    """POST: open the case of a turn."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest, session_id: UUID, turn: int) -> HttpResponse:  # noqa: ARG002
        flag_turn(self.principal, session_id=session_id, turn=turn)
        self.success(_("The case is open. It is in the list of cases."))
        return self.redirect("turn", session_id, turn)


class CaseAction(MemberView):
    """POST: change a case, write a note, or propose a correction to the member, as `action` says."""

    http_method_names = ["post"]
    action = ""

    def post(self, request: HttpRequest, case_id: UUID) -> HttpResponse:
        case = get_case(self.principal, case_id=case_id)
        with self.refusals_shown():
            getattr(self, f"_{self.action}")(request, case)
        return self.redirect("turn", case.session_id, case.turn)

    def _change(self, request: HttpRequest, case: SupportCase) -> None:
        given = _valid(CaseForm(request.POST))
        change_case(
            self.principal, case.pk, state=given["state"], ticket=given["ticket"], assignee_id=given["assignee"]
        )
        self.success(_("The case is saved."))

    def _note(self, request: HttpRequest, case: SupportCase) -> None:
        note_case(self.principal, case.pk, text=request.POST.get("note", "").replace("\r\n", "\n"))
        self.success(_("The note is saved."))

    def _propose(self, request: HttpRequest, case: SupportCase) -> None:
        given = _valid(CorrectionForm(request.POST))
        text = given["text"].replace("\r\n", "\n") if given["how"] != "retire" else ""
        if given["how"] != "retire" and not text.strip():
            raise InvalidInput("text", _("is empty: write what the fact should say."))
        if given["how"] == "merge" and given["second"] is None:
            raise InvalidInput("second", _("is missing: choose the fact to merge with."))
        propose_correction(
            self.principal,
            case.pk,
            fact_id=given["fact"],
            second_id=given["second"] if given["how"] == "merge" else None,
            text=text,
            why=given["why"],
        )
        self.success(_("The correction is proposed. The member decides it under “To settle”."))


def _valid(form: forms.Form) -> Mapping[str, Any]:
    """The values of a form. Raises InvalidInput for the first invalid field."""
    for name, errors in form.errors.items():
        raise InvalidInput(name, str(errors[0]))
    return form.cleaned_data


class CasePart:
    """The part of a turn's page about its case.

    `explained`: the memory of "Why not this one?"; if a correction `names_it`, it comes first among the facts.
    """

    def __init__(
        self,
        page: MemberView,
        session_id: UUID,
        turn: int,
        facts: list[Fact],
        *,
        explained: MemoryView | None,
        names_it: bool,
    ) -> None:
        self._page = page
        self._session_id, self._turn = session_id, turn
        self.facts = facts
        self.explained, self.names_it = explained, names_it

    @property
    def words(self) -> str:
        """The text to start a correction from: of the explained memory, else of the first fact."""
        return self.explained.text if self.explained and self.names_it else self.facts[0].text

    @cached_property
    def case(self) -> CaseView | None:
        """The case with its notes and corrections; None if nobody opened one."""
        return CaseView.of(self._page.principal, session_id=self._session_id, turn=self._turn)

    @property
    def assignees(self) -> list[tuple[UUID, str]]:
        """Who may take the case: id and name."""
        return [(each.pk, each.speaker) for each in assignable(self._page.member.tenant_id)]

    @property
    def states(self) -> list[tuple[str, Any]]:
        """The states to choose from."""
        return [(state, words) for state, words in _STATES.items() if state]

    @property
    def note_characters(self) -> int:
        """The length limit of a note."""
        return NOTE_CHARACTERS

    @property
    def ticket_characters(self) -> int:
        """The length limit of a ticket number."""
        return TICKET_CHARACTERS

    @cached_property
    def reviews(self) -> list[tuple[ReviewItem, str, list[Fact | Playbook]]]:
        """The member's open reviews of these facts that staff could decide: question and facts."""
        ids = {fact.pk for fact in self.facts}
        return [
            (each, _(QUESTIONS[ReviewKind(each.kind)]), reviewed_rows(each))
            for each in open_reviews(self._page.principal)
            if each.kind != ReviewKind.CORRECTION and {each.first_id, each.second_id} & ids
        ]

    @property
    def may_decide(self) -> bool:
        """Whether this reader may decide the reviews."""
        return self._page.may(ADMINISTERS)
