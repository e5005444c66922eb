"""Cases: opened by a thumbs down or by staff, changed by support, and corrections that the member alone decides."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from memories.errors import Conflict, InvalidInput, NotFound
from memories.models import CaseNote, CaseState, Fact, ReviewDecision, ReviewItem, SupportCase
from memories.services.cases import change_case, flag_turn, note_case, propose_correction
from memories.services.erasure.forget import forget, forget_session
from memories.services.feedback import give_feedback
from memories.services.reviews.decisions import ReviewChoice, decide, undo_decision
from memories.services.sessions.turns import Turn, begin_turn, finish_turn
from memories.types import Kind, Status
from tenants.errors import Forbidden
from tenants.models import AuditEvent, Membership, Tenant
from tenants.principal import ActorKind, Principal, Right
from tenants.principals import reading_principal, staff_principal
from tests.factories import make_membership, own_principal
from tests.memories.services.reviewing import current, say

pytestmark = pytest.mark.django_db

LEEDS, SHEFFIELD = "Lives in Leeds", "Lives in Sheffield"


@pytest.fixture
def turn(principal: Principal) -> Turn:
    turn = begin_turn(principal, text="Where do I live?")
    finish_turn(principal, session_id=turn.session_id, turn=turn.turn, text="In Leeds.")
    return turn


@pytest.fixture
def support(membership: Membership, tenant: Tenant) -> Principal:
    """Support of the tenant, reading the member's memory."""
    return reading_principal(membership, staff=make_membership(tenant, role="support").user)


@pytest.fixture
def case(support: Principal, turn: Turn) -> SupportCase:
    return flag_turn(support, session_id=turn.session_id, turn=turn.turn)


def told(kind: str = "case") -> list[str]:
    return list(AuditEvent.objects.filter(target_kind=kind).order_by("sequence").values_list("action", flat=True))


def answer(principal: Principal, item: ReviewItem, decision: str) -> ReviewItem:
    return decide(principal, item_id=item.pk, answer=ReviewChoice(ReviewDecision(decision)))


def state_of(case: SupportCase) -> str:
    case.refresh_from_db()
    return case.state


def test_a_thumbs_down_opens_one_case_for_the_turn_and_reopens_it(principal: Principal, turn: Turn) -> None:
    give = partial(give_feedback, principal, session_id=turn.session_id, turn=turn.turn)
    give(verdict="up")
    assert not SupportCase.objects.exists()
    give(verdict="down")
    give(verdict="down", note="Not Leeds any more.")
    case = SupportCase.objects.get()
    assert (case.origin, case.state, told()) == ("member", "open", ["case.opened"])
    SupportCase.objects.update(state=CaseState.CLOSED)
    give(verdict="down", note="Still wrong.")
    assert state_of(case) == "open" and told() == ["case.opened"] * 2


def test_support_changes_and_notes_a_case_and_the_log_holds_no_note(support: Principal, case: SupportCase) -> None:
    colleague = make_membership(Tenant.objects.get(pk=case.tenant_id), role="admin").user_id
    change_case(support, case.pk, state="waiting", ticket="HD-42", assignee_id=colleague)
    change_case(support, case.pk, state="waiting", ticket="HD-42", assignee_id=colleague)
    note_case(support, case.pk, text="Called back about the xylophone.")
    case.refresh_from_db()
    assert (case.state, case.ticket, case.assignee_id) == ("waiting", "HD-42", colleague)
    assert told() == ["case.opened", "case.changed", "case.noted"]
    assert "xylophone" not in str(list(AuditEvent.objects.values_list("payload__document", flat=True)))


def test_only_who_may_see_a_case_can_be_its_assignee(support: Principal, case: SupportCase, tenant: Tenant) -> None:
    for stranger in (make_membership(tenant), make_membership(tenant, role="auditor"), make_membership(role="support")):
        with pytest.raises(InvalidInput):
            change_case(support, case.pk, state="open", assignee_id=stranger.user_id)


def test_a_note_and_a_correction_with_a_value_that_is_not_stored_are_refused(
    support: Principal, principal: Principal, case: SupportCase
) -> None:
    fact, secret = say(principal, LEEDS), "Pays with the card 4111 1111 1111 1111"
    with pytest.raises(InvalidInput) as noted:
        note_case(support, case.pk, text=secret)
    with pytest.raises(InvalidInput) as proposed:
        propose_correction(support, case.pk, fact_id=fact.pk, text=secret)
    assert "4111" not in f"{noted.value} {proposed.value}"
    assert not CaseNote.objects.exists() and not ReviewItem.objects.exists()


