"""Microsoft Agent Framework: a context provider that recalls before a run and hands in what was said after it."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from agent_framework import Agent, AgentSession, ContextProvider, SessionContext, SupportsChatGetResponse

from memoryhub_client import AsyncClient
from memoryhub_client.types import Learn, NewMessage

ROLES: dict[str, Any] = {"user": "user", "assistant": "assistant"}


class MemoryhubProvider(ContextProvider):
    """The session names the user: `session.state["memoryhub"] = {"user_id": "alice"}`."""

    def __init__(self, client: AsyncClient, learn: Learn = "background") -> None:
        super().__init__("memoryhub")
        self._client, self._learn = client, learn

    async def before_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        asked = next((each.text for each in reversed(context.input_messages) if each.role == "user"), "")
        if asked:
            found = await self._client.for_user(state["user_id"]).context(asked)
            if found.prompt:
                context.extend_instructions(self.source_id, found.prompt)

    async def after_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        spoken = [*context.input_messages, *(context.response.messages if context.response else ())]
        said: list[NewMessage] = [
            {"role": ROLES[each.role], "content": each.text} for each in spoken if each.role in ROLES and each.text
        ]
        if said:
            user = self._client.for_user(state["user_id"])
            await user.messages(said, session=session.session_id, learn=self._learn)


async def main(model: SupportsChatGetResponse[Any], user_id: str = "alice") -> None:
    async with AsyncClient(os.environ["MEMORYHUB_URL"], token=os.environ["MEMORYHUB_KEY"], app="travel") as client:
        agent = Agent(model, context_providers=[MemoryhubProvider(client, learn="now")])
        for text in ("I live in Bristol.", "I moved to Edinburgh.", "Where do I live?"):
            session = agent.create_session()
            session.state["memoryhub"] = {"user_id": user_id}
            print(await agent.run(text, session=session))


if __name__ == "__main__":
    from agent_framework.openai import OpenAIChatClient

    asyncio.run(main(OpenAIChatClient(model="gpt-5")))
