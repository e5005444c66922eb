"""A turn against an endpoint that misbehaves: one clear failure, what was said and streamed is kept, no key is seen."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

import pytest
from django.core.serializers import serialize

from memories.agent.events import (
    Event,
    MemoryWritten,
    StageBegun,
    TextDelta,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    to_json,
)
from memories.agent.loop import retry_turn, run_turn
from memories.llm.completions import OpenAIChat
from memories.models import Episode, Fact, Message, MessageState
from tenants.models import AuditEvent
from tenants.principal import Principal
from tests.memories.agent.conftest import only_turn, text_of
from tests.openai_server import (
    KEY,
    Call,
    Cut,
    OpenAIServer,
    Refuse,
    Reply,
    Say,
    Stall,
    client_at,
    openai_server,
    patience,
    until,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("remembered")]

ANSWER = Say(["We ", "shall ", "see."])
WRITE = Call([("write_memory", '{"text": "Likes tea"}')])


@contextmanager
def model_at(*script: Reply, stall_seconds: float = 0.0) -> Iterator[tuple[OpenAIChat, OpenAIServer]]:
    stall_seconds = stall_seconds or patience(*script)
    options = {"stall_seconds": stall_seconds, "answer_seconds": 10 * stall_seconds}
    with openai_server(*script) as server, client_at(server.base_url, OpenAIChat, **options) as model:
        yield model, server


def say(principal: Principal, *script: Reply) -> list[Event]:
    with model_at(*script) as (model, _):
        return list(run_turn(principal, text="I like tea", model=model))


FAULTS = [
    pytest.param([Refuse(401, message=f"wrong {KEY}")], "", False, id="wrong key"),
    pytest.param([Refuse(500)], "", True, id="server error"),
    pytest.param([Stall(ANSWER, 3)], "We shall ", True, id="stalled in the middle"),
    pytest.param([Cut(ANSWER, until(ANSWER, b"see."))], "We shall ", True, id="cut in the middle"),
    pytest.param([Say([])], "", True, id="empty"),
    pytest.param([Say(["No."], finish="content_filter")], "No.", False, id="filtered"),
    pytest.param([Say(["x" * 20_000] * 2)], "x" * 20_000, True, id="over-long"),
    pytest.param([WRITE], "", True, id="endless tool calls"),
    pytest.param([WRITE, Refuse(500)], "", True, id="an error after a tool"),
    pytest.param([Cut(WRITE, until(WRITE, b"tea"))], "", True, id="cut in a tool call"),
]


@pytest.mark.parametrize(("script", "streamed", "retryable"), FAULTS)
def test_a_fault_ends_the_turn_once_keeps_what_was_said_and_shows_no_secret(
    principal: Principal, script: Sequence[Reply], streamed: str, retryable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG", logger="memories"):
        events = say(principal, *script)
    (failed,) = (event for event in events if isinstance(event, TurnFailed | TurnFinished))
    assert isinstance(events[0], TurnStarted) and events[-1] is failed
    assert isinstance(failed, TurnFailed)
    view = only_turn(principal)
    assert (view.answer, view.answer_state, view.error) == (streamed, MessageState.FAILED, failed.message)
    assert (text_of(events), failed.retryable) == (streamed, retryable)
    assert Episode.objects.get().text == "I like tea"
    shows_no_secret(events, caplog)


def shows_no_secret(events: Sequence[Event], caplog: pytest.LogCaptureFixture) -> None:
    """Neither the key nor the address is in what was told, stored or logged."""
    told = json.dumps([to_json(event) for event in events])
    stored = serialize("json", [*Message.objects.all(), *AuditEvent.objects.all(), *Episode.objects.all()])
    for seen in (told, stored, "\n".join(record.getMessage() for record in caplog.records)):
        assert KEY not in seen and "127.0.0.1" not in seen


def test_a_retry_after_a_fault_answers_and_makes_no_second_episode(principal: Principal) -> None:
    say(principal, Cut(ANSWER, until(ANSWER, b"see.")))
    view = only_turn(principal)
    with model_at(ANSWER) as (model, _):
        assert text_of(retry_turn(principal, session_id=view.session_id, turn=1, model=model)) == "We shall see."
    view = only_turn(principal)
    assert (view.answer, view.error, len(view.steps)) == ("We shall see.", "", 2)
    assert Episode.objects.count() == 1


@pytest.mark.parametrize("size", range(0, until(ANSWER, b"[DONE]"), 61))
def test_a_stream_cut_at_any_byte_leaves_no_half_message(principal: Principal, size: int) -> None:
    events = say(principal, Cut(ANSWER, size))
    view = only_turn(principal)
    whole = isinstance(events[-1], TurnFinished)
    assert view.answer_state is (MessageState.COMPLETE if whole else MessageState.FAILED)
    assert view.answer == text_of(events)
    assert "We shall see.".startswith(view.answer)


@pytest.mark.parametrize("size", range(0, until(WRITE, b'"usage"'), 97))
def test_a_tool_call_cut_at_any_byte_writes_all_or_nothing(principal: Principal, size: int) -> None:
    events = say(principal, Cut(WRITE, size), ANSWER)
    written = [event for event in events if isinstance(event, MemoryWritten)]
    assert [fact.text for fact in Fact.objects.all()] == ["Likes tea"] * len(written)
    assert isinstance(events[-1], TurnFinished if written else TurnFailed)


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param([("write_memory", "{not json")], id="no JSON"),
        pytest.param([("write_memory", '["text"]')], id="no object"),
        pytest.param([("write_memory", "[" * 5_000)], id="deep"),
        pytest.param([("write_memory", '{"text": "\\u0000\\ud800"}')], id="unstorable"),
        pytest.param([("write_memory", '{"text": "x", "user_id": "another"}')], id="another owner"),
        pytest.param([("drop_tables", "{}")], id="unknown tool"),
        pytest.param([("", "")], id="no name"),
    ],
)
def test_nonsense_calls_are_refused_in_words_and_the_answer_goes_on(
    principal: Principal, calls: list[tuple[str, str]]
) -> None:
    with model_at(Call(calls), ANSWER) as (model, server):
        events = list(run_turn(principal, text="I like tea", model=model))
    assert isinstance(events[-1], TurnFinished)
    assert text_of(events) == "We shall see."
    answered = json.loads(server.requests[1]["messages"][-1]["content"])
    assert answered.get("error") or answered["result"] == "created"
    assert "\x00" not in json.dumps(list(Message.objects.values_list("tool_calls", flat=True)), ensure_ascii=False)


def test_stopping_in_the_middle_ends_the_call_and_keeps_the_words(principal: Principal) -> None:
    with model_at(Stall(ANSWER, 3), stall_seconds=60) as (model, _):
        events = run_turn(principal, text="I like tea", model=model)
        given = [next(event for event in events if isinstance(event, TextDelta)) for _ in range(2)]
        started = time.monotonic()
        events.close()
        assert time.monotonic() - started < 30
    view = only_turn(principal)
    assert (view.answer, view.answer_state) == (text_of(given), MessageState.CUT_OFF)


def test_the_stages_name_what_is_happening(principal: Principal) -> None:
    events = say(principal, WRITE, Call([("recall_memory", '{"query": "tea"}')]), ANSWER)
    stages = [event.doing.value for event in events if isinstance(event, StageBegun)]
    stages = [stage for stage, _ in groupby(stages)]  # a model that takes its time is told of again
    assert stages == ["recalling", "thinking", "writing", "thinking", "recalling", "thinking"]
