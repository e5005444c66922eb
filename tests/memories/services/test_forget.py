"""Forget: afterwards the text is nowhere, the chain has no hole, and the audit still verifies."""

from __future__ import annotations

import uuid

import pytest
from django.db import connection

from memories.errors import NotFound
from memories.models import Episode, Fact, Message, MessageState, OutboxEntry, RecallTrace, Session
from memories.recall import recording
from memories.recall.pipeline import recall
from memories.selectors.history.chains import verify_chains
from memories.selectors.sessions import transcript
from memories.services.erasure.forget import forget, forget_session, preview_forget
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import supersede
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.services.sessions.turns import add_tool_result, add_tool_step, begin_turn, finish_turn
from memories.types import Kind
from tenants.audit.chain import verify_all
from tenants.principal import Principal

pytestmark = pytest.mark.django_db

CANARY = "zanzibar"


def database_text() -> str:
    """Every value of every table, as text."""
    with connection.cursor() as cursor:
        parts = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608  # names come from the schema
            parts += [str(row) for row in cursor.fetchall()]
    return "\n".join(parts).casefold()


def test_a_forgotten_fact_leaves_no_text(principal: Principal) -> None:
    turn = begin_turn(principal, text="please note it")
    fact = remember_fact(principal, text=f"Was born in {CANARY}", key=f"{CANARY}_key", reason=CANARY)
    call = {"id": "c1", "name": "write_memory", "arguments": {"text": f"Was born in {CANARY}"}}
    add_tool_step(principal, session_id=turn.session_id, turn=1, tool_calls=[call])
    add_tool_result(principal, session_id=turn.session_id, turn=1, tool_call_id="c1", written=[fact])
    finish_turn(principal, session_id=turn.session_id, turn=1, text=f"Noted: born in {CANARY}.")
    outcome = forget(principal, kind=Kind.SEMANTIC, memory_id=fact.memory_id)
    assert CANARY not in database_text()
    assert outcome.redacted_messages == 2
    assert all(report.ok for report in verify_all())


def test_a_forgotten_episode_leaves_no_text(principal: Principal) -> None:
    turn = begin_turn(principal, text=f"I was born in {CANARY}")
    finish_turn(principal, session_id=turn.session_id, turn=1, text=f"{CANARY} sounds lovely.")
    assert turn.episode_id
    forget(principal, kind=Kind.EPISODIC, memory_id=turn.episode_id)
    assert CANARY not in database_text()
    (view,) = transcript(principal, turn.session_id)
    assert (view.state, view.answer_state) == (MessageState.REDACTED, MessageState.REDACTED)
    assert Session.objects.get().title == ""


def test_the_index_is_told_with_a_higher_version(principal: Principal) -> None:
    fact = remember_fact(principal, text="Likes tea").memory_id
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact)
    entry = OutboxEntry.objects.filter(memory_id=fact).latest("id")
    assert (entry.operation, entry.version) == ("delete", 2)


def test_cascade_takes_what_only_that_episode_supported(principal: Principal) -> None:
    session = start_session(principal)
    one, two = (remember_episode(principal, session_id=session.pk, text=t).memory_id for t in ("one", "two"))
    only = remember_fact(principal, text="Only one", supporting_episode_ids=[one]).memory_id
    both = remember_fact(principal, text="Both", supporting_episode_ids=[one, two]).memory_id
    preview = preview_forget(principal, kind=Kind.EPISODIC, memory_id=one, cascade=True)
    outcome = forget(principal, kind=Kind.EPISODIC, memory_id=one, cascade=True)
    assert {row[1] for row in preview.rows} == {pk for _, pk in outcome.erased} == {one, only}
    assert Fact.objects.get().pk == both


def test_sources_takes_the_words_a_fact_was_learned_from(principal: Principal) -> None:
    session = start_session(principal)
    episode = remember_episode(principal, session_id=session.pk, text="I like tea").memory_id
    fact = remember_fact(principal, text="Likes tea", supporting_episode_ids=[episode]).memory_id
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact, sources=True)
    assert not Episode.objects.exists()


