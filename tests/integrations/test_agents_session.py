"""Sessions of the OpenAI Agents SDK on items."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("agents.memory", reason="the OpenAI Agents SDK is not installed (make integrations)")

from agents import Agent, Runner, SessionSettings
from agents.memory import Session
from agents.testing import ScriptedModel, assistant_message

from memoryhub_client import AsyncClient, Client, MemoryhubError
from memoryhub_client.agents import MemoryhubSession, with_context
from memoryhub_client.outages import LONGEST

pytestmark = pytest.mark.long


@pytest.fixture
async def async_client(url: str, key: str, user: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(url, token=key, user_id=user) as client:
        yield client


def said(*texts: str) -> list[Any]:
    return [{"role": "user", "content": text} for text in texts]


async def test_a_history_is_kept_in_order_and_cut_to_its_latest(async_client: AsyncClient) -> None:
    session = MemoryhubSession("one", async_client)
    assert isinstance(session, Session)
    await session.add_items(said("a", "b"))
    await session.add_items([])
    await session.add_items([{"type": "function_call", "name": "f", "arguments": '{"x": "ü"}', "call_id": "1"}])
    await session.add_items(said("c"))
    history = await session.get_items()
    assert [each.get("content") for each in history] == ["a", "b", None, "c"] and history[2][
        "arguments"
    ] == '{"x": "ü"}'
    assert await session.get_items(limit=3) == history[1:]
    assert await session.get_items(limit=0) == []
    session.session_settings = SessionSettings(limit=1)
    assert await session.get_items() == history[3:]
    assert await MemoryhubSession("two", async_client).get_items() == []


async def test_items_are_popped_from_the_end(client: Client) -> None:
    session = MemoryhubSession("one", client)
    await session.add_items(said("a", "b"))
    await session.add_items(said("c"))
    assert await session.pop_item() == said("c")[0]
    assert await session.pop_item() == said("b")[0]
    await session.add_items(said("d"))
    assert await session.get_items() == said("a", "d")
    assert [await session.pop_item() for _ in range(3)] == [*said("d", "a"), None]


async def test_two_that_pop_at_once_get_two_items(client: Client) -> None:
    session = MemoryhubSession("one", client)
    await session.add_items(said("a", "b", "c"))
    popped: list[Any] = await asyncio.gather(session.pop_item(), session.pop_item())
    assert sorted(each["content"] for each in popped) == ["b", "c"] and await session.get_items() == said("a")


async def test_a_long_history_is_stored_in_parts_and_cleared(client: Client) -> None:
    session = MemoryhubSession("one", client)
    texts = [f"{number} {'word ' * 4000}" for number in range(8)]
    await session.add_items(said(*texts))
    assert await session.get_items() == said(*texts)
    assert len(client.items.search(limit=100).results) == 4
    await session.clear_session()
    assert await session.get_items() == []


async def test_more_than_one_page_of_a_history_is_read(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryhub_client.agents.PAGE", 3)
    session = MemoryhubSession("one", client)
    for number in range(7):
        await session.add_items(said(str(number)))
    assert await session.get_items() == said(*map(str, range(7)))
    assert await session.get_items(limit=5) == said(*map(str, range(2, 7)))


async def test_an_agent_remembers_across_sessions(client: Client) -> None:
    model = ScriptedModel([[assistant_message("Noted.")], [assistant_message("Edinburgh.")]])
    agent = Agent(name="Guide", instructions=with_context(client, "Be brief."), model=model)
    await Runner.run(agent, "I moved to Edinburgh.", session=MemoryhubSession("monday", client, learn="now"))
    answer = await Runner.run(agent, "Where do I live?", session=MemoryhubSession("tuesday", client))
    assert answer.final_output == "Edinburgh."
    told = model.calls[-1].system_instructions or ""
    assert told.startswith("Be brief.\n\n") and "Lives in Edinburgh" in told


async def test_in_an_outage_a_run_goes_on_with_its_own_instructions(
    unanswered: Client, caplog: pytest.LogCaptureFixture
) -> None:
    model = ScriptedModel([[assistant_message("Hello.")]])
    with caplog.at_level(logging.WARNING):
        await Runner.run(Agent(name="Guide", instructions=with_context(unanswered, "Be brief."), model=model), "Hello.")
    assert model.calls[-1].system_instructions == "Be brief." and "the agent goes on without it" in caplog.text
    raising = Agent(name="Guide", instructions=with_context(unanswered, on_outage="raise"), model=model)
    with pytest.raises(MemoryhubError):
        await Runner.run(raising, "Hello.")


async def test_of_a_long_message_the_beginning_is_recalled_for(listened: Client, requests_seen: list[str]) -> None:
    model = ScriptedModel([[assistant_message("Hello.")]])
    await Runner.run(Agent(name="Guide", instructions=with_context(listened), model=model), "a" * (LONGEST + 1))
    assert [json.loads(each)["query"] for each in requests_seen] == ["a" * LONGEST]
