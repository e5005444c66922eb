"""Cases of support: an answer that the member or staff found wrong, until it is dealt with.

Support changes a case, never a memory: a correction is a review that the member decides (`services/reviews/decisions`).
The owner's audit log has each change of a case, with ids and states, without notes and tickets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from memories.constants import MAX_MEMORY_CHARACTERS
from memories.errors import Conflict, InvalidInput, existing
from memories.hygiene.sensitivity.detecting import scan
from memories.hygiene.sensitivity.findings import judged
from memories.hygiene.text import clean_text
from memories.models import (
    CaseNote,
    CaseOrigin,
    CaseState,
    Fact,
    ReviewDecision,
    ReviewItem,
    ReviewKind,
    SupportCase,
)
from memories.selectors.policies import policy_of
from memories.selectors.sessions import find_turn
from memories.services.admin_requests import REASON_CHARACTERS, asked_reason
from memories.services.facts.closing import same_wording
from memories.services.reviews.queue import AUDIT_KIND as REVIEW
from memories.services.reviews.queue import CASE, subject
from memories.services.write import Write
from memories.types import CURRENT
from tenants.audit.chain import EventDraft
from tenants.audit.listing import tell_owner
from tenants.locks import wait_for_owner
from tenants.models import User
from tenants.principal import READS_MEMORY, Principal, Right
from tenants.selectors import has_role

NOTE_CHARACTERS = 2000
TICKET_CHARACTERS = 60


def open_complaint(w: Write, *, session_id: UUID, turn: int) -> SupportCase:
    """Open the case of a turn that its member gave a thumbs down, or open it again."""
    case, is_new = _case_of(w.principal, session_id, turn, CaseOrigin.MEMBER)
    if is_new:
        w.audit("case.opened", target_kind=CASE, target_id=case.pk, after=_place(case))
    return case


def flag_turn(principal: Principal, *, session_id: UUID, turn: int) -> SupportCase:
    """Open the case of a turn that staff find wrong, or open it again. Raises NotFound, Forbidden."""
    principal.require(Right.READ)
    find_turn(principal, session_id, turn)
    with transaction.atomic():
        wait_for_owner(principal)
        case, is_new = _case_of(principal, session_id, turn, CaseOrigin.STAFF)
        if is_new:
            _tell(principal, "case.opened", case, _place(case))
        return case


def change_case(
    principal: Principal, case_id: UUID, *, state: str, ticket: str = "", assignee_id: UUID | None = None
) -> SupportCase:
    """Set state, ticket number and assignee. Raises NotFound, InvalidInput."""
    clean_text(ticket, field="ticket", limit=TICKET_CHARACTERS, required=False)
    screened = _screened(
        principal, asked_reason(ticket, required=False), field="ticket", limit=TICKET_CHARACTERS, required=False
    )
    if screened != " ".join(ticket.split()):
        raise InvalidInput("ticket", _("holds personal data; write the number of a ticket alone."))
    ticket = screened
    if state not in CaseState:
        raise InvalidInput("state", _("must be one of: %(names)s.") % {"names": ", ".join(CaseState)})
    with transaction.atomic():
        case = _locked(principal, case_id)
        _require_assignable(case, assignee_id)
        wanted = {"state": state, "ticket": ticket, "assignee_id": assignee_id}
        changed = {name: value for name, value in wanted.items() if getattr(case, name) != value}
        for name, value in changed.items():
            setattr(case, name, value)
        if changed:
            case.save()
            _tell(principal, "case.changed", case, {name: _recorded(name, value) for name, value in changed.items()})
        return case


def note_case(principal: Principal, case_id: UUID, *, text: str) -> CaseNote:
    """Write a note on a case. Raises NotFound, InvalidInput."""
    stored = _screened(principal, text, field="note", limit=NOTE_CHARACTERS)
    with transaction.atomic():
        case = _locked(principal, case_id)
        note = CaseNote.objects.create(
            case=case, tenant_id=case.tenant_id, user_id=case.user_id, author_id=principal.actor_id, text=stored
        )
        _tell(principal, "case.noted", case)
        return note


def propose_correction(
    principal: Principal, case_id: UUID, *, fact_id: UUID, second_id: UUID | None = None, text: str = "", why: str = ""
) -> ReviewItem:
    """Propose to the member to reword a fact, to merge it with a `second` one, or without a `text` to retire it.

    The case waits for the member, who alone decides. Raises NotFound, InvalidInput, Conflict (a fact is not current, or
    a correction of it waits already).
    """
    merges = second_id is not None
    stored = _screened(principal, text, field="text", limit=MAX_MEMORY_CHARACTERS, required=merges)
    reason = asked_reason(why, required=False)
    reason = _screened(principal, reason, field="why", limit=REASON_CHARACTERS, required=False)[:REASON_CHARACTERS]
    with transaction.atomic():
        case = _locked(principal, case_id)
        first = _own_fact(principal, fact_id)
        second = _own_fact(principal, second_id) if second_id else None
        if second is not None and (first.pk == second.pk or _scope(first) != _scope(second)):
            raise InvalidInput("second", _("must be another fact of the same scope and task."))
        if any(same_wording(each.text, stored) for each in (first, second) if each is not None):
            raise InvalidInput("text", _("says the same as the fact; write what it should say instead."))
        waiting = ReviewItem.objects.of(principal).filter(kind=ReviewKind.CORRECTION, decision=ReviewDecision.OPEN)
        if waiting.filter(first=first).exists():
            raise Conflict(_("A correction of this fact waits for the member already."))
        item = ReviewItem.objects.create(
            kind=ReviewKind.CORRECTION,
            tenant_id=principal.tenant_id,
            user_id=principal.user_id,
            first=first,
            second=second,
            reason=reason,
            proposed=stored,
            case=case,
        )
        tell_owner(principal, EventDraft("review.opened", REVIEW, item.pk, after=subject(item)))
        _set_state(principal, case, CaseState.WAITING)
        return item


def _case_of(principal: Principal, session_id: UUID, turn: int, origin: CaseOrigin) -> tuple[SupportCase, bool]:
    """The case of a turn, and whether it was opened just now. The caller holds the owner's lock."""
    case, created = SupportCase.objects.of(principal).get_or_create(
        session_id=session_id,
        turn=turn,
        defaults={"tenant_id": principal.tenant_id, "user_id": principal.user_id, "origin": origin},
    )
    reopens = case.state == CaseState.CLOSED
    if reopens:
        case.state, case.origin = CaseState.OPEN, origin
        case.save()
    return case, created or reopens


