"""What is forgotten leaves the working memory and the entries of sessions too."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from memories.models import Fact, Message, Session, SessionEntry
from memories.selectors.session_memory import working_memory
from memories.services.erasure.forget import forget, forget_session
from memories.services.facts.remember import remember_fact
from memories.services.sessions.sessions import end_session, start_session
from memories.services.sessions.turns import add_tool_step, begin_turn, finish_turn
from memories.services.sessions.working_memory import note, observe, set_plan, set_task
from memories.types import Importance, Kind
from tenants.principal import Principal
from tests.memories.services.erasure.life import everything
from tests.memories.services.test_forget import CANARY

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]


def texts() -> set[str]:
    return set(SessionEntry.objects.values_list("text", flat=True))


def test_a_forgotten_turn_takes_all_that_was_noted_in_it(principal: Principal) -> None:
    first = begin_turn(principal, text="I must see somebody about it")
    session = first.session_id
    set_task(principal, session_id=session, goal=f"Find {CANARY}", constraints=["Before noon"], turn=1)
    set_plan(principal, session_id=session, steps=["Ask around"], turn=1)
    finish_turn(principal, session_id=session, turn=1, text="Fine.")
    begin_turn(principal, text="Go on", session_id=session)
    observe(principal, session_id=session, text="It is open on Mondays", turn=2)
    note(principal, session_id=session, text=f"{CANARY} is far away", turn=2)
    assert first.episode_id
    forget(principal, kind=Kind.EPISODIC, memory_id=first.episode_id)
    slots = working_memory(principal, session)
    assert (slots.goal, slots.plan.steps, slots.constraints) == (None, (), ())
    assert texts() == {"It is open on Mondays", f"{CANARY} is far away"}  # the words erased did not name it


def test_what_repeats_a_forgotten_turn_goes_from_its_session(principal: Principal) -> None:
    turn = begin_turn(principal, text=f"I was born in {CANARY}")
    observe(principal, session_id=turn.session_id, text=f"Knows {CANARY} well")
    observe(principal, session_id=turn.session_id, text="Likes maps")
    assert turn.episode_id
    forget(principal, kind=Kind.EPISODIC, memory_id=turn.episode_id)
    assert CANARY not in everything()
    assert texts() == {"Likes maps"}
    assert [each.text for each in working_memory(principal, turn.session_id).observations] == ["Likes maps"]


def test_a_forgotten_fact_takes_the_entries_that_became_it_and_their_tool_calls(principal: Principal) -> None:
    turn = begin_turn(principal, text="Please look into it")
    where: dict[str, Any] = {"session_id": turn.session_id, "turn": 1}
    observe(principal, text=f"{CANARY} is closed", importance=Importance.CRITICAL, **where)
    call = {"id": "c", "name": "observe", "arguments": {"text": f"{CANARY} is closed"}}
    add_tool_step(principal, tool_calls=[call], **where)
    finish_turn(principal, text="Noted.", **where)
    observe(principal, session_id=turn.session_id, text=f"See {CANARY} again")
    end_session(principal, session_id=turn.session_id)
    fact = Fact.objects.get()
    outcome = forget(principal, kind=Kind.SEMANTIC, memory_id=fact.pk)
    assert outcome.redacted_messages == 1
    assert CANARY not in everything()
    assert Message.objects.get(step=2).text == "Noted."


def test_another_session_loses_what_holds_the_whole_wording(principal: Principal) -> None:
    session: UUID = start_session(principal).pk
    note(principal, session_id=session, text=f"Remember: was born in {CANARY}!")
    note(principal, session_id=session, text=f"A map of {CANARY}")
    fact = remember_fact(principal, text=f"Was born in {CANARY}").memory_id
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact)
    assert texts() == {f"A map of {CANARY}"}


def test_slots_of_an_unknown_shape_lose_what_is_forgotten(principal: Principal) -> None:
    turn = begin_turn(principal, text=f"I was born in {CANARY}")
    Session.objects.update(working_memory={"notes": [CANARY]})
    assert turn.episode_id
    forget(principal, kind=Kind.EPISODIC, memory_id=turn.episode_id)
    assert CANARY not in everything()


def test_a_forgotten_session_takes_what_it_taught_beside_its_turns(principal: Principal) -> None:
    session = start_session(principal).pk
    known = remember_fact(principal, text="Is closed on Mondays").memory_id
    observe(principal, session_id=session, text="Is closed on Mondays", importance=Importance.CRITICAL)
    end_session(principal, session_id=session, learned=[f"{CANARY} is far away"])
    assert Fact.objects.filter(text__contains=CANARY).exists()
    forget_session(principal, session_id=session, cascade=True)
    assert CANARY not in everything()
    assert [fact.pk for fact in Fact.objects.all()] == [known]


def test_forgetting_isolates_the_notes_of_others(principal: Principal, other_member: Principal) -> None:
    theirs = start_session(other_member).pk
    note(other_member, session_id=theirs, text=f"Was born in {CANARY}")
    fact = remember_fact(principal, text=f"Was born in {CANARY}").memory_id
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact)
    assert texts() == {f"Was born in {CANARY}"}
