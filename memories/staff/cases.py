"""The queue of cases, and the part of a turn's page about its case.

The queue shows names, states, ticket numbers and what members wrote to support, never words of a conversation, so that
it is no look at a memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from memories.models import CaseState, Fact, Playbook, ReviewItem, ReviewKind
from memories.presenting.memory import MemoryView, reviewed_rows
from memories.selectors.cases import CaseView, assignable, queue, with_members
from memories.selectors.reviews import open_reviews
from memories.services.cases import NOTE_CHARACTERS, TICKET_CHARACTERS
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


class CasePart:
    """The part of a turn's page about its case.

    `explained`: the memory of "Why not this one?"; if a correction `names_it`, it comes first among the facts.
    `given`: the fields of a refused form, and `refused`: why, by the action of the form.
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
        given: Mapping[str, str],
        refused: Mapping[str, str],
    ) -> None:
        self._page = page
        self._session_id, self._turn = session_id, turn
        self.facts = facts
        self.explained, self.names_it = explained, names_it
        self.given, self.refused = given, refused

    @property
    def words(self) -> str:
        """The text to start a correction from: of the explained memory, else of the first fact."""
        return self.explained.text if self.explained and self.names_it else self.facts[0].text

    @cached_property
    def case(self) -> CaseView | None:
        """The case with its notes and corrections; None if nobody opened one."""
        return CaseView.of(self._page.principal, session_id=self._session_id, turn=self._turn)

    @property
    def filled(self) -> dict[str, str]:
        """The values of the forms: those that were refused, else the stored ones."""
        case = self.case.case if self.case else None
        stored = {"state": case.state, "ticket": case.ticket, "assignee": str(case.assignee_id or "")} if case else {}
        return {**stored, "how": "reword", "text": self.words if self.facts else "", **self.given}

    @property
    def assignees(self) -> list[tuple[str, str]]:
        """Who may take the case: id and name."""
        return [(str(each.pk), each.speaker) for each in assignable(self._page.member.tenant_id)]

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
