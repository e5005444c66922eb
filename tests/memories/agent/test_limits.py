"""The limits of a turn: what each mode sends to a model, and within which bounds of items and tokens."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence

import pytest
from pytest_django import Settings

from memories.agent.events import MemoriesRecalled, TurnFinished
from memories.agent.limits import TurnLimits
from memories.agent.loop import run_turn
from memories.agent.tool_schemas import tool_schemas
from memories.constants import MAX_PINNED_FACTS, PINNED_TOKENS
from memories.llm import tokens
from memories.llm.base import ChatMessage, Finished, Output, StopReason, TextPiece, Usage
from memories.llm.tokens import ModelTokens, estimated_prompt
from memories.models import Fact, Message, RecallTrace
from memories.services.facts.remember import remember_fact
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.sessions import start_session
from memories.services.sessions.working_memory import set_task
from memoryhub.env.limits import DAY, DEFAULT_LIMITS
from memoryhub.limits import Quota, take
from tenants.principal import Principal
from tests.memories.agent.boundaries import answered, decide, offered, texts, told
from tests.memories.agent.conftest import FakeRecall, ScriptedModel, say
from tests.openai_server import Call, Say

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_ratios", OrderedDict())


ASKED = "Where do I live?"
PINNED = ("recall_memory", "what the user pinned")


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
    assert (pinned[:2], texts(pinned[2])) == (PINNED, ["Is called Ada"])
    assert [each[:2] for each in recalls] == ([("recall_memory", ASKED)] if by_itself else [])
    if by_itself:
        assert "Lives in Edinburgh" in texts(recalls[0][2])
    assert offered(request) == [
        schema["function"]["name"]
        for schema in tool_schemas()
        if offers or schema["function"]["name"] != "recall_memory"
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
        took = int(1.5 * estimated_prompt(messages, tool_schemas()))
        return [TextPiece("Hi"), Finished(StopReason.DONE, Usage(took, 1))]

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


def test_pinned_facts_are_bounded_in_items_and_tokens() -> None:
    many = pinned_facts(*[("", f"Fact {number}") for number in range(50)])
    assert len(json.loads(TurnLimits().pinned(many)[0])["memories"]) == MAX_PINNED_FACTS
    long = pinned_facts(*[("", f"{number} " + "蜜蜂" * 200) for number in range(9)], ("name", "Ada"))
    content, kept = TurnLimits().pinned(long)
    assert tokens.estimated(content) <= PINNED_TOKENS
    assert json.loads(content)["memories"][0]["text"] == "Ada"
    assert 2 <= len(json.loads(content)["memories"]) == len(kept) < 9


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


@pytest.mark.parametrize(
    ("end", "least", "most"),
    [
        pytest.param(Finished(StopReason.DONE, Usage(700, 50)), 748, 750, id="as the endpoint reports"),
        pytest.param(Finished(StopReason.DONE), 1_000, 9_000, id="estimated where it reports nothing"),
        pytest.param(Finished(StopReason.LENGTH, Usage(700, 50)), 748, 750, id="of an answer that failed"),
    ],
)
def test_the_tokens_of_a_turn_are_taken_from_the_budgets_of_member_and_tenant(
    principal: Principal, settings: Settings, end: Finished, least: int, most: int
) -> None:
    own = settings.MEMORYHUB_LIMITS = dict.fromkeys(DEFAULT_LIMITS, 10000)
    list(run_turn(principal, text=ASKED, model=ScriptedModel([TextPiece("In Leeds."), end])))
    for name, key in (("member_model_tokens", principal.membership_id), ("tenant_model_tokens", principal.tenant_id)):
        (use,) = take([Quota(name, str(key), own[name], DAY, 0)])
        assert least <= 10_000 - use.remaining <= most


def test_a_turn_without_a_language_model_takes_no_tokens(principal: Principal) -> None:
    list(run_turn(principal, text=ASKED))
    (use,) = take([Quota("member_model_tokens", str(principal.membership_id), 1_000, DAY, 0)])
    assert use.remaining == 1_000
