"""OpenAI Agents SDK: an agent that remembers and recalls by itself, with the tools of memoryhub's MCP server."""

from __future__ import annotations

import asyncio
import os

from agents import Agent, Model, Runner, SQLiteSession
from agents.mcp import MCPServerStreamableHttp

INSTRUCTIONS = """You are a travel agent. Call recall before you answer what depends on the user. When the user states
something lasting, call remember, with their message in said and a key where one value holds at a time."""


async def main(model: Model | str, user_id: str = "alice") -> None:
    headers = {"Authorization": f"Bearer {os.environ['MEMORYHUB_KEY']}"}
    headers |= {"X-Memoryhub-User": user_id, "X-Memoryhub-App": "travel"}
    url = f"{os.environ['MEMORYHUB_URL']}/mcp"
    server = MCPServerStreamableHttp({"url": url, "headers": headers}, client_session_timeout_seconds=60)
    async with server as memory:
        agent = Agent(name="Guide", instructions=INSTRUCTIONS, model=model, mcp_servers=[memory])
        monday = SQLiteSession("monday")
        for text in ("I live in Bristol.", "I moved to Edinburgh."):
            await Runner.run(agent, text, session=monday)
        print((await Runner.run(agent, "Where do I live?", session=SQLiteSession("tuesday"))).final_output)


if __name__ == "__main__":
    asyncio.run(main("gpt-5"))
