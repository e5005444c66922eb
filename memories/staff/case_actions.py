"""What staff do with a case on the page of its turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _

from memories.errors import InvalidInput, NotFound
from memories.hygiene.sensitivity.detecting import scan
from memories.hygiene.sensitivity.findings import judged
from memories.models import CaseState, SupportCase
from memories.selectors.cases import get_case
from memories.selectors.policies import policy_of
from memories.services.cases import TICKET_CHARACTERS, change_case, flag_turn, note_case, propose_correction
from memories.staff.base import REFUSALS, refusal_words
from memories.staff.conversations import TurnPage


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


_WORDS = ("ticket", "text", "why", "note")
_CHOICES = ("state", "assignee", "how", "fact", "second")


class FlagTurn(TurnPage):
    """POST: open the case of a turn."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest, session_id: UUID, turn: int) -> HttpResponse:  # noqa: ARG002
        flag_turn(self.principal, session_id=session_id, turn=turn)
        self.success(_("The case is open. It is in the list of cases."))
        return HttpResponseRedirect(self.url("turn", session_id, turn) + self.query)


class CaseAction(TurnPage):
    """POST: change a case, write a note, or propose a correction to the member, as `action` says.

    A refusal comes back on the page of the turn, beside what was typed; GET leads to that page.
    """

    action = ""

    def get(self, request: HttpRequest, case_id: UUID) -> HttpResponse:  # type: ignore[override]  # noqa: ARG002 - of a case
        case = get_case(self.principal, case_id=case_id)
        return HttpResponseRedirect(self.url("turn", case.session_id, case.turn) + self.query)

    def post(self, request: HttpRequest, case_id: UUID) -> HttpResponse:
        case = get_case(self.principal, case_id=case_id)
        try:
            getattr(self, f"_{self.action}")(request, case)
        except NotFound:
            raise
        except REFUSALS as error:
            refused = {self.action: refusal_words(error)}
            return self.show(case.session_id, case.turn, given=self._given(request), refused=refused)
        return HttpResponseRedirect(self.url("turn", case.session_id, case.turn) + self.query)

    def _given(self, request: HttpRequest) -> dict[str, str]:
        """What was typed and chosen, without values that may not be stored."""
        posted, handling = request.POST, policy_of(self.principal.tenant_id).handling
        words = {name: judged(posted[name], scan(posted[name]), handling).text for name in _WORDS if name in posted}
        return {**words, **{name: posted[name] for name in _CHOICES if name in posted}}

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
            raise InvalidInput("text", _("is empty; write what the fact should say."))
        if given["how"] == "merge" and given["second"] is None:
            raise InvalidInput("second", _("is missing; choose the fact to merge with."))
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
