"""Pydantic AI: a capability that recalls before a run of an agent and hands in what was said after it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import Agent, AgentRunResult, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import Model

from memoryhub_client import AsyncClient
from memoryhub_client.types import Learn, NewMessage


@dataclass
class Deps:
    user_id: str


@dataclass
class MemoryhubMemory(AbstractCapability[Deps]):
    client: AsyncClient
    learn: Learn = "background"
    recalled: str = ""

    async def for_run(self, ctx: RunContext[Deps]) -> MemoryhubMemory:
        return replace(self)  # runs at the same time do not share what was recalled

    async def before_run(self, ctx: RunContext[Deps]) -> None:
        if isinstance(ctx.prompt, str):
            self.recalled = (await self.client.for_user(ctx.deps.user_id).context(ctx.prompt)).prompt

    def get_instructions(self) -> Callable[[], str]:
        return lambda: self.recalled

    async def after_run(self, ctx: RunContext[Deps], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        if isinstance(ctx.prompt, str):
            said: list[NewMessage] = [{"role": "user", "content": ctx.prompt}]
            if result.response.text:
                said.append({"role": "assistant", "content": result.response.text})
            user = self.client.for_user(ctx.deps.user_id)
            await user.messages(said, session=ctx.conversation_id, learn=self.learn)
        return result


async def main(model: Model | str, user_id: str = "alice") -> None:
    async with AsyncClient(os.environ["MEMORYHUB_URL"], token=os.environ["MEMORYHUB_KEY"], app="travel") as client:
        agent = Agent(model, deps_type=Deps, capabilities=[MemoryhubMemory(client, learn="now")])
        for text in ("I live in Bristol.", "I moved to Edinburgh.", "Where do I live?"):
            print((await agent.run(text, deps=Deps(user_id))).output)


if __name__ == "__main__":
    asyncio.run(main("openai:gpt-5"))