def test_a_chain_closes_over_a_forgotten_link(principal: Principal) -> None:
    first = remember_fact(principal, text="A").memory_id
    middle = supersede(principal, old_ids=[first], text="B").memory_id
    last = supersede(principal, old_ids=[middle], text="C").memory_id
    forget(principal, kind=Kind.SEMANTIC, memory_id=middle)
    assert Fact.objects.get(pk=first).superseded_by_id == last
    assert verify_chains().ok


def test_forgetting_the_head_leaves_its_predecessor_in_the_history(principal: Principal) -> None:
    first = remember_fact(principal, text="A").memory_id
    head = supersede(principal, old_ids=[first], text="B").memory_id
    forget(principal, kind=Kind.SEMANTIC, memory_id=head)
    assert Fact.objects.get().superseded_by_id is None
    assert verify_chains().ok


def test_a_forgotten_session_takes_its_episodes(principal: Principal) -> None:
    turn = begin_turn(principal, text=f"I was born in {CANARY}")
    finish_turn(principal, session_id=turn.session_id, turn=1, text="ok")
    forget_session(principal, session_id=turn.session_id)
    assert not Message.objects.exists()
    assert not Episode.objects.exists()
    assert CANARY not in database_text()


def test_a_question_that_no_message_shows_goes_with_what_it_names(principal: Principal) -> None:
    fact = remember_fact(principal, text=f"Was born in {CANARY}").memory_id
    asked = recall(principal, f"When were you in {CANARY}?")
    other = recall(principal, "Where are you from?")
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact)
    assert CANARY not in database_text()
    assert RecallTrace.objects.get(pk=asked.trace_id).query == ""
    assert RecallTrace.objects.get(pk=other.trace_id).query == "Where are you from?"


def test_a_forgotten_episode_takes_the_recalls_that_its_turn_did_not_show(principal: Principal) -> None:
    turn = begin_turn(principal, text=f"I was born in {CANARY}")
    recall(principal, turn.text, session_id=turn.session_id)
    assert turn.episode_id
    forget(principal, kind=Kind.EPISODIC, memory_id=turn.episode_id)
    assert CANARY not in database_text()


@pytest.mark.parametrize("whole_session", [False, True])
def test_a_recall_that_is_recorded_after_its_turn_was_forgotten_keeps_no_words(
    principal: Principal, monkeypatch: pytest.MonkeyPatch, whole_session: bool
) -> None:
    late: list[recording.Record] = []
    turn = begin_turn(principal, text=f"I was born in {CANARY}")
    with monkeypatch.context() as patch:
        patch.setattr(recording, "record", late.append)
        recall(principal, turn.text, session_id=turn.session_id)
    assert turn.episode_id
    if whole_session:
        forget_session(principal, session_id=turn.session_id)
    else:
        forget(principal, kind=Kind.EPISODIC, memory_id=turn.episode_id)
    for entry in late:
        recording.record(entry)
    assert late
    assert CANARY not in database_text()
    assert RecallTrace.objects.exists() is not whole_session


@pytest.mark.parametrize("stranger", ["other_member", "other_tenant_member"])
def test_forget_isolates_others(principal: Principal, stranger: str, request: pytest.FixtureRequest) -> None:
    them = request.getfixturevalue(stranger)
    theirs = remember_fact(them, text="Theirs").memory_id
    session = start_session(them).pk
    for unknown in (theirs, uuid.uuid4()):
        with pytest.raises(NotFound, match="No such memory"):
            forget(principal, kind=Kind.SEMANTIC, memory_id=unknown)
        with pytest.raises(NotFound):
            preview_forget(principal, kind=Kind.SEMANTIC, memory_id=unknown)
    with pytest.raises(NotFound):
        forget_session(principal, session_id=session)
    assert Fact.objects.get().pk == theirs
