"""Turns: what was said is stored once, with its episode, whatever happens to the answer."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from memories.errors import Conflict, InvalidInput, NotFound
from memories.models import Episode, Message, MessageState, Relation, Session
from memories.selectors.sessions import get_session, list_sessions, transcript
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.sessions.turns import add_tool_result, add_tool_step, begin_turn, clear_answer, finish_turn
from memories.types import Kind
from tenants.principal import Principal

pytestmark = pytest.mark.django_db


def test_a_turn_is_a_message_and_an_episode(principal: Principal) -> None:
    turn = begin_turn(principal, text="  We left Bristol\n")
    episode = Episode.objects.get()
    assert episode.pk == turn.episode_id
    assert episode.text == Message.objects.get().text == "  We left Bristol\n"
    assert (episode.speaker, episode.sequence) == (principal.speaker, 1)
    assert Session.objects.get().title == "We left Bristol"


def test_the_same_turn_id_is_stored_once_and_with_another_text_is_a_conflict(principal: Principal) -> None:
    chosen = uuid.uuid4()
    first, again = (begin_turn(principal, text="Hello", turn_id=chosen) for _ in range(2))
    assert (first.created, again.created) == (True, False)
    assert first.episode_id == again.episode_id
    with pytest.raises(Conflict):
        begin_turn(principal, text="Goodbye", turn_id=chosen)
    assert Episode.objects.count() == 1


def test_a_turn_id_of_another_member_means_nothing(principal: Principal, other_member: Principal) -> None:
    chosen = uuid.uuid4()
    begin_turn(other_member, text="Hello", turn_id=chosen)
    assert begin_turn(principal, text="Other text", turn_id=chosen).created


def test_a_transcript_shows_memories_live(principal: Principal) -> None:
    turn = begin_turn(principal, text="I like tea")
    wrote = remember_fact(principal, text="Likes tea")
    add_tool_step(principal, session_id=turn.session_id, turn=1, tool_calls=[{"id": "c", "name": "w", "arguments": {}}])
    add_tool_result(principal, session_id=turn.session_id, turn=1, tool_call_id="c", written=[wrote])
    (view,) = transcript(principal, turn.session_id)
    (mention,) = view.having(Relation.WROTE)
    assert mention.memory is not None and mention.memory.text == "Likes tea"
    forget(principal, kind=Kind.SEMANTIC, memory_id=wrote.memory_id)
    (view,) = transcript(principal, turn.session_id)
    assert view.having(Relation.WROTE)[0].memory is None


def test_a_failed_answer_can_be_cleared_and_a_complete_one_cannot(principal: Principal) -> None:
    turn = begin_turn(principal, text="Hello")
    finish_turn(principal, session_id=turn.session_id, turn=1, text="", state=MessageState.FAILED, error="no model")
    assert clear_answer(principal, session_id=turn.session_id, turn=1).episode_id == turn.episode_id
    finish_turn(principal, session_id=turn.session_id, turn=1, text="Hi")
    with pytest.raises(Conflict):
        clear_answer(principal, session_id=turn.session_id, turn=1)


@pytest.mark.parametrize("text", ["", " \n", "\u200f\u200e", "a\x00b", "\udfff", "x" * 1_000_000])
def test_bad_text_stores_nothing(principal: Principal, text: str) -> None:
    with pytest.raises(InvalidInput, match="message"):
        begin_turn(principal, text=text)
    assert not Session.objects.exists()
    assert not Message.objects.exists()


def test_sessions_isolate_others(principal: Principal, stranger: Principal) -> None:
    theirs = begin_turn(stranger, text="private")
    for session_id in (theirs.session_id, uuid.uuid4()):
        with pytest.raises(NotFound, match="No such session"):
            begin_turn(principal, text="x", session_id=session_id)
        with pytest.raises(NotFound):
            get_session(principal, session_id)
        with pytest.raises(NotFound):
            clear_answer(principal, session_id=session_id, turn=1)
        with pytest.raises(NotFound):
            finish_turn(principal, session_id=session_id, turn=1, text="x")
    assert not list_sessions(principal)
    assert Episode.objects.count() == 1


def test_a_turn_can_be_told_afterwards(principal: Principal) -> None:
    said = datetime(2024, 5, 1, 9, 30, tzinfo=UTC)
    answered = said + timedelta(seconds=4)
    turn = begin_turn(principal, text="Hello", at=said)
    finish_turn(principal, session_id=turn.session_id, turn=turn.turn, text="Hi", at=answered)
    session = Session.objects.of(principal).get()
    assert Episode.objects.of(principal).get().happened_at == turn.message.created_at == said
    assert (session.created_at, session.last_turn_at) == (said, answered)
