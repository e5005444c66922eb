"""A turn from the words to the answer: what is stored, what is told, and in which order."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from memories.agent.events import (
    ForgetProposed,
    MemoriesRecalled,
    MemoryWritten,
    Notice,
    NoticeKind,
    TurnFinished,
    TurnStarted,
    type_of,
)
from memories.agent.loop import retry_turn, run_turn
from memories.constants import AUTOMATIC_RECALL_TOKENS
from memories.errors import NotFound
from memories.llm.base import ChatMessage, Finished, Output, StopReason, TextPiece, ToolCall
from memories.llm.tokens import estimated
from memories.models import Episode, Fact, Message, MessageState
from memories.selectors.sessions import transcript
from memories.services.facts.remember import remember_fact
from memories.services.sessions.sessions import start_session
from memories.types import Kind, Status
from tenants.models import AuditEvent
from tenants.principal import Principal
from tests.memories.agent.conftest import (
    FakeRecall,
    ScriptedModel,
    call,
    dispose,
    failure,
    only_turn,
    recalled,
    say,
    started_of,
    text_of,
)

pytestmark = pytest.mark.django_db


def test_a_plain_turn_tells_its_events_in_order(principal: Principal, remembered: FakeRecall) -> None:
    events = list(run_turn(principal, text="Hello", model=ScriptedModel(say("Hi", " there"))))
    assert [type_of(event) for event in events] == [
        "turn_started", "stage", "memories_recalled", "stage", "text_delta", "text_delta", "turn_finished",
    ]  # fmt: skip
    view = only_turn(principal)
    assert (view.answer, view.answer_state) == ("Hi there", MessageState.COMPLETE)


def test_what_was_said_is_stored_even_if_nobody_reads_the_answer(principal: Principal) -> None:
    run_turn(principal, text="Hello", model=ScriptedModel(say("Hi")))
    assert Episode.objects.get().text == "Hello"


def test_the_recall_is_on_the_words_said_and_not_on_this_turn(principal: Principal, remembered: FakeRecall) -> None:
    remembered.items = [recalled(f"Said {number}", Kind.EPISODIC) for number in range(5)]
    started, *_ = run_turn(principal, text=" Where do I live? ", model=ScriptedModel(say("?")))
    assert isinstance(started, TurnStarted)
    asked, settled = remembered.asked
    assert settled["types"] == (Kind.SEMANTIC, Kind.PROCEDURAL)
    assert asked["query"] == " Where do I live? "
    assert asked["exclude_episode_ids"] == (started.episode_id,)
    assert (asked["session_id"], asked["limit"]) == (started.session_id, 5)
    assert settled["token_budget"] < asked["token_budget"] < AUTOMATIC_RECALL_TOKENS


def test_an_answer_says_what_memories_took_of_its_prompt(principal: Principal, remembered: FakeRecall) -> None:
    remember_fact(principal, text="Is allergic to peanuts", pinned=True)
    remembered.items = [recalled("Lives in Edinburgh", key="home_city")]
    model = ScriptedModel(say("In Edinburgh."))
    list(run_turn(principal, text="Where do I live?", model=model))
    told = [message["content"] for message in model.sent[0] if message["role"] == "tool"]
    assert len(told) > 1
    answer = Message.objects.get(role="assistant", tool_calls=[])
    assert answer.memory_tokens == sum(map(estimated, told))
    assert Message.objects.get(step=0).memory_tokens is None


def test_a_fact_is_recalled_beside_many_sentences(principal: Principal, remembered: FakeRecall) -> None:
    fact = recalled("Lives in Edinburgh")
    said = [recalled(f"I live for number {number}", Kind.EPISODIC) for number in range(5)]
    remembered.by_types = {(Kind.SEMANTIC, Kind.PROCEDURAL): [fact]}
    remembered.items = said
    model = ScriptedModel(say("In Edinburgh."))
    *_, finished = run_turn(principal, text="Where do I live?", model=model)
    system, user, called, first, second = model.sent[0]
    assert (system["role"], user["content"]) == ("system", "Where do I live?")
    assert [call["id"] for call in called["tool_calls"]] == [first["tool_call_id"], second["tool_call_id"]]
    assert json.loads(second["content"])["memories"][0]["text"] == "Lives in Edinburgh"
    assert isinstance(finished, TurnFinished)
    assert finished.used == 1, "the answer is made from the fact alone"


def test_a_written_fact_is_told_and_rests_on_what_was_said(principal: Principal, remembered: FakeRecall) -> None:
    model = ScriptedModel(call("write_memory", text="Lives in Oslo", key="home_city"), say("Noted."))
    (written,) = (e for e in run_turn(principal, text="I moved to Oslo", model=model) if isinstance(e, MemoryWritten))
    fact = Fact.objects.get()
    assert (written.text, written.outcome.memory_id) == ("Lives in Oslo", fact.pk)
    assert fact.supporting_episodes.get().text == "I moved to Oslo"
    assert AuditEvent.objects.get(action="fact.created").actor_kind == "agent"
    assert json.loads(model.sent[1][-1]["content"])["result"] == "created"


def test_a_replaced_fact_is_told_with_its_words(principal: Principal, remembered: FakeRecall) -> None:
    old = remember_fact(principal, text="Lives in Bristol", key="home_city")
    model = ScriptedModel(call("write_memory", text="Lives in Oslo", supersedes_ids=[old.memory_id]), say("Noted."))
    events = list(run_turn(principal, text="I moved to Oslo", model=model))
    (written,) = (event for event in events if isinstance(event, MemoryWritten))
    assert written.superseded == ((old.memory_id, "Lives in Bristol"),)
    assert Fact.objects.get(pk=old.memory_id).status == Status.SUPERSEDED
    assert isinstance(events[-1], TurnFinished)
    assert (events[-1].wrote, events[-1].replaced) == (1, 1)


def test_text_around_tool_calls_is_one_answer(principal: Principal, remembered: FakeRecall) -> None:
    looking: list[Output] = [
        TextPiece("Let me look."),
        ToolCall("recall_memory", '{"query": "tea"}'),
        Finished(StopReason.TOOL_CALLS),
    ]
    events = list(run_turn(principal, text="Tea?", model=ScriptedModel(looking, say("Green", " tea."))))
    assert text_of(events) == only_turn(principal).answer == "Let me look.\n\nGreen tea."
    assert [event.automatic for event in events if isinstance(event, MemoriesRecalled)] == [True, False]


def test_too_many_calls_at_once_are_not_all_made(principal: Principal, remembered: FakeRecall) -> None:
    many: list[Output] = [ToolCall("recall_memory", '{"query": "tea"}')] * 11
    model = ScriptedModel([*many, Finished(StopReason.TOOL_CALLS)], say("Done."))
    list(run_turn(principal, text="Tea?", model=model))
    assert [asked["query"] for asked in remembered.asked if "as_of" in asked] == ["tea"] * 8
    assert "Too many calls" in model.sent[1][-1]["content"]


def test_a_fault_of_our_own_is_one_plain_sentence(
    principal: Principal, remembered: FakeRecall, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Sequence[ChatMessage]) -> list[Output]:
        raise RuntimeError("the secret of the house")

    failed = failure(list(run_turn(principal, text="Hello", model=ScriptedModel(broken))))
    assert failed.retryable
    assert "secret" not in failed.message + only_turn(principal).error
    assert "RuntimeError" in caplog.text


def test_a_degraded_recall_is_told_once_and_the_answer_goes_on(principal: Principal, remembered: FakeRecall) -> None:
    remembered.degraded = True
    model = ScriptedModel(call("recall_memory", query="tea"), say("Hi"))
    events = list(run_turn(principal, text="Hello", model=model))
    assert [event.kind for event in events if isinstance(event, Notice)] == [NoticeKind.DEGRADED]
    assert only_turn(principal).degraded
    assert text_of(events) == "Hi"


def test_a_request_to_forget_proposes_and_its_words_go_when_the_member_confirms(
    principal: Principal, remembered: FakeRecall
) -> None:
    writes = ScriptedModel(call("write_memory", text="Lives in Bristol"), say("Ok"))
    list(run_turn(principal, text="I live in Bristol", model=writes))
    fact = Fact.objects.get()
    model = ScriptedModel(call("forget_memory", memory_ids=[fact.pk]), say("Shall I forget that you live in Bristol?"))
    events = list(run_turn(principal, text="Forget that I live in Bristol", model=model))
    (proposed,) = (event for event in events if isinstance(event, ForgetProposed))
    assert fact in proposed.goes and Fact.objects.current().exists()
    dispose(principal)
    assert not Fact.objects.exists() and not Episode.objects.exists()
    assert "Bristol" not in json.dumps(list(Message.objects.values("text", "tool_calls", "error")))
    (view,) = transcript(principal, started_of(events).session_id)
    assert (view.state, view.answer_state) == (MessageState.REDACTED, MessageState.REDACTED)


def test_run_turn_isolates_others(principal: Principal, remembered: FakeRecall, stranger: Principal) -> None:
    session = start_session(stranger).pk
    with pytest.raises(NotFound):
        run_turn(principal, text="Hello", session_id=session)
    with pytest.raises(NotFound):
        retry_turn(principal, session_id=session, turn=1)
