"""The tools: strict arguments, refusals in words, and nobody else's memories."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from memories.agent.tool_schemas import BadArguments, checked, read_arguments, tool_schemas
from memories.agent.tools import ToolAnswer, Toolbox
from memories.english.grammar import read
from memories.models import Fact, Playbook
from memories.services.catalog import remember_catalog_entry
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.services.sessions.turns import begin_turn
from memories.types import Kind, Status, WriteOutcome, WriteResult
from tenants.principal import Principal
from tests.memories.agent.conftest import FakeRecall

pytestmark = pytest.mark.django_db


@pytest.fixture
def toolbox(principal: Principal) -> Toolbox:
    text = "I left Bristol and Bath, I like tea"
    turn = begin_turn(principal, text=text)
    return Toolbox(principal.as_agent(), session_id=turn.session_id, episode_id=turn.episode_id, turn=1, text=text)


def content(answer: ToolAnswer) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(answer.content)
    return value


def test_the_schemas_are_what_the_protocol_wants() -> None:
    names = [schema["function"]["name"] for schema in tool_schemas()]
    assert names[:4] == ["recall_memory", "write_memory", "retire_memory", "forget_memory"]
    write = tool_schemas()[1]["function"]["parameters"]
    assert write["additionalProperties"] is False
    assert write["properties"]["title"]["type"] == "string"
    assert write["properties"]["contradiction"]["enum"] == ["natural", "harsh"]
    assert tool_schemas()[0]["function"]["parameters"]["required"] == ["query"]


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        ("write_memory", {}, "a fact needs a text"),
        ("write_memory", {"text": "x", "kind": "episodic"}, "kind: "),
        ("write_memory", {"text": "x", "key": "Home City"}, "key: "),
        ("write_memory", {"text": "x", "supersedes_ids": ["that one"]}, "supersedes_ids.0: "),
        ("write_memory", {"text": "x", "owner": "me"}, "owner: "),
        ("write_memory", {"text": "x", "steps": ["a"]}, "procedural"),
        ("write_memory", {"kind": "procedural", "steps": ["a"]}, "title: "),
        ("recall_memory", {"query": "x", "limit": "5"}, "limit: "),
        ("recall_memory", {"query": "x", "as_of": "2026-01-01T00:00:00"}, "as_of: "),
        ("forget_memory", {}, "memory_ids: "),
        ("retire_memory", {"memory_ids": []}, "memory_ids: "),
        ("sudo", {}, "There is no such tool"),
    ],
)
def test_wrong_arguments_are_named(tool: str, arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadArguments) as caught:
        checked(tool, arguments)
    assert reason in str(caught.value)


def test_arguments_are_made_storable() -> None:
    assert read_arguments('{"text": "a\\u0000b\\ud800", "n": ["\\udc00"]}') == {"text": "ab�", "n": ["�"]}
    assert read_arguments("") == {}


def test_a_recall_passes_its_options_on(toolbox: Toolbox, remembered: FakeRecall) -> None:
    toolbox.run("recall_memory", {"query": "tea", "types": ["semantic"], "limit": 3, "include_superseded": True})
    (asked,) = remembered.asked
    assert (asked["types"], asked["limit"], asked["include_superseded"]) == ((Kind.SEMANTIC,), 3, True)


def test_a_playbook_is_written_with_its_steps(toolbox: Toolbox) -> None:
    book = read("To fix the hub: hold the button, wait").playbook
    assert book is not None
    answer = toolbox.run("write_memory", {"kind": "procedural", "title": book.title, "steps": list(book.steps)})
    assert answer.written is not None
    assert answer.written.kind is Kind.PROCEDURAL
    assert Playbook.objects.get().steps == ["Hold the button", "Wait"]


@pytest.mark.parametrize(("how", "retracted"), [("natural", False), ("harsh", True)])
def test_what_ends_with_nothing_in_its_place_stays_in_the_history(
    toolbox: Toolbox, principal: Principal, how: str, retracted: bool
) -> None:
    ids = [remember_fact(principal, text=text).memory_id for text in ("Lives in Bristol", "Lives in Bath")]
    answer = toolbox.run("retire_memory", {"memory_ids": [str(pk) for pk in ids], "contradiction": how})
    assert [each["text"] for each in content(answer)["ended"]] == ["Lives in Bristol", "Lives in Bath"]
    assert {(row.status, row.retracted) for row in Fact.objects.all()} == {(Status.SUPERSEDED, retracted)}


def test_a_turn_proposes_once_and_erases_nothing(toolbox: Toolbox, principal: Principal) -> None:
    ids = [remember_fact(principal, text=text).memory_id for text in ("Lives in Bristol", "Lives in Bath")]
    answers = [toolbox.run("forget_memory", {"memory_ids": [str(memory_id)]}) for memory_id in ids]
    assert [bool(answer.error) for answer in answers] == [False, True]
    assert Fact.objects.current().count() == 2


def test_a_model_cannot_undo_a_turn(toolbox: Toolbox, principal: Principal) -> None:
    fact = remember_fact(principal, text="Lives in Bristol").memory_id
    assert toolbox.run("undo_memory", {"memory_id": str(fact)}).error
    assert Fact.objects.current().count() == 1


def test_the_agent_cannot_erase_what_is_shared(toolbox: Toolbox, admin_principal: Principal) -> None:
    entry = remember_catalog_entry(admin_principal, title="Hours", text="Open from nine").memory_id
    assert toolbox.run("forget_memory", {"memory_ids": [str(entry)]}).error


def answers_to(toolbox: Toolbox, memory_id: UUID) -> list[str]:
    """What each tool says about an id."""
    fact: dict[str, Any] = {"text": "New", "supersedes_ids": [str(memory_id)]}
    book = {"kind": "procedural", "title": "New", **fact}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("forget_memory", {"memory_ids": [str(memory_id)]}),
        ("retire_memory", {"memory_ids": [str(memory_id)]}),
        ("retire_memory", {"memory_ids": [str(memory_id)], "contradiction": "harsh"}),
        ("undo_memory", {"memory_id": str(memory_id)}),
        ("write_memory", fact),
        ("write_memory", book),
    ]
    return [toolbox.run(tool, arguments).content for tool, arguments in asked]


def test_tools_isolate_others(toolbox: Toolbox, stranger: Principal) -> None:
    fact = remember_fact(stranger, text="Lives in Bristol").memory_id
    book = remember_playbook(stranger, title="Fix it", steps=["a"]).memory_id
    unknown = answers_to(toolbox, uuid4())
    assert answers_to(toolbox, fact) == answers_to(toolbox, book) == unknown
    assert all(json.loads(answer)["error"] for answer in unknown)
    assert Fact.objects.get().status == Playbook.objects.get().status == Status.ACTIVE


def test_a_blocked_write_tells_why_and_names_no_memory(toolbox: Toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = WriteOutcome(WriteResult.BLOCKED, Kind.SEMANTIC, uuid4(), reason="It holds a card number.")
    monkeypatch.setattr("memories.agent.tools.remember_fact", lambda *_, **__: refusal)
    answer = toolbox.run("write_memory", {"text": "4111 1111 1111 1111"})
    assert content(answer) == {"result": "blocked", "reason": "It holds a card number."}
