"""The retrieval boundary: what each mode sends to a model, within which bounds, and what is recalled beside a tool."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import pytest

from memories.agent.boundary import Boundary
from memories.agent.events import Event, MemoriesRecalled, Notice, NoticeKind, TurnFinished
from memories.agent.loop import run_turn
from memories.agent.offline import OfflineResponder
from memories.agent.tool_schemas import SCHEMAS
from memories.constants import MAX_PINNED_FACTS, PINNED_TOKENS
from memories.errors import SearchForbidden
from memories.llm import tokens
from memories.llm.base import ChatMessage, Finished, Output, StopReason, Text, ToolCall, Usage
from memories.llm.openai_chat import OpenAIChat
from memories.llm.tokens import ModelTokens, estimated, estimated_prompt
from memories.models import Fact, MemoryPolicy, Mention, Message, MessageRole, RecallTrace, Relation
from memories.selectors.policies import Policy
from memories.services.facts import remember_fact
from memories.services.forget import forget
from memories.services.remember import EpisodeDraft, remember_episodes
from memories.services.sessions import start_session
from memories.services.working_memory import set_task
from memories.types import Kind, RecallMode
from tenants.principal import Principal
from tests.memories.services.test_forget import database_text
from tests.openai_server import KEY, Call, OpenAIServer, Reply, Say, openai_server

from .conftest import FakeRecall, ScriptedModel, call, only_turn, recalled, say, text_of

pytestmark = pytest.mark.django_db

CANARY = "zanzibar-cloves"


@pytest.fixture(autouse=True)
def _nothing_learnt() -> Iterator[None]:
    tokens.forget_models()
    yield
    tokens.forget_models()


def decide(principal: Principal, **decisions: Any) -> None:
    MemoryPolicy.objects.create(tenant_id=principal.tenant_id, **decisions)


def answered(
    principal: Principal, text: str, *script: Reply, session_id: UUID | None = None
) -> tuple[list[Event], OpenAIServer]:
    """A turn against an endpoint on a socket: its events, and the server with the requests that came."""
    with openai_server(*script) as server:
        model = OpenAIChat(name="m", base_url=server.base_url, api_key=KEY)
        try:
            return list(run_turn(principal, text=text, session_id=session_id, model=model)), server
        finally:
            model.close()


def told(request: Mapping[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Each tool result of a request: the tool, the query or the text that it was called with, and the result."""
    calls: dict[str, tuple[str, str]] = {}
    results = []
    for message in request["messages"]:
        for made in message.get("tool_calls") or ():
            arguments = json.loads(made["function"]["arguments"])
            words = arguments.get("query") or arguments.get("text") or ""
            calls[made["id"]] = (made["function"]["name"], words)
        if message["role"] == "tool":
            results.append((*calls[message["tool_call_id"]], json.loads(message["content"])))
    return results


def texts(result: Mapping[str, Any]) -> list[str]:
    return [memory["text"] for memory in result["memories"]]