def _locked(principal: Principal, case_id: UUID) -> SupportCase:
    """A case of the owner, under the owner's lock. Raises NotFound."""
    principal.require(Right.READ)
    wait_for_owner(principal)
    return existing(SupportCase.objects.of(principal).filter(pk=case_id).first(), "case")


def _set_state(principal: Principal, case: SupportCase, state: CaseState) -> None:
    if case.state != state:
        case.state = state
        case.save(update_fields=["state", "updated_at"])
        _tell(principal, "case.changed", case, {"state": str(state)})


def _require_assignable(case: SupportCase, user_id: UUID | None) -> None:
    """Raise InvalidInput unless this user may see the case; whoever has it already may keep it."""
    if user_id is None or user_id == case.assignee_id:
        return
    user = User.objects.filter(pk=user_id, is_active=True).first()
    if user is None or not (user.is_superuser or has_role(user, case.tenant_id, READS_MEMORY)):
        raise InvalidInput("assignee", _("must be support or an administrator of the member's organisation."))


def _own_fact(principal: Principal, fact_id: UUID) -> Fact:
    """A current fact of the member's own. Raises NotFound, Conflict."""
    fact = existing(Fact.objects.of(principal).filter(pk=fact_id).first(), "fact")
    if fact.status not in CURRENT:
        raise Conflict(_("This fact was replaced or ended already; propose a correction of the current one."))
    return fact


def _screened(principal: Principal, text: str, *, field: str, limit: int, required: bool = True) -> str:
    """The text as the policy of the tenant lets it be stored. Raises InvalidInput."""
    clean_text(text, field=field, limit=limit, required=required)
    found = judged(text, scan(text), policy_of(principal.tenant_id).handling)
    if found.blocked:
        raise InvalidInput(field, _("holds a value that this organisation does not store; leave it out."))
    return found.text.strip()


def _recorded(name: str, value: Any) -> Any:
    """A new value as the audit log has it; of a ticket, which may repeat words, only whether there is one."""
    return bool(value) if name == "ticket" else value and str(value)


def _scope(fact: Fact) -> tuple[str, str | None]:
    return fact.scope, fact.task


def _place(case: SupportCase) -> dict[str, Any]:
    return {"session_id": str(case.session_id), "turn": case.turn, "origin": str(case.origin)}


def _tell(principal: Principal, action: str, case: SupportCase, after: Mapping[str, Any] | None = None) -> None:
    tell_owner(principal, EventDraft(action, CASE, case.pk, after=after))
