"""Reads cases of support: the queue, the case of a turn with its notes and corrections, and who may take one."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from memories.errors import existing
from memories.models import CaseNote, CaseState, Feedback, ReviewItem, SupportCase
from memories.selectors.policies import wants_reason
from tenants.models import Membership, User
from tenants.principal import READS_MEMORY, Principal, Right
from tenants.selectors import active_memberships


@dataclass(frozen=True, slots=True)
class CaseView:
    """A case with its notes, oldest first, its corrections, latest first, and what the member wrote to support."""

    case: SupportCase
    notes: tuple[CaseNote, ...]
    corrections: tuple[ReviewItem, ...]
    complaint: str

    @classmethod
    def of(cls, principal: Principal, *, session_id: UUID, turn: int) -> CaseView | None:
        """The case of a turn, if there is one."""
        case = find_case(principal, session_id=session_id, turn=turn)
        if case is None:
            return None
        notes = CaseNote.objects.of(principal).filter(case=case).select_related("author")
        corrections = ReviewItem.objects.of(principal).filter(case=case).select_related("first", "second")
        given = Feedback.objects.of(principal).filter(session_id=session_id, turn=turn)
        said = given.values_list("note", flat=True).first()
        return cls(case, tuple(notes), tuple(corrections.order_by("-created_at", "id")), said or "")


def find_case(principal: Principal, *, session_id: UUID, turn: int) -> SupportCase | None:
    """The case of a turn, if there is one."""
    principal.require(Right.READ)
    return SupportCase.objects.of(principal).filter(session_id=session_id, turn=turn).first()


def get_case(principal: Principal, *, case_id: UUID) -> SupportCase:
    """A case of the principal's. Raises NotFound."""
    principal.require(Right.READ)
    return existing(SupportCase.objects.of(principal).filter(pk=case_id).first(), "case")


def queue(tenants: Collection[UUID], *, state: str = "", assignee: UUID | None = None) -> QuerySet[SupportCase]:
    """The cases of these tenants, latest first; without a `state` those that are not closed."""
    rows = SupportCase.objects.unscoped("staff look at their tenants").filter(tenant__in=list(tenants))
    rows = rows.filter(state=state) if state else rows.exclude(state=CaseState.CLOSED)
    if assignee is not None:
        rows = rows.filter(assignee=assignee)
    return rows.select_related("tenant__memory_policy", "assignee").order_by("-created_at", "id")


def with_members(cases: Iterable[SupportCase]) -> list[tuple[SupportCase, Membership, str]]:
    """Each case with the membership of its member and what they wrote to support. Two queries.

    Cases of erased members are left out, and what was written if staff of the tenant state a reason to look first.
    """
    rows = list(cases)
    feedback = Feedback.objects.unscoped("staff look at their tenants").filter(
        session__in={each.session_id for each in rows}
    )
    written = {(each.session_id, each.turn): each.note for each in feedback}
    found = Membership.objects.select_related("user").filter(user__in={each.user_id for each in rows})
    members = {(each.tenant_id, each.user_id): each for each in found}
    return [
        (each, members[place], "" if wants_reason(each.tenant) else written.get((each.session_id, each.turn), ""))
        for each in rows
        if (place := (each.tenant_id, each.user_id)) in members
    ]


def assignable(tenant_id: UUID) -> list[User]:
    """Support and administrators of a tenant, by name."""
    staff = active_memberships().filter(tenant=tenant_id, role__in=READS_MEMORY).select_related("user")
    return sorted((each.user for each in staff), key=lambda user: user.speaker.casefold())