def offered(request: Mapping[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in request["tools"]]


ASKED = "Where do I live?"
EVERYWHERE = [("recall_memory", "what the user pinned"), ("search_session", "where the task stands")]


@pytest.mark.parametrize(
    ("mode", "by_itself", "offers", "says"),
    [
        ("hybrid", True, True, "Call it again"),
        ("push", True, False, "You cannot make one yourself"),
        ("pull", False, True, "Nothing is recalled by itself"),
        ("", True, True, "Call it again"),
    ],
)
def test_each_mode_sends_what_it_should(
    principal: Principal, mode: str, by_itself: bool, offers: bool, says: str
) -> None:
    decide(principal, recall_mode=mode)
    remember_fact(principal, text="Lives in Edinburgh", key="home_city")
    remember_fact(principal, text="Is called Ada", key="name", pinned=True)
    session = start_session(principal).pk
    set_task(principal, session_id=session, turn=0, goal="Find a flat", constraints=["No ground floor"])
    events, server = answered(principal, ASKED, Say(["In Edinburgh."]), session_id=session)
    (request,) = server.requests
    standing, pinned, *recalls = told(request)
    assert standing[:2] == ("search_session", "the task and what must hold")
    assert standing[2]["constraints"] == [{"text": "No ground floor", "importance": "important"}]
    assert (pinned[:2], texts(pinned[2])) == (EVERYWHERE[0], ["Is called Ada"])
    assert [each[:2] for each in recalls] == ([("recall_memory", ASKED)] if by_itself else [])
    if by_itself:
        assert "Lives in Edinburgh" in texts(recalls[0][2])
    assert offered(request) == [
        schema["function"]["name"] for schema in SCHEMAS if offers or schema["function"]["name"] != "recall_memory"
    ]
    assert says in request["messages"][0]["content"]
    assert "{" not in request["messages"][0]["content"]
    assert any(isinstance(event, MemoriesRecalled) for event in events) is by_itself
    assert isinstance(events[-1], TurnFinished)


def test_a_recall_that_is_not_offered_is_refused(principal: Principal) -> None:
    decide(principal, recall_mode="push")
    remember_fact(principal, text="Plays the cello")
    wanted = Call([("recall_memory", '{"query": "cello"}')])
    _, server = answered(principal, "Hello", wanted, Say(["Hi."]))
    assert "You cannot recall here" in told(server.requests[1])[-1][2]["error"]


def test_a_model_that_has_to_ask_is_answered(principal: Principal) -> None:
    decide(principal, recall_mode="pull")
    remember_fact(principal, text="Plays the cello")
    _, server = answered(principal, "Hello", Call([("recall_memory", '{"query": "cello"}')]), Say(["Hi."]))
    (result,) = told(server.requests[1])
    assert texts(result[2]) == ["Plays the cello"]


def test_the_policy_of_another_tenant_plays_no_part(principal: Principal, other_tenant_member: Principal) -> None:
    decide(other_tenant_member, recall_mode="pull", recall_items=1)
    _, server = answered(principal, ASKED, Say(["?"]))
    assert [each[:2] for each in told(server.requests[0])] == [("recall_memory", ASKED)]


FACTS = {
    "latin": "Keeps {} bees on the roof of the old brewery in Leith",
    "accented": "Führt {} Bücher über Käfer und Gräser in Königsberg",
    "cyrillic": "Держит {} пчёл на крыше старой пивоварни в Лейте",
    "chinese": "在利斯老啤酒厂的屋顶上养了{}只蜜蜂，每天早上喝茶",
    "digits": "Has the number 0131 496 {} 0131 4960 0131 4960 0131",
}


@pytest.mark.parametrize("script", FACTS)
@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_what_comes_by_itself_keeps_within_the_tokens_of_the_model(
    principal: Principal, script: str, factor: float
) -> None:
    decide(principal, recall_tokens=700)
    for number in range(10):
        remember_fact(principal, text=FACTS[script].format(number + 10))
    ModelTokens("m").learn(10_000, int(10_000 * factor))
    _, server = answered(principal, FACTS[script].format("?"), Say(["Many."]))
    contents = [message["content"] for message in server.requests[0]["messages"] if message["role"] == "tool"]
    taken = sum(ModelTokens("m").count(content) for content in contents)
    memories = sum(len(json.loads(content)["memories"]) for content in contents)
    assert 350 < taken <= 700
    assert memories >= 2


def test_a_tool_keeps_within_the_tokens_too(principal: Principal) -> None:
    decide(principal, recall_mode="pull", recall_tokens=300)
    for number in range(10):
        remember_fact(principal, text=FACTS["latin"].format(number))
    _, server = answered(principal, "Hello", Call([("recall_memory", '{"query": "bees"}')]), Say(["Hi."]))
    (content,) = [message["content"] for message in server.requests[1]["messages"] if message["role"] == "tool"]
    assert estimated(content) <= 300
    assert json.loads(content)["memories"]


@pytest.mark.parametrize("items", [0, 1, 2, 3, 4, 7])
def test_no_more_items_come_by_themselves_than_the_policy_gives(principal: Principal, items: int) -> None:
    decide(principal, recall_items=items)
    remember_fact(principal, text="Owns a red canoe")
    remember_fact(principal, text="Keeps the canoe in a shed")
    drafts = [EpisodeDraft(text=f"The canoe ride number {number} was great") for number in range(9)]
    remember_episodes(principal, session_id=start_session(principal).pk, drafts=drafts)
    _, server = answered(principal, "How was the canoe ride?", Say(["Great."]))
    ids = [memory["id"] for each in told(server.requests[0]) for memory in each[2]["memories"]]
    assert len(ids) <= items
    assert bool(ids) is bool(items)


def test_a_threshold_holds_for_what_comes_by_itself_and_for_the_tool(principal: Principal) -> None:
    decide(principal, recall_threshold=99.0)
    remember_fact(principal, text="Plays the cello")
    asked = Call([("recall_memory", '{"query": "cello"}')])
    _, server = answered(principal, "Do I play the cello?", asked, Say(["Yes."]))
    assert [texts(each[2]) for each in told(server.requests[1])] == [[], []]
    assert RecallTrace.objects.first().parameters["threshold"] == 99.0  # type: ignore[union-attr]  # there are two


def test_what_the_endpoint_counts_is_learnt(principal: Principal, remembered: FakeRecall) -> None:
    def reply(messages: Sequence[ChatMessage]) -> Sequence[Output]:
        took = int(1.5 * estimated_prompt(messages, SCHEMAS))
        return [Text("Hi"), Finished(StopReason.DONE, Usage(took, 1))]

    list(run_turn(principal, text="Hello", model=ScriptedModel(reply)))
    assert ModelTokens("scripted").factor == pytest.approx(1.5, abs=0.01)


def test_the_history_is_bounded_in_tokens_of_the_model(principal: Principal, remembered: FakeRecall) -> None:
    long = "tea " * 4_000
    session = None
    for _ in range(3):
        list(run_turn(principal, text=long, session_id=session, model=ScriptedModel(say("Yes."))))
        session = Message.objects.filter(step=0)[0].session_id
    model = ScriptedModel(say("Yes."))
    list(run_turn(principal, text="More", session_id=session, model=model))
    ModelTokens("scripted").learn(1_000, 2_000)
    list(run_turn(principal, text="More", session_id=session, model=model))
    first, second = ([message["content"] for message in sent].count(long) for sent in model.sent)
    assert (first, second) == (2, 1)


def pinned_facts(*told: tuple[str, str]) -> list[Fact]:
    return [Fact(text=text, key=key) for key, text in told]


def test_who_it_is_comes_first_among_the_pinned() -> None:
    facts = pinned_facts(("team", "Leads the bees team"), ("allergy", "Peanuts"), ("name", "Ada"))
    told_first = json.loads(Boundary().pinned(facts))["memories"]
    assert [memory["text"] for memory in told_first] == ["Ada", "Peanuts", "Leads the bees team"]


def test_pinned_facts_are_bounded_in_items_and_tokens() -> None:
    many = pinned_facts(*[("", f"Fact {number}") for number in range(50)])
    assert len(json.loads(Boundary().pinned(many))["memories"]) == MAX_PINNED_FACTS
    long = pinned_facts(*[("", f"{number} " + "蜜蜂" * 200) for number in range(9)], ("name", "Ada"))
    content = Boundary().pinned(long)
    assert tokens.estimated(content) <= PINNED_TOKENS
    assert json.loads(content)["memories"][0]["text"] == "Ada"
    assert 2 <= len(json.loads(content)["memories"]) < 9


def test_pinned_facts_move_up_as_often_as_the_policy_says(principal: Principal, remembered: FakeRecall) -> None:
    decide(principal, pinned_refresh_turns=2)
    remember_fact(principal, text="Is called Ada", pinned=True)
    model = ScriptedModel(say("Hm."))
    session = start_session(principal).pk
    for number in range(1, 5):
        list(run_turn(principal, text=f"words {number}", session_id=session, model=model))
    after = []
    for sent in model.sent:
        place = next(index for index, message in enumerate(sent) if "Is called Ada" in str(message["content"]))
        after.append(sent[place - 2]["content"])
    assert after == ["words 1", "words 1", "words 3", "words 3"]


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
        ("I moved to Oslo", "write_memory", {"text": "Lives in Oslo"}),
        ("I like green tea", "write_memory", {"text": "Likes green tea"}),
        ("Hello", "note", {"text": "Entirely new words"}),
        ("Hello", "retire_memory", {"memory_ids": ["3fa85f64-5717-4562-b3fc-2c963f66afa6"]}),
        ("Hello", "recall_memory", {"query": "quite another thing"}),
        ("Hello", "write_memory", {"text": 7}),
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
        ("search_session", {"query": "clay pots"}, "clay pots"),
    ],
)
def test_each_tool_that_names_a_topic_is_preceded_by_a_recall(
    principal: Principal, remembered: FakeRecall, tool: str, arguments: dict[str, Any], query: str
) -> None:
    list(run_turn(principal, text="Hello", model=ScriptedModel(call(tool, **arguments), say("Done."))))
    assert remembered.asked[-1]["query"] == query


