"""Forget: afterwards the text is nowhere, the chain has no hole, and the audit still verifies."""

from __future__ import annotations

import uuid

import pytest

from memories.errors import NotFound
from memories.models import Fact, Message, MessageState, OutboxEntry, RecallTrace, Session
from memories.recall import recording
from memories.recall.pipeline import recall
from memories.selectors.sessions import transcript
from memories.services.erasure.forget import forget, forget_session
from memories.services.erasure.proposals import plan_forget
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import supersede
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.services.sessions.turns import add_tool_result, add_tool_step, begin_turn, finish_turn
from memories.types import Kind
from tenants.principal import Principal
from tests.memories.services.erasure.life import everything

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]

CANARY = "zanzibar"


def test_a_forgotten_fact_leaves_no_text(principal: Principal) -> None:
    turn = begin_turn(principal, text="please note it")
    fact = remember_fact(principal, text=f"Was born in {CANARY}", key=f"{CANARY}_key", reason=CANARY)
    call = {"id": "c1", "name": "write_memory", "arguments": {"text": f"Was born in {CANARY}"}}
    add_tool_step(principal, session_id=turn.session_id, turn=1, tool_calls=[call])
    add_tool_result(principal, session_id=turn.session_id, turn=1, tool_call_id="c1", written=[fact])
    finish_turn(principal, session_id=turn.session_id, turn=1, text=f"Noted: born in {CANARY}.")
    outcome = forget(principal, kind=Kind.SEMANTIC, memory_id=fact.memory_id)
    assert CANARY not in everything()
    assert outcome.redacted_messages == 2


def test_a_forgotten_episode_leaves_no_text(principal: Principal) -> None:
    turn = begin_turn(principal, text=f"I was born in {CANARY}")
    finish_turn(principal, session_id=turn.session_id, turn=1, text=f"{CANARY} sounds lovely.")
    assert turn.episode_id
    forget(principal, kind=Kind.EPISODIC, memory_id=turn.episode_id)
    assert CANARY not in everything()
    (view,) = transcript(principal, turn.session_id)
    assert (view.state, view.answer_state) == (MessageState.REDACTED, MessageState.REDACTED)
    assert Session.objects.get().title == ""


def test_the_index_is_told_with_a_higher_version(principal: Principal) -> None:
    fact = remember_fact(principal, text="Likes tea").memory_id
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact)
    entry = OutboxEntry.objects.filter(memory_id=fact).latest("id")
    assert (entry.operation, entry.version) == ("delete", 2)


@pytest.mark.parametrize("forgotten_before", [False, True])
def test_a_forgotten_session_counts_each_message_once(principal: Principal, *, forgotten_before: bool) -> None:
    turn = begin_turn(principal, text=f"I was born in {CANARY}")
    finish_turn(principal, session_id=turn.session_id, turn=1, text=f"{CANARY} sounds lovely.")
    if forgotten_before:
        assert turn.episode_id
        assert forget(principal, kind=Kind.EPISODIC, memory_id=turn.episode_id).redacted_messages == 2
    assert forget_session(principal, session_id=turn.session_id).redacted_messages == 2


def test_cascade_takes_what_only_that_episode_supported(principal: Principal) -> None:
    session = start_session(principal)
    one, two = (remember_episode(principal, session_id=session.pk, text=t).memory_id for t in ("one", "two"))
    only = remember_fact(principal, text="Only one", supporting_episode_ids=[one]).memory_id
    both = remember_fact(principal, text="Both", supporting_episode_ids=[one, two]).memory_id
    plan = plan_forget(principal, [(Kind.EPISODIC, one)])
    outcome = forget(principal, kind=Kind.EPISODIC, memory_id=one, cascade=True)
    assert {row.pk for row in plan.rows} == {pk for _, pk in outcome.erased} == {one, only}
    assert Fact.objects.get().pk == both


def test_a_chain_closes_over_a_forgotten_link_and_may_lose_its_head(principal: Principal) -> None:
    first = remember_fact(principal, text="A").memory_id
    middle = supersede(principal, old_ids=[first], text="B").memory_id
    last = supersede(principal, old_ids=[middle], text="C").memory_id
    forget(principal, kind=Kind.SEMANTIC, memory_id=middle)
    assert Fact.objects.get(pk=first).superseded_by_id == last
    forget(principal, kind=Kind.SEMANTIC, memory_id=last)
    assert Fact.objects.get().superseded_by_id is None


def test_a_question_that_no_message_shows_goes_with_what_it_names(principal: Principal) -> None:
    fact = remember_fact(principal, text=f"Was born in {CANARY}").memory_id
    asked = recall(principal, f"When were you in {CANARY}?")
    other = recall(principal, "Where are you from?")
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact)
    assert CANARY not in everything()
    assert RecallTrace.objects.get(pk=asked.trace_id).query == ""
    assert RecallTrace.objects.get(pk=other.trace_id).query == "Where are you from?"


@pytest.mark.parametrize("whole_session", [False, True])
def test_what_a_turn_recalled_before_or_is_recorded_after_it_was_forgotten_keeps_no_words(
    principal: Principal, monkeypatch: pytest.MonkeyPatch, whole_session: bool
) -> None:
    late: list[recording.Record] = []
    turn = begin_turn(principal, text=f"I was born in {CANARY}")
    recall(principal, turn.text, session_id=turn.session_id)
    with monkeypatch.context() as patch:
        patch.setattr(recording, "record", late.append)
        recall(principal, turn.text, session_id=turn.session_id)
    assert turn.episode_id and late
    if whole_session:
        forget_session(principal, session_id=turn.session_id)
    else:
        forget(principal, kind=Kind.EPISODIC, memory_id=turn.episode_id)
    for entry in late:
        recording.record(entry)
    assert CANARY not in everything()
    assert (RecallTrace.objects.exists(), Message.objects.exists()) == (not whole_session, not whole_session)


def test_forget_isolates_others(principal: Principal, stranger: Principal) -> None:
    theirs = remember_fact(stranger, text="Theirs").memory_id
    session = start_session(stranger).pk
    for unknown in (theirs, uuid.uuid4()):
        with pytest.raises(NotFound, match="No such memory"):
            forget(principal, kind=Kind.SEMANTIC, memory_id=unknown)
        with pytest.raises(NotFound):
            plan_forget(principal, [(Kind.SEMANTIC, unknown)])
    with pytest.raises(NotFound):
        forget_session(principal, session_id=session)
    assert Fact.objects.get().pk == theirs
