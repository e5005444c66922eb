"""What is recalled beside a tool that names a topic, and how the offline responder does within each mode."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memories.agent.events import MemoriesRecalled, Notice, NoticeKind, TurnFinished
from memories.agent.loop import run_turn
from memories.errors import SearchForbidden
from memories.models import Fact, Mention, Message, MessageRole, RecallTrace, Relation
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.types import Kind
from tenants.principal import Principal
from tests.memories.agent.boundaries import answered, texts, told
from tests.memories.agent.conftest import FakeRecall, ScriptedModel, call, recalled, say
from tests.memories.services.erasure.life import everything
from tests.openai_server import Call, Say

pytestmark = pytest.mark.django_db

CANARY = "zanzibar-cloves"


def test_a_tool_that_names_something_new_is_told_what_is_known_of_it(principal: Principal) -> None:
    remember_fact(principal, text="Keeps bees on the roof", key="hobby")
    write = Call([("write_memory", '{"text": "Keeps seven hives of bees"}')])
    events, server = answered(principal, "Hello there", write, Say(["Noted."]))
    beside, written = told(server.requests[1])[-2:]
    assert beside[:2] == ("recall_memory", "Keeps seven hives of bees")
    assert written[0] == "write_memory"
    *_, called, first, second = server.requests[1]["messages"]
    assert [made["id"] for made in called["tool_calls"]] == [first["tool_call_id"], second["tool_call_id"]]
    assert [event.automatic for event in events if isinstance(event, MemoriesRecalled)] == [True, True]
    message = Message.objects.filter(role=MessageRole.TOOL).exclude(recall=None).order_by("step").last()
    assert message is not None
    assert message.recall is not None
    assert message.recall.query == "Keeps seven hives of bees"


def test_what_a_turn_has_seen_is_not_told_again(principal: Principal, remembered: FakeRecall) -> None:
    known, new = recalled("Keeps bees"), recalled("Sells honey")
    remembered.by_types = {(): [known], (Kind.SEMANTIC, Kind.PROCEDURAL): [known]}
    remembered.items = [known]
    model = ScriptedModel(call("write_memory", text="Has seven hives"), say("Noted."))
    for event in run_turn(principal, text="Hello", model=model):
        if isinstance(event, MemoriesRecalled):
            remembered.by_types = {(): [known, new]}
    beside = json.loads(model.sent[1][-2]["content"])
    assert texts(beside) == ["Sells honey"]
    fresh = Mention.objects.filter(relation=Relation.RECALLED, message__turn=1).values_list("memory_id", flat=True)
    assert list(fresh).count(new.id) == 1


@pytest.mark.parametrize(
    ("said", "tool", "arguments"),
    [
        ("I moved to Oslo", "write_memory", {"text": "Moved to OSLO"}),
        ("Hello", "note", {"text": "Entirely new words"}),
        ("Hello", "retire_memory", {"memory_ids": ["3fa85f64-5717-4562-b3fc-2c963f66afa6"]}),
        ("Hello", "recall_memory", {"query": "quite another thing"}),
        ("Hello", "unknown", {"text": "Entirely new words"}),
    ],
)
def test_nothing_is_recalled_beside_what_names_nothing_new(
    principal: Principal, remembered: FakeRecall, said: str, tool: str, arguments: dict[str, Any]
) -> None:
    model = ScriptedModel(call(tool, **arguments), say("Done."))
    list(run_turn(principal, text=said, model=model))
    (made,) = model.sent[1][-2]["tool_calls"]
    assert made["function"]["name"] == tool


@pytest.mark.parametrize(
    ("tool", "arguments", "query"),
    [
        ("set_task", {"goal": "Repot the fern", "constraints": ["No peat"]}, "Repot the fern No peat"),
        ("update_plan", {"steps": ["Buy clay", "Repot"], "done": 0}, "Buy clay Repot"),
        ("observe", {"text": "The pot is cracked"}, "The pot is cracked"),
        ("write_memory", {"kind": "procedural", "title": "Repot", "trigger": "It wilts"}, "Repot It wilts"),
    ],
)
def test_each_tool_that_names_a_topic_is_preceded_by_a_recall(
    principal: Principal, remembered: FakeRecall, tool: str, arguments: dict[str, Any], query: str
) -> None:
    list(run_turn(principal, text="Hello", model=ScriptedModel(call(tool, **arguments), say("Done."))))
    assert remembered.asked[-1]["query"] == query


def test_a_memory_that_is_closed_does_not_keep_a_tool_from_its_work(
    principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise SearchForbidden("Your memory is closed.")

    monkeypatch.setattr("memories.agent.tools.recall_and_keep", refuse)
    model = ScriptedModel(call("write_memory", text="Keeps bees"), say("Ok."))
    events = list(run_turn(principal, text="Hello", model=model))
    assert [event.kind for event in events if isinstance(event, Notice)] == [NoticeKind.CLOSED]
    assert Fact.objects.get().text == "Keeps bees"
    assert isinstance(events[-1], TurnFinished)


def test_what_was_recalled_beside_a_write_goes_with_what_it_wrote(principal: Principal) -> None:
    model = ScriptedModel(call("write_memory", text=f"Smells of {CANARY}"), say("Noted."))
    list(run_turn(principal, text="Hello", model=model))
    assert RecallTrace.objects.filter(query__contains=CANARY).exists()
    forget(principal, kind=Kind.SEMANTIC, memory_id=Fact.objects.get().pk)
    assert CANARY not in everything()