def test_one_recall_a_step_is_enough(principal: Principal, remembered: FakeRecall) -> None:
    both: list[Output] = [
        ToolCall("write_memory", '{"text": "Keeps bees"}'),
        ToolCall("write_memory", '{"text": "Owns a canoe"}'),
        Finished(StopReason.TOOL_CALLS),
    ]
    again = call("write_memory", text="Owns a canoe and keeps bees")
    model = ScriptedModel(both, again, say("Noted."))
    list(run_turn(principal, text="Hello", model=model))
    batches = [message["tool_calls"] for message in model.sent[2] if message.get("tool_calls")][-2:]
    names = [[made["function"]["name"] for made in batch] for batch in batches]
    assert names == [["recall_memory", "write_memory", "write_memory"], ["write_memory"]]
    assert [asked["query"] for asked in remembered.asked[2:]] == ["Keeps bees Owns a canoe"]


@pytest.mark.parametrize(
    "decisions", [{"recall_mode": "pull"}, {"recall_items": 0}, {"recall_tokens": 60}], ids=["pull", "items", "tokens"]
)
def test_a_policy_that_gives_no_room_recalls_nothing_beside(
    principal: Principal, remembered: FakeRecall, decisions: dict[str, Any]
) -> None:
    decide(principal, **decisions)
    list(run_turn(principal, text="Hello", model=ScriptedModel(call("write_memory", text="Keeps bees"), say("Ok."))))
    assert remembered.asked == []
    assert Fact.objects.get().text == "Keeps bees"


