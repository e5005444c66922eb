"""Attacks on feedback and on the cases that support works on: by their ids, as a member and as staff elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from memories.models import CaseNote, Feedback, SupportCase
from memories.selectors.cases import get_case
from memories.services.cases import change_case, flag_turn, note_case, propose_correction
from memories.services.feedback import feedback_on, give_feedback, withdraw_feedback
from proof.attack import PROOF, Aim, Attempt, attack
from proof.attacks.web import by_page, staff_aim
from proof.marks import Exposure
from proof.requests import ProofRequest, call
from proof.world import Persona
from tenants.principals import reading_principal

MINE = "Mine"
_FOUND = 302
_QUEUE = "/admin/memories/supportcase/"
_ACTIONS = {
    "change": {"state": "closed", "ticket": MINE},
    "note": {"note": MINE},
    "propose": {"how": "retire", "fact": "{memory}", "why": MINE},
}
# By the page of the case's member, and by that of the attacker.
_FORMS = tuple(
    ProofRequest("POST", f"/admin/memories/membermemory/{{{member}}}/{path}/", form=form)
    for member in ("membership", "own_membership")
    for path, form in (
        *((f"cases/{{case}}/{action}", form) for action, form in _ACTIONS.items()),
        ("conversations/{session}/2/case", {}),
    )
)
_READS = tuple(
    ProofRequest("GET", f"/admin/memories/membermemory/{{{member}}}/conversations/{{session}}/1/")
    for member in ("membership", "own_membership")
)
_LISTS = tuple(ProofRequest("GET", _QUEUE + query) for query in ("", "?state=waiting", "?state=closed", "?mine=1"))

Call = Callable[[Aim, UUID], object]
_OF_TURN: tuple[Call, ...] = (
    lambda a, id_: give_feedback(a.who, session_id=id_, turn=1, verdict="up", note=MINE),
    lambda a, id_: withdraw_feedback(a.who, session_id=id_, turn=1),
    lambda a, id_: [*feedback_on(a.who, id_, [1, 2])],
    lambda a, id_: flag_turn(a.who, session_id=id_, turn=2),
)
_OF_CASE: tuple[Call, ...] = (
    lambda a, id_: get_case(a.who, case_id=id_),
    lambda a, id_: change_case(a.who, id_, state="closed", ticket=MINE),
    lambda a, id_: note_case(a.who, id_, text=MINE),
    lambda a, id_: propose_correction(a.who, id_, fact_id=a.target.id, why=MINE),
)


@attack("cases: another's feedback and cases, by the services", weight=5)
def by_service(attempt: Attempt) -> None:
    """Call everything that takes the conversation of feedback, or the id of a case."""
    aim = attempt.aim()
    calls, named = attempt.chance.choice([(_OF_TURN, "session"), (_OF_CASE, "case")])
    attempt.refuses(aim, attempt.chance.choice(calls), named)
    _unchanged(attempt, aim)


@attack("cases: the facts of another in a correction", weight=2)
def corrections(attempt: Attempt) -> None:
    """Propose from a case of one's own member to change a fact of somebody else."""
    admin = attempt.attacker(Persona.ADMIN)
    here = [each for each in attempt.world.residents if each.company is admin.company and each.cases]
    member = attempt.chance.choice(here)
    aim = attempt.aim_of(member)
    support = reading_principal(member.membership, staff=admin.membership.user)
    case_id = attempt.chance.choice(member.cases)
    attempt.refuses(aim, lambda _, id_: propose_correction(support, case_id, fact_id=id_, why=MINE))


@attack("cases: of another tenant, as its administrator", weight=4)
def as_staff(attempt: Attempt) -> None:
    """Work on cases of another tenant, by the page of their member and by one's own, and look through the queue."""
    aim, allowed = staff_aim(attempt)
    queue = call(attempt.chance.choice(_LISTS), cookie=aim.attacker.cookie)
    attempt.scan(aim.attacker, queue.text, allowed=allowed)
    if aim.victim.cases:
        row = attempt.chance.choice((*_FORMS, *_READS))
        attempt.compare(aim, row, lambda request: by_page(aim.attacker, request), allowed)
        _unchanged(attempt, aim)


@attack("cases: as a plain member", weight=2)
def as_member(attempt: Attempt) -> None:
    """Work on others' cases and read the queue without a role; each leads to the sign-in page."""
    aim = attempt.aim(Persona.RESIDENT)
    request, _ = aim.fill(attempt.chance.choice((*_FORMS, *_LISTS)))
    reply = call(request, cookie=aim.attacker.cookie)
    attempt.scan(aim.attacker, reply.text, sent=request)
    if reply.status != _FOUND:
        attempt.found(aim.attacker, aim.victim.number, Exposure.DONE)
    _unchanged(attempt, aim)


def _unchanged(attempt: Attempt, aim: Aim) -> None:
    """The victim's feedback and cases are as they were made: down, open and without a ticket or a note."""
    cases = SupportCase.objects.unscoped(PROOF).filter(session__in=aim.victim.sessions)
    feedback = Feedback.objects.unscoped(PROOF).filter(session__in=aim.victim.sessions)
    changed = (
        cases.exclude(pk__in=aim.victim.cases, state="open", ticket="").exists()
        or CaseNote.objects.unscoped(PROOF).filter(case__in=cases).exists()
        or feedback.exclude(verdict="down").exists()
        or feedback.count() != len(aim.victim.sessions)
    )
    if changed:
        attempt.found(aim.attacker, aim.victim.number, Exposure.STATE)
