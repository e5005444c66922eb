"""Google ADK: a memory service, searched before each answer, and a callback that adds what was said."""

from __future__ import annotations

import asyncio
import os

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.events import Event
from google.adk.memory import BaseMemoryService
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools import preload_memory
from google.genai.types import Content, Part

from memoryhub_client import AsyncClient
from memoryhub_client.types import Learn, NewMessage


class MemoryhubService(BaseMemoryService):
    def __init__(self, client: AsyncClient, learn: Learn = "background") -> None:
        self._client, self._learn = client, learn

    async def add_session_to_memory(self, session: Session) -> None:
        said = [each for each in map(_message, session.events) if each["content"]]
        user = self._client.for_user(session.user_id)
        for start in range(0, len(said), 100):  # a call takes 100 messages, and stores each id once
            await user.messages(said[start : start + 100], session=session.id, learn=self._learn)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        found = await self._client.for_user(user_id).recall(query, limit=10)
        entries = [(each.id, Content(parts=[Part(text=each.text)]), str(each.since or "")) for each in found.items]
        return SearchMemoryResponse(memories=[MemoryEntry(id=i, content=c, timestamp=t) for i, c, t in entries])


def _message(event: Event) -> NewMessage:
    parts = (event.content and event.content.parts) or []
    text = "".join(part.text for part in parts if part.text and not part.thought)
    return {"role": "user" if event.author == "user" else "assistant", "content": text, "id": event.id}


async def add_to_memory(callback_context: CallbackContext) -> None:
    await callback_context.add_session_to_memory()


async def main(model: BaseLlm | str, user_id: str = "alice") -> None:
    async with AsyncClient(os.environ["MEMORYHUB_URL"], token=os.environ["MEMORYHUB_KEY"], app="travel") as client:
        agent = LlmAgent(name="guide", model=model, tools=[preload_memory], after_agent_callback=add_to_memory)
        memory, sessions = MemoryhubService(client, learn="now"), InMemorySessionService()
        runner = Runner(app_name="travel", agent=agent, memory_service=memory, session_service=sessions)
        for session, text in enumerate(("I live in Bristol.", "I moved to Edinburgh.", "Where do I live?")):
            await runner.run_debug(text, user_id=user_id, session_id=f"day-{session}")


if __name__ == "__main__":
    asyncio.run(main("gemini-3.5-flash"))