def test_a_memory_that_is_closed_does_not_keep_a_tool_from_its_work(
    principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise SearchForbidden("Your memory is closed.")

    monkeypatch.setattr("memories.agent.tools.recall", refuse)
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
    assert CANARY not in database_text()


def test_offline_a_member_who_has_to_ask_is_answered_as_ever(principal: Principal) -> None:
    decide(principal, recall_mode="pull")
    remember_fact(principal, text="Lives in Bristol", key="home_city")
    events = list(run_turn(principal, text=ASKED, model=OfflineResponder()))
    assert "Bristol" in text_of(events)
    assert {event.automatic for event in events if isinstance(event, MemoriesRecalled)} == {False}
    list(run_turn(principal, text="I moved to Oslo", model=OfflineResponder()))
    assert Fact.objects.get(superseded_by__isnull=True).text.endswith("Oslo")
    events = list(run_turn(principal, text="Where have I lived?", model=OfflineResponder()))
    assert "Bristol" in text_of(events) and "Oslo" in text_of(events)


def test_offline_what_comes_by_itself_is_enough_where_nothing_else_is_given(principal: Principal) -> None:
    decide(principal, recall_mode="push")
    remember_fact(principal, text="Lives in Bristol", key="home_city")
    assert "Bristol" in text_of(list(run_turn(principal, text=ASKED, model=OfflineResponder())))
    list(run_turn(principal, text="I moved to Oslo", model=OfflineResponder()))
    assert Fact.objects.get(superseded_by__isnull=True).text.endswith("Oslo")
    called = [each["name"] for message in Message.objects.all() for each in message.tool_calls]
    assert set(called) == {"recall_memory", "write_memory"}
    assert not Message.objects.filter(text__contains="You cannot recall").exists()


def test_the_turn_notes_what_it_made_use_of(principal: Principal) -> None:
    remember_fact(principal, text="Lives in Edinburgh", key="home_city")
    remember_fact(principal, text="Has two cats called Miso and Pixel")
    list(run_turn(principal, text=ASKED, model=ScriptedModel(say("You live in Edinburgh."))))
    used = {
        Fact.objects.get(pk=mention.memory_id).text: mention.used
        for mention in Mention.objects.filter(relation=Relation.RECALLED)
    }
    assert used == {"Lives in Edinburgh": True, "Has two cats called Miso and Pixel": False}
    assert only_turn(principal).answer == "You live in Edinburgh."


def test_without_a_policy_the_defaults_hold() -> None:
    boundary = Boundary()
    assert boundary.policy == Policy(recall_mode=RecallMode.HYBRID)
    assert boundary.settled_items == 2
    assert Boundary(Policy(recall_items=1)).settled_items == 0