@pytest.mark.parametrize("text", [SHEFFIELD, ""])
def test_a_correction_changes_nothing_until_the_member_accepts(
    support: Principal, principal: Principal, case: SupportCase, text: str
) -> None:
    fact = say(principal, LEEDS, key="home_city")
    item = propose_correction(support, case.pk, fact_id=fact.pk, text=text, why="You told us on the phone.")
    assert current(principal) == [LEEDS] and state_of(case) == "waiting"
    answer(principal, item, "accept")
    assert current(principal) == [text] * bool(text) and state_of(case) == "closed"
    fact.refresh_from_db()
    assert (fact.status, fact.retracted) == (Status.SUPERSEDED, bool(text))
    undo_decision(principal, item_id=item.pk)
    assert current(principal) == [LEEDS] and state_of(case) == "waiting"
    answer(principal, ReviewItem.objects.get(pk=item.pk), "accept")
    assert current(principal) == [text] * bool(text)


def test_an_accepted_correction_is_held_against_other_facts_until_it_is_undone(
    support: Principal, principal: Principal, case: SupportCase
) -> None:
    fact, rival = (say(principal, f"Saddle height is {size} cm") for size in (74, 71))
    item = propose_correction(support, case.pk, fact_id=fact.pk, text="Saddle height is 75 cm")
    answer(principal, item, "accept")
    asked = ReviewItem.objects.get(kind="contradiction", decision="open")
    assert {row.text for row in (asked.first, asked.second) if row} == {rival.text, "Saddle height is 75 cm"}
    undo_decision(principal, item_id=item.pk)
    assert current(principal) == [rival.text, fact.text]
    assert not ReviewItem.objects.filter(pk=asked.pk, decision="open").exists()


def test_a_merge_replaces_both_facts(support: Principal, principal: Principal, case: SupportCase) -> None:
    first, second = say(principal, "Has a dog"), say(principal, "Has a dog called Pip")
    item = propose_correction(support, case.pk, fact_id=first.pk, second_id=second.pk, text="Has one dog, Pip")
    answer(principal, item, "accept")
    assert current(principal) == ["Has one dog, Pip"]


def test_a_correction_is_not_opened_again_beside_another(
    support: Principal, principal: Principal, case: SupportCase
) -> None:
    fact = say(principal, LEEDS)
    declined = propose_correction(support, case.pk, fact_id=fact.pk, text=SHEFFIELD)
    answer(principal, declined, "keep")
    propose_correction(support, case.pk, fact_id=fact.pk, text="Lives in York")
    with pytest.raises(Conflict):
        undo_decision(principal, item_id=declined.pk)
    declined.refresh_from_db()
    assert declined.decision == "keep"


def test_a_declined_correction_confirms_the_fact_and_opens_the_case(
    support: Principal, principal: Principal, case: SupportCase
) -> None:
    item = propose_correction(support, case.pk, fact_id=say(principal, LEEDS).pk, text=SHEFFIELD)
    answer(principal, item, "keep")
    assert current(principal) == [LEEDS] and state_of(case) == "open"


def test_staff_never_decide_a_correction(
    support: Principal, principal: Principal, membership: Membership, case: SupportCase, tenant: Tenant
) -> None:
    item = propose_correction(support, case.pk, fact_id=say(principal, LEEDS).pk, text=SHEFFIELD)
    admin = staff_principal(membership, staff=make_membership(tenant, role="admin").user)
    for someone in (admin, principal.as_agent()):
        with pytest.raises(Forbidden):
            answer(someone, item, "accept")
    with pytest.raises(NotFound):
        answer(own_principal(make_membership(tenant)), item, "accept")
    assert current(principal) == [LEEDS]


