"""LangChain's agents with the middleware, and the retriever."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

pytest.importorskip("langchain.agents", reason="LangChain is not installed (make integrations)")

from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime

from memoryhub_client import Client, MemoryhubError
from memoryhub_client.langchain import MemoryhubMiddleware, MemoryhubRetriever
from memoryhub_client.outages import LONGEST
from tests.integrations.parrot import Parrot

pytestmark = pytest.mark.long


def asked(text: str) -> dict[str, Any]:
    return {"messages": [("user", text)]}


def test_an_agent_recalls_before_and_hands_in_after(client: Client) -> None:
    agent = create_agent(
        Parrot(),
        system_prompt="Be brief.",
        middleware=[MemoryhubMiddleware(client, learn="now")],
        checkpointer=InMemorySaver(),
    )
    first = agent.invoke(asked("I moved to Edinburgh."), {"configurable": {"thread_id": "monday"}})
    second = agent.invoke(asked("Where do I live?"), {"configurable": {"thread_id": "tuesday"}})
    assert first["messages"][-1].text == "Be brief."
    answer = second["messages"][-1].text
    assert answer.startswith("Be brief.\n\n") and "Edinburgh" in answer
    assert [each.type for each in second["messages"]] == ["human", "ai"] and "memoryhub_context" not in second
    assert [fact.text for fact in client.memories.list()] == ["Lives in Edinburgh"]


def test_the_blocks_of_a_system_message_stay_as_they_are(client: Client) -> None:
    asked_with: list[Any] = []

    class Listener(Parrot):
        def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> Any:
            asked_with.append(messages[0].content)
            return super()._generate(messages)

    client.memories.write("Lives in Edinburgh.")
    block = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    middleware = [MemoryhubMiddleware(client, learn="off")]
    create_agent(Listener(), system_prompt=SystemMessage([block]), middleware=middleware).invoke(
        asked("Where do I live?")
    )
    ((own, recalled),) = asked_with
    assert own == block and "Lives in Edinburgh" in recalled["text"]


def test_each_run_hands_in_its_own_messages_alone(client: Client) -> None:
    agent = create_agent(Parrot(), middleware=[MemoryhubMiddleware(client, learn="off")], checkpointer=InMemorySaver())
    for text in ("Hello.", "I have a cat.", "It is called Miso."):
        agent.invoke(asked(text), {"configurable": {"thread_id": "one"}})
    (session,) = client.sessions.list()
    said = sorted(episode.text for episode in client.memories.list("episodic", session=session.id))
    assert said == ["Hello.", "I have a cat.", "It is called Miso."]


async def test_a_backend_key_acts_for_the_user_of_the_run(url: str, key: str, user: str) -> None:
    with Client(url, token=key) as backend:
        backend.for_user(user).memories.write("Lives in Edinburgh.")
        agent = create_agent(
            Parrot(),
            middleware=[MemoryhubMiddleware(backend, user=lambda runtime: runtime.context["user"], learn="now")],
        )
        own = await agent.ainvoke(asked("Where do I live?"), context={"user": user})
        other = await agent.ainvoke(asked("Where do I live?"), context={"user": f"{user}-other"})
    assert "Edinburgh" in own["messages"][-1].text
    assert "Edinburgh" not in other["messages"][-1].text


def test_in_an_outage_a_run_goes_on_without_memory(unanswered: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        answer = create_agent(Parrot(), middleware=[MemoryhubMiddleware(unanswered)]).invoke(asked("Where do I live?"))
    assert answer["messages"][-1].text == "Nothing."
    assert caplog.text.count("the agent goes on without it") == 2  # before the answer, and after it
    state: Any = {"messages": [HumanMessage("Hello.")]}
    nothing = {"memoryhub_context": ""}  # in place of what the run before recalled
    assert MemoryhubMiddleware(unanswered).before_agent(state, Runtime()) == nothing
    raising = create_agent(Parrot(), middleware=[MemoryhubMiddleware(unanswered, on_outage="raise")])
    with pytest.raises(MemoryhubError):
        raising.invoke(asked("Where do I live?"))


def test_of_a_long_message_the_beginning_is_sent(listened: Client, requests_seen: list[str]) -> None:
    create_agent(Parrot(), middleware=[MemoryhubMiddleware(listened)]).invoke(asked("a" * (LONGEST + 1)))
    recalled, handed_in = map(json.loads, requests_seen)
    assert recalled["query"] == handed_in["messages"][0]["content"] == "a" * LONGEST


def test_a_retriever_returns_memories_as_documents(client: Client) -> None:
    written = client.memories.write("Lives in Edinburgh.", metadata={"trip": {"to": "Oslo"}})
    client.memories.write("Plays the cello.")
    (found,) = MemoryhubRetriever(client=client, k=1).invoke("Where does she live?")
    assert (found.id, found.page_content) == (written.memory_id, "Lives in Edinburgh.")
    assert found.metadata["kind"] == "semantic" and "same meaning" in found.metadata["reasons"]
    to_oslo = {"field": "metadata.trip.to", "op": "eq", "value": "Oslo"}
    filtered = MemoryhubRetriever(client=client, filters=to_oslo).invoke("What does she play?")
    assert [each.id for each in filtered] == [written.memory_id]
