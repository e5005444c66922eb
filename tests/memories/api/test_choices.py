"""A member's switches on each way in of programs: the API, MCP, the routes of mem0, a drop-in and an import."""

from __future__ import annotations

import pytest

from memories.models import Episode, Fact, Item, Message
from memories.services.choices import choose
from memories.services.facts.remember import remember_fact
from memories.services.items import put
from tenants.principal import Principal
from tests.memories.api.caller import Caller
from tests.memories.api.dropin import HOME, asks, said, send
from tests.memories.api.mcp_caller import McpCaller
from tests.model_api import ModelApi

pytestmark = pytest.mark.django_db

SAID = "I live in Leeds."
MESSAGES = {"session": "s", "messages": [{"role": "user", "content": SAID}]}
REMEMBERED = {"said": SAID, "text": "Lives in Leeds"}
WRITES = [
    ("memories/", {"kind": "semantic", "text": SAID}),
    ("memories/", {"kind": "procedural", "title": "Brew tea", "steps": ["Boil water"]}),
    ("messages/", MESSAGES),
]


def nothing_of(ada: Caller) -> bool:
    return not any(model.objects.of(ada.principal).exists() for model in (Episode, Fact, Item, Message))


@pytest.mark.parametrize(("path", "body"), WRITES)
def test_the_api_refuses_while_paused(ada: Caller, path: str, body: dict[str, object]) -> None:
    choose(ada.principal, learns=False)
    answer = ada.post(path, body)
    assert answer.status == 409 and "Memory is paused" in answer.problem["detail"]
    assert nothing_of(ada)
    choose(ada.principal, learns=True)
    assert ada.post(path, body).status in (200, 201, 202)


def test_a_chat_turn_by_the_api_goes_on_while_paused(ada: Caller) -> None:
    choose(ada.principal, learns=False)
    assert ada.post("turns/", {"message": SAID}).status == 200
    assert not Episode.objects.of(ada.principal).exists() and not Fact.objects.of(ada.principal).exists()


def test_an_agent_by_mcp_is_told_that_memory_is_paused(ada: Caller) -> None:
    choose(ada.principal, learns=False)
    result = McpCaller(ada).request("tools/call", name="remember", arguments=REMEMBERED)
    assert result["isError"] and "Memory is paused" in result["content"][0]["text"]
    assert nothing_of(ada)


def test_a_drop_in_passes_on_and_stores_nothing_while_paused(ada: Caller, api: ModelApi) -> None:
    choose(ada.principal, learns=False)
    reply = send(ada, "chat/completions", asks("chat/completions", HOME))
    assert reply.status == 200 and reply.headers["X-Memoryhub-Memory"] == "read"
    assert not said(ada) and nothing_of(ada)


def test_recall_that_is_off_reaches_no_program(ada: Caller, api: ModelApi) -> None:
    remember_fact(ada.principal, text="Lives in Leeds", key="home_city")
    choose(ada.principal, recalls=False)
    assert ada.post("recall/", {"query": "Where do I live?"}).json["items"] == []
    assert "Leeds" not in ada.post("context/", {"query": "Where do I live?"}).text
    mcp = McpCaller(ada)
    assert "Leeds" not in str(mcp.tool("recall", query="Where do I live?"))
    assert "Leeds" not in str(mcp.request("prompts/get", name="about_me", arguments={}))
    send(ada, "chat/completions", asks("chat/completions", HOME))
    assert "Leeds" not in str(api.last.body)


def test_a_program_finds_nothing_by_a_question_while_recall_is_off_and_still_lists(ada: Caller) -> None:
    remember_fact(ada.principal, text="Lives in Leeds", key="home_city")
    put(ada.principal, namespace=["notes"], key="home", value="Leeds")
    choose(ada.principal, recalls=False)
    assert ada.post("items/search/", {"query": "Leeds"}).json["results"] == []
    for listed in (ada.get("memories/?kind=semantic"), ada.post("items/search/", {}), ada.get("export/")):
        assert "Leeds" in listed.text
    assert "Leeds" in str(McpCaller(ada).tool("list", kind="semantic"))


def test_a_session_is_not_noted_on_while_paused(ada: Caller) -> None:
    session = ada.post("sessions/", {}).json["id"]
    choose(ada.principal, learns=False)
    for answer in (
        ada.patch(f"sessions/{session}/working-memory/", {"goal": "Move to Leeds"}),
        ada.post(f"sessions/{session}/end/", {"learned": [SAID]}),
    ):
        assert answer.status == 409 and "Memory is paused" in answer.problem["detail"]


@pytest.mark.parametrize(("path", "body"), WRITES[:1] + WRITES[2:])
def test_a_topic_of_the_member_is_kept_out(ada: Caller, path: str, body: dict[str, object]) -> None:
    choose(ada.principal, never_topics=["Home: live, leeds"])
    ada.post(path, body)
    assert "“Home”" in str(McpCaller(ada).request("tools/call", name="remember", arguments=REMEMBERED))
    assert not Episode.objects.of(ada.principal).exists() and not Fact.objects.of(ada.principal).exists()


def test_a_topic_of_the_member_is_kept_out_of_a_drop_in(ada: Caller, api: ModelApi) -> None:
    choose(ada.principal, never_topics=["Home: live, leeds, Bristol, home"])
    assert send(ada, "chat/completions", asks("chat/completions", HOME)).status == 200
    assert not Episode.objects.of(ada.principal).exists()


def test_the_switches_of_another_member_change_nothing(ada: Caller, other_member: Principal) -> None:
    choose(other_member, learns=False, recalls=False)
    assert ada.post(*WRITES[0]).status == 201
    assert ada.post("recall/", {"query": "Leeds"}).json["items"]
