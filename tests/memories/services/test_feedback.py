"""Feedback: one row per turn and member, told to the audit log without its note, erased with the turn."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from memories.errors import Conflict, InvalidInput, NotFound
from memories.models import Feedback, FeedbackVerdict
from memories.services.erasure.forget import forget, forget_session
from memories.services.facts.remember import remember_fact
from memories.services.feedback import feedback_on, give_feedback, withdraw_feedback
from memories.services.sessions.turns import Turn, begin_turn, finish_turn
from memories.types import Kind
from tenants.errors import Forbidden
from tenants.models import AuditEvent
from tenants.principal import Principal
from tests.memories.services.conftest import mention

pytestmark = pytest.mark.django_db


@pytest.fixture
def turn(principal: Principal) -> Turn:
    """A question with its answer."""
    return answered(principal, "Where do I live?", "In Leeds.")


def answered(principal: Principal, text: str, answer: str, session_id: UUID | None = None) -> Turn:
    turn = begin_turn(principal, text=text, session_id=session_id)
    finish_turn(principal, session_id=turn.session_id, turn=turn.turn, text=answer)
    return turn


def told() -> list[tuple[str, object]]:
    events = AuditEvent.objects.filter(target_kind="feedback").select_related("payload").order_by("sequence")
    return [(event.action, event.payload.data.get("after", {}).get("verdict")) for event in events]


def test_feedback_is_given_changed_and_withdrawn(principal: Principal, turn: Turn) -> None:
    place: dict[str, Any] = {"session_id": turn.session_id, "turn": 1}
    given = give_feedback(principal, **place, verdict="up")
    changed = give_feedback(principal, **place, verdict="down", note="  I said Sheffield. ")
    assert (given.pk, changed.verdict, changed.note) == (changed.pk, FeedbackVerdict.DOWN, "I said Sheffield.")
    give_feedback(principal, **place, verdict="down", note="I said Sheffield.")
    assert feedback_on(principal, turn.session_id, [1, 2]) == {1: changed}
    assert withdraw_feedback(principal, **place) is True
    assert withdraw_feedback(principal, **place) is False
    assert told() == [("feedback.given", "up"), ("feedback.changed", "down"), ("feedback.withdrawn", "down")]


def test_the_audit_log_never_holds_the_note(principal: Principal, turn: Turn) -> None:
    give_feedback(principal, session_id=turn.session_id, turn=1, verdict="down", note="Viola lessons")
    payloads = [event.payload.data for event in AuditEvent.objects.select_related("payload")]
    assert payloads and "Viola" not in str(payloads)


def test_a_secret_in_a_note_is_masked(principal: Principal, turn: Turn) -> None:
    given = give_feedback(
        principal, session_id=turn.session_id, turn=1, verdict="down", note="My card is 4111 1111 1111 1111"
    )
    assert "4111" not in given.note and given.note.startswith("My card is")


@pytest.mark.parametrize(("verdict", "note"), [("sideways", ""), ("up", "x" * 501), ("up", "\x00")])
def test_what_cannot_be_stored_is_refused_whole(principal: Principal, turn: Turn, verdict: str, note: str) -> None:
    with pytest.raises(InvalidInput):
        give_feedback(principal, session_id=turn.session_id, turn=1, verdict=verdict, note=note)
    assert not Feedback.objects.of(principal).exists()


def test_a_turn_without_an_answer_takes_no_feedback(principal: Principal) -> None:
    turn = begin_turn(principal, text="Hello")
    with pytest.raises(Conflict):
        give_feedback(principal, session_id=turn.session_id, turn=1, verdict="up")


def test_an_agent_gives_no_feedback(principal: Principal, turn: Turn) -> None:
    with pytest.raises(Forbidden):
        give_feedback(principal.as_agent(), session_id=turn.session_id, turn=1, verdict="up")


@pytest.mark.parametrize("whose", ["other_member", "other_tenant_member"])
def test_feedback_isolates_other_members(
    principal: Principal, turn: Turn, whose: str, request: pytest.FixtureRequest
) -> None:
    other: Principal = request.getfixturevalue(whose)
    give_feedback(principal, session_id=turn.session_id, turn=1, verdict="up")
    with pytest.raises(NotFound):
        give_feedback(other, session_id=turn.session_id, turn=1, verdict="down")
    with pytest.raises(NotFound):
        withdraw_feedback(other, session_id=turn.session_id, turn=1)
    assert not feedback_on(other, turn.session_id, [1])
    assert feedback_on(principal, turn.session_id, [1])[1].verdict == "up"


def test_feedback_is_erased_with_its_turn_and_its_conversation(principal: Principal, turn: Turn) -> None:
    later = answered(principal, "And my sister?", "In York.", turn.session_id)
    for number in (1, 2):
        give_feedback(principal, session_id=turn.session_id, turn=number, verdict="down")
    assert later.episode_id is not None
    forget(principal, kind=Kind.EPISODIC, memory_id=later.episode_id)
    assert set(feedback_on(principal, turn.session_id, [1, 2])) == {1}
    forget_session(principal, session_id=turn.session_id)
    assert not Feedback.objects.of(principal).exists()


def test_a_note_that_repeats_an_erased_memory_is_emptied(principal: Principal) -> None:
    turn = answered(principal, "Which lessons do I take?", "I don't know that yet.")
    fact = remember_fact(principal, text="Takes viola lessons with Ms Okonkwo")
    mention(principal, turn, fact.memory_id)
    give_feedback(
        principal, session_id=turn.session_id, turn=1, verdict="down", note="takes viola lessons with Ms Okonkwo!"
    )
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact.memory_id)
    (left,) = Feedback.objects.of(principal)
    assert (left.verdict, left.note) == ("down", "")


def test_forgetting_empties_notes_in_other_conversations_too(principal: Principal, turn: Turn) -> None:
    fact = remember_fact(principal, text="Plays the xylophone")
    give_feedback(principal, session_id=turn.session_id, turn=1, verdict="down", note="Not plays the xylophone!")
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact.memory_id)
    assert feedback_on(principal, turn.session_id, [1])[1].note == ""
