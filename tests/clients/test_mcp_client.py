"""The official MCP client against a real site, on a real socket, in both eras of the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any
from uuid import uuid4

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitRequestFormParams, ElicitResult, TextContent, TextResourceContents

from tests.proofs.site import Person

pytestmark = [pytest.mark.long, pytest.mark.parametrize("mode", ["auto", "legacy"])]

REVISION = {"auto": "2026-07-28", "legacy": "2025-11-25"}


@asynccontextmanager
async def agent(url: str, token: str, mode: str, user: str = "", **options: Any) -> AsyncIterator[Client]:
    """A connected client with this token."""
    headers = {"Authorization": f"Bearer {token}"} | ({"X-Memoryhub-User": user} if user else {})
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        async with Client(transport, mode=mode, **options) as client:
            yield client


async def texts(client: Client, name: str = "list", **arguments: Any) -> list[str]:
    """The texts of the memories that a tool gives."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error and result.structured_content is not None
    return [each["text"] for each in result.structured_content["memories"]]


def test_it_connects_lists_and_calls(url: str, person: Person, mode: str) -> None:
    async def use() -> None:
        async with agent(url, person.token, mode) as client:
            assert client.protocol_version == REVISION[mode]
            assert {"recall", "remember", "forget"} <= {tool.name for tool in (await client.list_tools()).tools}
            fact = {"text": "Lives in Leith", "said": "I live in Leith.", "key": "home_city"}
            stored = await client.call_tool("remember", fact)
            assert stored.structured_content is not None and stored.structured_content["result"] == "created"
            assert "Lives in Leith" in await texts(client, "recall", query="Where do I live?")
            (resource,) = (await client.list_resources()).resources
            (content,) = (await client.read_resource(str(resource.uri))).contents
            assert isinstance(content, TextResourceContents) and "memories" in content.text
            (message,) = (await client.get_prompt("about_me")).messages
            assert isinstance(message.content, TextContent) and "Lives in Leith" in message.content.text

    asyncio.run(use())


def test_wrong_arguments_and_names_are_told(url: str, person: Person, mode: str) -> None:
    async def use() -> None:
        async with agent(url, person.token, mode) as client:
            wrong = await client.call_tool("recall", {"question": "Where?"})
            assert wrong.is_error and isinstance(wrong.content[0], TextContent) and "query" in wrong.content[0].text
            unknown = await client.call_tool("history", {"memory_id": str(uuid4())})
            assert unknown.is_error
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool("erase", {})
            with pytest.raises(MCPError, match="no such resource"):
                await client.read_resource("memoryhub://bob")

    asyncio.run(use())


def test_a_token_that_does_not_work_connects_nobody(url: str, person: Person, mode: str) -> None:
    async def use() -> None:
        for token in (person.token[:-1], "mh_made-up"):
            with pytest.raises(BaseException) as refused:  # noqa: PT011 - it comes in a group of the client's tasks
                async with agent(url, token, mode):
                    pass
            assert refused.group_contains(MCPError, match="not valid") or "not valid" in str(refused.value)

    asyncio.run(use())


def test_forgetting_asks_the_member_where_the_client_can(url: str, person: Person, mode: str) -> None:
    asked: list[str] = []

    async def answer(_: Any, question: Any) -> ElicitResult:
        assert isinstance(question, ElicitRequestFormParams)
        asked.append(question.message)
        return ElicitResult(action="accept", content={"forget": True})

    async def use() -> None:
        async with agent(url, person.token, mode, elicitation_callback=answer) as client:
            told = await client.call_tool("remember", {"text": "Plays the viola", "said": "I play the viola."})
            assert told.structured_content is not None
            done = await client.call_tool("forget", {"memory_ids": [told.structured_content["id"]]})
            assert done.structured_content is not None
            left = await texts(client)
            if mode == "auto":
                assert done.structured_content["result"] == "forgotten" and "viola" in asked[0] and not left
            else:
                assert done.structured_content["result"] == "proposed" and not asked and left == ["Plays the viola"]

    asyncio.run(use())


def test_parallel_sessions_see_their_own_member_alone(url: str, everybody: Iterator[Person], mode: str) -> None:
    people = [*islice(everybody, 5)]

    async def use(number: int, person: Person) -> None:
        async with agent(url, person.token, mode) as client:
            await client.call_tool("remember", {"text": f"Keeps hive number {number}"})
            for _ in range(5):
                assert await texts(client) == [f"Keeps hive number {number}"]
                assert await texts(client, "recall", query="Which hive?") == [f"Keeps hive number {number}"]

    async def all_of_them() -> None:
        await asyncio.gather(*(use(number, person) for number, person in enumerate(people)))

    asyncio.run(all_of_them())


def test_a_backend_key_makes_and_reaches_users_by_name(url: str, key: str, mode: str) -> None:
    async def use() -> None:
        async with agent(url, key, mode, user="alice") as alice, agent(url, key, mode, user="bob") as bob:
            await alice.call_tool("remember", {"text": "Prefers trains"})
            assert (await texts(alice), await texts(bob)) == (["Prefers trains"], [])

    asyncio.run(use())


def test_a_cancelled_call_leaves_the_client_usable(url: str, person: Person, mode: str) -> None:
    async def use() -> None:
        async with agent(url, person.token, mode) as client:
            for seconds in (0.0, 0.001, 0.01):
                with anyio.move_on_after(seconds):
                    await client.call_tool("remember", {"text": f"Waits {seconds} seconds"})
            assert (await client.call_tool("recall", {"query": "What waits?"})).is_error is False

    asyncio.run(use())
