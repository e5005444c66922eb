"""How a turn ends when it does not end well: left, killed, retried, or answered twice at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from types import ModuleType
from typing import ParamSpec, TypeVar
from uuid import uuid4

import pytest
from django.core.serializers import serialize
from django.db import connection

from memories.agent import answering, tools
from memories.agent.events import (
    Event,
    MemoriesRecalled,
    TextDelta,
    TurnFailed,
    TurnFinished,
)
from memories.agent.loop import retry_turn, run_turn
from memories.errors import Conflict
from memories.llm.base import Output
from memories.models import Episode, Fact, Message, MessageState, RecallTrace, Relation
from memories.selectors.sessions import transcript
from memories.services.erasure.forget import forget, forget_session
from memories.services.facts.remember import remember_fact
from memories.services.sessions.sessions import start_session
from memories.types import Kind
from tenants.models import Membership
from tenants.principal import Principal
from tenants.services import deactivate
from tests.memories.agent.conftest import (
    FakeRecall,
    ScriptedModel,
    call,
    failure,
    only_turn,
    recalled,
    say,
    started_of,
    text_of,
)

pytestmark = pytest.mark.django_db

P = ParamSpec("P")
R = TypeVar("R")


@pytest.mark.parametrize("number", range(1, 12))
def test_closing_at_any_event_keeps_exactly_what_was_given_out(
    principal: Principal, remembered: FakeRecall, number: int
) -> None:
    model = ScriptedModel(call("write_memory", text="Likes tea"), say("A", "B", "C"))
    events = run_turn(principal, text="I like tea", model=model)
    given = [next(events) for _ in range(number)]
    events.close()
    view = only_turn(principal)
    ended = isinstance(given[-1], TurnFinished)
    assert view.answer == text_of(given)
    assert view.answer_state is (MessageState.COMPLETE if ended else MessageState.CUT_OFF)
    assert Episode.objects.count() == 1


@pytest.mark.parametrize("ends", ["membership", "tenant", "user"])
def test_a_member_deactivated_during_a_turn_reads_and_writes_no_more(
    membership: Membership, principal: Principal, remembered: FakeRecall, ends: str
) -> None:
    remember_fact(principal, text="Was born in Zanzibar")
    model = ScriptedModel(call("recall_memory", query="born"), call("write_memory", text="Likes tea"), say("Zanzibar"))
    events = run_turn(principal, text="I like tea", model=model)
    while not isinstance(next(events), MemoriesRecalled):
        pass
    asked = len(remembered.asked)
    deactivate(membership if ends == "membership" else getattr(membership, ends))
    given = list(events)
    assert isinstance(given[-1], TurnFailed)
    assert "Zanzibar" not in text_of(given) and len(remembered.asked) == asked
    assert Fact.objects.unscoped("test").count() == 1


@pytest.mark.parametrize("kind", [Kind.EPISODIC, Kind.SEMANTIC])
def test_what_is_forgotten_during_its_answer_is_not_repeated_by_it(
    principal: Principal, remembered: FakeRecall, kind: Kind
) -> None:
    fact = remember_fact(principal, text="Was born in Zanzibar")
    remembered.items = [recalled("Was born in Zanzibar", memory_id=fact.memory_id)]
    events = run_turn(principal, text="Zanzibar, remember?", model=ScriptedModel(say("Born in ", "Zanzibar.")))
    started = started_of([next(events)])
    while not isinstance(next(events), TextDelta):
        pass
    memory_id = fact.memory_id if kind is Kind.SEMANTIC else started.episode_id
    assert memory_id
    forget(principal, kind=kind, memory_id=memory_id)
    assert isinstance(list(events)[-1], TurnFinished)
    view = only_turn(principal)
    assert (view.answer, view.answer_state) == ("", MessageState.REDACTED)


def test_what_a_tool_finds_after_its_turn_was_forgotten_keeps_no_words(
    principal: Principal, remembered: FakeRecall
) -> None:
    events = run_turn(
        principal, text="I was born in Zanzibar", model=ScriptedModel(call("recall_memory", query="Zanzibar"))
    )
    started = started_of([next(events)])
    assert started.episode_id
    forget(principal, kind=Kind.EPISODIC, memory_id=started.episode_id)
    list(events)
    assert "Zanzibar" not in serialize("json", [*Message.objects.all(), *RecallTrace.objects.exclude(messages=None)])


@pytest.mark.parametrize("kind", [Kind.EPISODIC, Kind.SEMANTIC])
def test_what_is_erased_while_the_model_answers_is_not_written_again_by_its_tools(
    principal: Principal, remembered: FakeRecall, kind: Kind
) -> None:
    fact = remember_fact(principal, text="Was born in Zanzibar").memory_id
    remembered.items = [recalled("Was born in Zanzibar", memory_id=fact)]

    def erase_and_write(_: object) -> Sequence[Output]:
        episode = Episode.objects.of(principal).get().pk
        forget(principal, kind=kind, memory_id=fact if kind is Kind.SEMANTIC else episode)
        return call("write_memory", text="Was born in Zanzibar")

    events = list(run_turn(principal, text="Zanzibar, remember?", model=ScriptedModel(erase_and_write, say("Ok"))))
    assert failure(events).message == answering.ERASED_MEANWHILE
    assert Fact.objects.count() == (1 if kind is Kind.EPISODIC else 0)
    assert "Zanzibar" not in serialize("json", Message.objects.filter(role="assistant"))


class Killed(BaseException):
    """What no code handles, like a signal."""


@pytest.mark.parametrize("again", [1, 2])
@pytest.mark.parametrize(
    ("module", "name"),
    [
        (answering, "conversation"),
        (tools, "recall_and_keep"),
        (tools, "remember_fact"),
        (answering, "extend_turn"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_killed_turn_can_be_answered_and_says_nothing_twice(
    principal: Principal, remembered: FakeRecall, module: ModuleType, name: str, again: int
) -> None:
    chosen = uuid4()
    writing = call("write_memory", text="Likes tea")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, killing(getattr(module, name), at=again))
        with suppress(Killed):
            list(run_turn(principal, text="I like tea", turn_id=chosen, model=ScriptedModel(writing, say("Noted."))))
    assert only_turn(principal).answer_state in (None, MessageState.COMPLETE)
    events = list(run_turn(principal, text="I like tea", turn_id=chosen, model=ScriptedModel(writing, say("Noted."))))
    assert text_of(events) == only_turn(principal).answer == "Noted."
    assert (Episode.objects.count(), Fact.objects.count()) == (1, 1)


def killing(function: Callable[P, R], *, at: int) -> Callable[P, R]:
    """`function`, whose call number `at` the process does not survive."""
    calls = count(1)

    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        if next(calls) == at:
            raise Killed
        return function(*args, **kwargs)

    return called


def test_the_same_turn_again_gives_the_stored_answer(principal: Principal, remembered: FakeRecall) -> None:
    chosen = uuid4()
    model = ScriptedModel(say("Hi"))
    first = list(run_turn(principal, text="Hello", turn_id=chosen, model=model))
    again = list(run_turn(principal, text="Hello", turn_id=chosen, model=model))
    assert text_of(again) == "Hi"
    assert isinstance(again[-1], TurnFinished)
    assert again[0] == first[0]
    assert (len(model.sent), Episode.objects.count()) == (1, 1)


def test_a_failed_turn_is_told_again_as_failed_and_can_be_retried(principal: Principal, remembered: FakeRecall) -> None:
    chosen = uuid4()
    model = ScriptedModel(say(), say("Hi"))
    list(run_turn(principal, text="Hello", turn_id=chosen, model=model))
    assert failure(list(run_turn(principal, text="Hello", turn_id=chosen, model=model))).retryable
    assert text_of(run_turn(principal, text="Hello", turn_id=chosen, retry=True, model=model)) == "Hi"
    assert Episode.objects.count() == 1
    assert only_turn(principal).answer_state is MessageState.COMPLETE


def test_a_cut_off_turn_can_be_retried_by_its_number_and_a_complete_one_cannot(
    principal: Principal, remembered: FakeRecall
) -> None:
    events = run_turn(principal, text="Hello", model=ScriptedModel(say("Hi")))
    session = started_of([next(events)]).session_id
    events.close()
    again = retry_turn(principal, session_id=session, turn=1, model=ScriptedModel(say("Hi")))
    assert text_of(again) == only_turn(principal).answer == "Hi"
    with pytest.raises(Conflict):
        retry_turn(principal, session_id=session, turn=1)


def test_two_turns_at_once_do_not_mix(principal: Principal, remembered: FakeRecall) -> None:
    session = start_session(principal).pk
    models = [ScriptedModel(say(*word)) for word in ("one", "two")]
    streams = [
        run_turn(principal, text=f"Turn {n}", session_id=session, model=model) for n, model in enumerate(models, 1)
    ]
    interleave(*streams)
    first, second = transcript(principal, session)
    assert [(view.text, view.answer) for view in (first, second)] == [("Turn 1", "one"), ("Turn 2", "two")]
    assert "Turn 2" not in json.dumps(models[0].sent)
    assert "(No answer was given.)" in json.dumps(models[1].sent)


def interleave(*streams: Iterator[Event]) -> None:
    """Read one event of each in turn until all have ended."""
    left = list(streams)
    while left:
        left = [stream for stream in left if next(stream, None) is not None]


@pytest.mark.django_db(transaction=True)
def test_turns_on_many_threads_stay_apart(principal: Principal, remembered: FakeRecall) -> None:
    session = start_session(principal).pk

    def say_it(number: int) -> str:
        model = ScriptedModel(call("write_memory", text=f"Fact {number}"), say(f"Answer {number}"))
        try:
            return text_of(list(run_turn(principal, text=f"Words {number}", session_id=session, model=model)))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(say_it, range(8)))
    views = transcript(principal, session)
    assert told == [f"Answer {number}" for number in range(8)]
    assert sorted((view.text, view.answer) for view in views) == [(f"Words {n}", f"Answer {n}") for n in range(8)]
    assert {len(view.having(Relation.WROTE)) for view in views} == {1}
    assert [view.turn for view in views] == list(range(1, 9))


@pytest.mark.parametrize(
    ("slow", "given"), [(say("s", "low"), 5), (call("write_memory", text="Likes tea"), 2)], ids=["words", "a tool"]
)
def test_of_two_that_answer_one_turn_the_slower_gives_way_and_writes_nothing(
    principal: Principal, remembered: FakeRecall, slow: Sequence[Output], given: int
) -> None:
    chosen, model = uuid4(), ScriptedModel(slow, say("Noted."))
    events = run_turn(principal, text="Hello", turn_id=chosen, model=model)
    first = [next(events) for _ in range(given)]
    quick = list(run_turn(principal, text="Hello", turn_id=chosen, model=ScriptedModel(say("quick"))))
    assert "answered elsewhere" in failure([*first, *events]).message
    assert only_turn(principal).answer == text_of(quick) == "quick"
    assert len(model.sent) == 1 and not Fact.objects.exists()


def test_a_tool_that_is_refused_takes_no_message_of_its_turn_back(principal: Principal, remembered: FakeRecall) -> None:
    remembered.items = [recalled("Likes tea")]
    known = remember_fact(principal, text="Likes coffee").memory_id
    twice = ScriptedModel(call("retire_memory", memory_ids=[known, uuid4()]), say("I could not."))
    list(run_turn(principal, text="Forget the coffee", model=twice))
    view = only_turn(principal)
    assert [len(step.tool_calls) for step in view.steps if step.tool_calls] == [1, 1]
    assert view.having(Relation.RECALLED)
    assert Fact.objects.current().count() == 1


def test_a_session_deleted_meanwhile_ends_the_answer(principal: Principal, remembered: FakeRecall) -> None:
    events = run_turn(principal, text="Hello", model=ScriptedModel(say("A", "B")))
    started = started_of([next(events)])
    forget_session(principal, session_id=started.session_id)
    assert "deleted" in failure(list(events)).message
    assert not Message.objects.exists()
