"""The tools for a task: strict, kept at once, resumed by the next turn, and nobody else's."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from memories.agent.events import TaskChanged, TurnFinished
from memories.agent.loop import run_turn
from memories.agent.tool_schemas import BadArguments, checked
from memories.agent.tools import ToolAnswer, Toolbox
from memories.models import Fact, Mention, Relation, Session, SessionEntry
from memories.selectors.session_memory import working_memory
from memories.services.facts.remember import remember_fact
from memories.services.sessions.sessions import start_session
from memories.services.sessions.turns import begin_turn
from tenants.principal import Principal
from tests.memories.agent.conftest import FakeRecall, ScriptedModel, call, say

pytestmark = pytest.mark.django_db

CALLS: dict[str, dict[str, Any]] = {
    "set_task": {"goal": "Repot the fern", "constraints": ["No peat"]},
    "update_plan": {"steps": ["Buy soil", "Repot"], "done": 1},
    "observe": {"text": "The pot is cracked", "importance": "critical"},
    "note": {"text": "12 cm"},
    "search_session": {"query": "cracked pot"},
    "finish_task": {"outcome": "It grows", "learned": ["Ferns want clay pots"]},
}


@pytest.fixture
def session(principal: Principal) -> UUID:
    return begin_turn(principal, text="Help me repot the fern").session_id


@pytest.fixture
def toolbox(principal: Principal, session: UUID) -> Toolbox:
    return Toolbox(principal.as_agent(), session_id=session, episode_id=None, turn=1)


def content(answer: ToolAnswer) -> dict[str, Any]:
    assert not answer.error, answer.error
    value: dict[str, Any] = json.loads(answer.content)
    return value


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        ("set_task", {}, "goal: "),
        ("set_task", {"goal": "x", "constraints": ["y"] * 9}, "constraints: "),
        ("update_plan", {"steps": ["a"]}, "done: "),
        ("update_plan", {"done": "1"}, "done: "),
        ("observe", {"text": "x", "kind": "goal"}, "kind: "),
        ("note", {"text": "x", "session_id": str(uuid4())}, "session_id: "),
        ("search_session", {"query": "x", "limit": 21}, "limit: "),
        ("finish_task", {"learned": ["x"]}, "outcome: "),
    ],
)
def test_wrong_arguments_are_refused_in_words(tool: str, arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadArguments) as caught:
        checked(tool, arguments)
    assert reason in str(caught.value)


def test_a_task_from_its_goal_to_its_end(toolbox: Toolbox) -> None:
    told = content(toolbox.run("set_task", CALLS["set_task"]))
    assert told == {"goal": "Repot the fern", "constraints": 1}
    answer = toolbox.run("update_plan", CALLS["update_plan"])
    assert content(answer)["plan"] == {"steps": ["Buy soil", "Repot"], "done": 1, "current": "Repot"}
    assert answer.event == TaskChanged("Repot the fern", 2, 1, "Repot")
    assert content(toolbox.run("update_plan", {"done": 2}))["plan"]["done"] == 2
    assert content(toolbox.run("observe", CALLS["observe"])) == {"in_view": True}
    assert content(toolbox.run("note", CALLS["note"])) == {"lines_on_the_scratchpad": 1}
    answer = toolbox.run("finish_task", CALLS["finish_task"])
    assert content(answer) == {"finished": True, "kept_in_memory": ["created"] * 4}
    assert answer.event == TaskChanged("Repot the fern", finished=True)
    assert set(Fact.objects.values_list("text", flat=True)) == {
        "No peat", "The pot is cracked", "Ferns want clay pots", "Task: Repot the fern. Outcome: It grows.",
    }  # fmt: skip


def test_what_does_not_stay_in_view_is_said(toolbox: Toolbox) -> None:
    for number in range(8):
        toolbox.run("observe", {"text": f"rule {number}", "kind": "constraint", "importance": "critical"})
    told = content(toolbox.run("observe", {"text": "lesser rule", "kind": "constraint"}))
    assert told["in_view"] is False
    (found,) = content(toolbox.run("search_session", {"query": "lesser"}))["found"]
    assert found == {"what": "constraint", "text": "lesser rule", "turn": 1}


def test_the_next_turn_goes_on_with_the_task_after_a_crash(principal: Principal, remembered: FakeRecall) -> None:
    def crash(_: object) -> Any:
        raise KeyboardInterrupt

    model = ScriptedModel(call("set_task", **CALLS["set_task"]), call("update_plan", **CALLS["update_plan"]), crash)
    with pytest.raises(KeyboardInterrupt):
        list(run_turn(principal, text="Help me repot the fern", model=model))
    session = Session.objects.get().pk
    later = ScriptedModel(say("On with it."))
    list(run_turn(principal, text="Where were we?", session_id=session, model=later))
    told = [message["content"] for message in later.sent[0] if message["role"] == "tool"]
    assert json.loads(told[0])["goal"] == "Repot the fern"
    assert json.loads(told[0])["constraints"] == [{"text": "No peat", "importance": "important"}]
    assert json.loads(told[1])["plan"]["current"] == "Repot"


def test_a_turn_tells_of_the_task_and_counts_what_it_kept(principal: Principal, remembered: FakeRecall) -> None:
    model = ScriptedModel(*(call(tool, **arguments) for tool, arguments in CALLS.items()), say("Done."))
    model.script = (*model.script[:3], *model.script[5:])  # within the bound of steps
    events = list(run_turn(principal, text="Help me", model=model))
    assert [event.finished for event in events if isinstance(event, TaskChanged)] == [False, False, True]
    finished = events[-1]
    assert isinstance(finished, TurnFinished) and finished.wrote == 4
    assert Mention.objects.filter(relation=Relation.WROTE).count() == 4


def test_search_finds_what_was_said_and_not_the_question_itself(principal: Principal, session: UUID) -> None:
    remember_fact(principal, text="Ferns are green")
    begin_turn(principal, text="What was the fern about?", session_id=session)
    toolbox = Toolbox(principal.as_agent(), session_id=session, episode_id=None, turn=2)
    found = content(toolbox.run("search_session", {"query": "fern"}))["found"]
    assert [each["text"] for each in found] == ["Help me repot the fern"]


@pytest.mark.parametrize("tool", CALLS)
def test_tools_for_a_task_isolate_others(toolbox: Toolbox, session: UUID, stranger: Principal, tool: str) -> None:
    toolbox.run("set_task", CALLS["set_task"])
    toolbox.run("update_plan", CALLS["update_plan"])
    before = rows()
    foreign, unknown = (
        Toolbox(stranger.as_agent(), session_id=target, episode_id=None, turn=1).run(tool, CALLS[tool]).content
        for target in (session, uuid4())
    )
    assert foreign == unknown == '{"error": "No such session."}'
    assert rows() == before


def rows() -> list[object]:
    return [list(model._default_manager.order_by("pk").values()) for model in (Session, SessionEntry, Fact)]


def test_one_session_is_never_searched_from_another(toolbox: Toolbox, principal: Principal) -> None:
    toolbox.run("note", {"text": "a secret fern"})
    other = Toolbox(principal.as_agent(), session_id=start_session(principal).pk, episode_id=None)
    assert content(other.run("search_session", {"query": "secret fern"}))["found"] == []
    assert working_memory(principal, Session.objects.latest("created_at").pk).empty
