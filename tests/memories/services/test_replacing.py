"""Edited messages and other answers: the old ones stay stored, and nothing is learned or recalled from them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from memories.errors import Conflict, NotFound
from memories.models import Episode, Fact, Message
from memories.selectors.sessions import conversation, find_turn, transcript
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.sessions.replacing import answer_again, edit_turn, undo_saved
from memories.services.sessions.turns import Turn, begin_turn, finish_turn
from memories.types import Kind, Status
from tenants.errors import Forbidden
from tenants.models import AuditEvent
from tenants.principal import Principal

pytestmark = pytest.mark.django_db


def said(principal: Principal, text: str, answer: str = "Noted.", session_id: UUID | None = None) -> Turn:
    turn = begin_turn(principal, text=text, session_id=session_id)
    finish_turn(principal, session_id=turn.session_id, turn=turn.turn, text=answer)
    return turn


def home(principal: Principal, city: str, turn: Turn) -> UUID:
    assert turn.episode_id is not None
    support: dict[str, Any] = {"supporting_episode_ids": [turn.episode_id]}
    return remember_fact(principal, text=f"Lives in {city}", key="home_city", category="home", **support).memory_id


def shown(principal: Principal, session_id: UUID) -> list[tuple[int, str]]:
    return [(view.turn, view.text) for view in transcript(principal, session_id)]


def test_an_edited_message_takes_the_place_of_its_turn_and_all_later_ones(principal: Principal) -> None:
    first = said(principal, "I live in Leds")
    session = first.session_id
    said(principal, "And I like tea", session_id=session)
    edited = edit_turn(principal, session_id=session, turn=1, text="I live in Leeds")
    assert shown(principal, session) == [(3, "I live in Leeds")]
    assert conversation(principal, session, last=20, before=edited.turn) == ()
    everything = transcript(principal, session, replaced=True)
    assert [(view.turn, view.answer, view.replaced_by) for view in everything] == [
        (1, "Noted.", 3),
        (2, "Noted.", 3),
        (3, "", None),
    ]
    event = AuditEvent.objects.select_related("payload").get(action="session.edited")
    assert event.payload.data["after"] == {"turn": 3, "replaced": [1, 2]}


def test_the_words_of_a_replaced_turn_are_recalled_no_more(principal: Principal) -> None:
    first = said(principal, "I live in Leds")
    edit_turn(principal, session_id=first.session_id, turn=1, text="I live in Leeds")
    current = Episode.objects.of(principal).current()
    assert [row.text for row in current] == ["I live in Leeds"]


def test_an_edit_takes_back_what_only_the_replaced_words_supported(principal: Principal) -> None:
    before = said(principal, "I live in York")
    home(principal, "York", before)
    wrong = said(principal, "I live in Leds now", session_id=before.session_id)
    home(principal, "Leds", wrong)
    edit_turn(principal, session_id=before.session_id, turn=2, text="I like tea")
    assert [row.text for row in Fact.objects.of(principal).current()] == ["Lives in York"]
    assert Fact.objects.of(principal).get(text="Lives in Leds").retracted


def test_a_fact_that_replaced_nothing_is_marked_as_never_true_by_the_undo(principal: Principal) -> None:
    turn = said(principal, "I live in Leds")
    home(principal, "Leds", turn)
    assert undo_saved(principal, session_id=turn.session_id, turn=1) == 1
    fact = Fact.objects.of(principal).get()
    assert (fact.status, fact.retracted) == (Status.SUPERSEDED, True)
    with pytest.raises(Conflict):
        undo_saved(principal, session_id=turn.session_id, turn=1)


def test_the_same_edit_sent_twice_is_made_once(principal: Principal) -> None:
    first, chosen = said(principal, "I live in Leds"), uuid.uuid4()
    place: dict[str, Any] = {"session_id": first.session_id, "turn": 1, "text": "I live in Leeds", "turn_id": chosen}
    assert [edit_turn(principal, **place).created for _ in range(2)] == [True, False]
    with pytest.raises(NotFound):  # turn 1 is replaced: only the newest wording can be edited
        edit_turn(principal, **place | {"turn_id": uuid.uuid4()})
    assert shown(principal, first.session_id) == [(2, "I live in Leeds")]


def test_another_answer_replaces_the_first_which_stays_stored(principal: Principal) -> None:
    turn = said(principal, "Where do I live?", "In York.")
    again = answer_again(principal, session_id=turn.session_id, turn=1)
    finish_turn(principal, session_id=turn.session_id, turn=1, text="In Leeds.", after=again.message_id)
    view = find_turn(principal, turn.session_id, 1)
    assert (view.text, view.answer, view.steps) == ("Where do I live?", "In Leeds.", ())
    whole = find_turn(principal, turn.session_id, 1, replaced=True)
    assert (whole.answer, [step.text for step in whole.steps]) == ("In Leeds.", ["In York."])


def test_only_the_last_turn_is_answered_again(principal: Principal) -> None:
    turn = said(principal, "Where do I live?")
    said(principal, "And my sister?", session_id=turn.session_id)
    with pytest.raises(Conflict):
        answer_again(principal, session_id=turn.session_id, turn=1)


def test_an_erased_message_is_neither_edited_nor_answered_again(principal: Principal) -> None:
    turn = said(principal, "I live in Leeds")
    assert turn.episode_id is not None
    forget(principal, kind=Kind.EPISODIC, memory_id=turn.episode_id)
    with pytest.raises(Conflict):
        edit_turn(principal, session_id=turn.session_id, turn=1, text="No")
    with pytest.raises(Conflict):
        answer_again(principal, session_id=turn.session_id, turn=1)


def test_erasing_words_empties_the_replaced_answer_too(principal: Principal) -> None:
    turn = said(principal, "I live in Leeds", "You live in Leeds.")
    answer_again(principal, session_id=turn.session_id, turn=1)
    assert turn.episode_id is not None
    forget(principal, kind=Kind.EPISODIC, memory_id=turn.episode_id)
    assert set(Message.objects.of(principal).values_list("text", flat=True)) == {""}


@pytest.mark.parametrize("whose", ["other_member", "other_tenant_member"])
def test_replacing_isolates_other_members(principal: Principal, whose: str, request: pytest.FixtureRequest) -> None:
    turn = said(principal, "I live in Leeds")
    other: Principal = request.getfixturevalue(whose)
    acts: tuple[Callable[..., object], ...] = (edit_turn, answer_again, undo_saved)
    for act in acts:
        more: dict[str, Any] = {"text": "Mine"} if act is edit_turn else {}
        with pytest.raises(NotFound):
            act(other, session_id=turn.session_id, turn=1, **more)
    assert shown(principal, turn.session_id) == [(1, "I live in Leeds")]


def test_an_agent_replaces_nothing(principal: Principal) -> None:
    turn = said(principal, "I live in Leeds")
    with pytest.raises(Forbidden):
        edit_turn(principal.as_agent(), session_id=turn.session_id, turn=1, text="No")


@pytest.mark.parametrize("knows_the_last", [True, False])
def test_a_turn_that_was_replaced_while_it_was_answered_gets_no_answer(
    principal: Principal, *, knows_the_last: bool
) -> None:
    turn = begin_turn(principal, text="I live in Leds")
    edit_turn(principal, session_id=turn.session_id, turn=1, text="I live in Leeds")
    after = turn.message_id if knows_the_last else None
    with pytest.raises(Conflict):
        finish_turn(principal, session_id=turn.session_id, turn=1, text="In Leds.", after=after)
    assert not Message.objects.of(principal).filter(turn=1, step__gt=0).exists()