def test_corrections_that_cannot_be_proposed(support: Principal, principal: Principal, case: SupportCase) -> None:
    fact, gone = say(principal, LEEDS), say(principal, "Plays the viola")
    Fact.objects.filter(pk=gone.pk).update(status=Status.SUPERSEDED, superseded_at=gone.learned_at)
    other = say(own_principal(make_membership()), "Plays the kazoo")
    propose_correction(support, case.pk, fact_id=fact.pk, text=SHEFFIELD)
    for error, asked in (
        (Conflict, {"fact_id": fact.pk, "text": "Lives in York"}),
        (Conflict, {"fact_id": gone.pk, "text": "Plays the cello"}),
        (NotFound, {"fact_id": other.pk, "text": "Plays the cello"}),
        (InvalidInput, {"fact_id": fact.pk, "text": LEEDS}),
        (InvalidInput, {"fact_id": fact.pk, "second_id": fact.pk, "text": "Lives in York"}),
    ):
        with pytest.raises(error):
            propose_correction(support, case.pk, **asked)  # type: ignore[arg-type]  # as named
    assert ReviewItem.objects.count() == 1


def test_a_correction_whose_fact_ended_otherwise_is_withdrawn(
    support: Principal, principal: Principal, case: SupportCase
) -> None:
    item = propose_correction(support, case.pk, fact_id=say(principal, LEEDS, key="home_city").pk, text=SHEFFIELD)
    say(principal, "Lives in York", key="home_city")
    item.refresh_from_db()
    assert (item.decision, state_of(case)) == ("withdrawn", "open")


def test_forgetting_takes_the_words_of_notes_and_corrections_along(
    support: Principal, principal: Principal, case: SupportCase
) -> None:
    fact = say(principal, "Plays the xylophone")
    note_case(support, case.pk, text="The member plays the xylophone.")
    note_case(support, case.pk, text="Called back.")
    item = propose_correction(support, case.pk, fact_id=fact.pk, text="Plays the xylophone badly")
    answer(principal, item, "accept")
    written = Fact.objects.of(principal).current().get()
    forget(principal, kind=Kind.SEMANTIC, memory_id=written.pk)
    assert list(CaseNote.objects.values_list("text", flat=True)) == ["Called back."]
    assert not ReviewItem.objects.exists()


def test_forgetting_takes_the_words_of_reasons_and_tickets_along(
    support: Principal, principal: Principal, case: SupportCase
) -> None:
    fact, other = say(principal, "Plays the xylophone"), say(principal, LEEDS)
    change_case(support, case.pk, state="open", ticket="plays the xylophone")
    propose_correction(support, case.pk, fact_id=other.pk, text=SHEFFIELD, why="As for plays the xylophone: no.")
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact.pk)
    case.refresh_from_db()
    assert case.ticket == "" and not ReviewItem.objects.exists()
    assert "xylophone" not in str(list(AuditEvent.objects.values_list("payload__document", flat=True)))


def test_the_audit_log_has_no_ticket(support: Principal, case: SupportCase) -> None:
    change_case(support, case.pk, state="open", ticket="HD-42")
    event = AuditEvent.objects.select_related("payload").get(action="case.changed")
    assert event.payload.data["after"] == {"ticket": True}


def test_a_ticket_and_a_reason_with_a_card_number_are_refused(
    support: Principal, principal: Principal, case: SupportCase
) -> None:
    fact, secret = say(principal, LEEDS), "Pays with 4111 1111 1111 1111"
    with pytest.raises(InvalidInput):
        change_case(support, case.pk, state="open", ticket=secret)
    with pytest.raises(InvalidInput):
        propose_correction(support, case.pk, fact_id=fact.pk, text=SHEFFIELD, why=secret)


def test_a_case_goes_with_its_conversation(principal: Principal, support: Principal, case: SupportCase) -> None:
    note_case(support, case.pk, text="Called back.")
    forget_session(principal, session_id=case.session_id)
    assert not SupportCase.objects.exists() and not CaseNote.objects.exists()


def test_another_members_case_is_unknown(support: Principal, case: SupportCase, tenant: Tenant) -> None:
    for owner in (make_membership(tenant), make_membership()):
        staff = make_membership(owner.tenant, role="support").user
        stranger = reading_principal(owner, staff=staff)
        with pytest.raises(NotFound):
            note_case(stranger, case.pk, text="Let me in.")
        with pytest.raises(NotFound):
            change_case(stranger, case.pk, state="closed")
        with pytest.raises(NotFound):
            flag_turn(stranger, session_id=case.session_id, turn=case.turn)
    powerless = replace(support, rights=frozenset[Right](), actor_kind=ActorKind.TOKEN)
    with pytest.raises(Forbidden):
        flag_turn(powerless, session_id=case.session_id, turn=case.turn)
