"""LlamaIndex: a memory block that recalls for each message and hands in what leaves the short-term memory."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.memory import BaseMemoryBlock, Memory
from llama_index.core.storage.chat_store.sql import MessageStatus

from memoryhub_client import AsyncClient
from memoryhub_client.types import Learn, NewMessage

ROLES: dict[str, Any] = {"user": "user", "assistant": "assistant"}


class MemoryhubBlock(BaseMemoryBlock[str]):
    name: str = "memoryhub"
    client: AsyncClient  # of one user
    learn: Learn = "background"

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        asked = next((each.content for each in reversed(messages or []) if each.role == "user"), None)
        if not asked:
            return ""
        return (await self.client.context(asked)).prompt

    async def _aput(self, messages: list[ChatMessage]) -> None:
        said: list[NewMessage] = [
            {"role": ROLES[each.role], "content": each.content}
            for each in messages
            if each.role in ROLES and each.content
        ]
        if said:
            session = messages[0].additional_kwargs.get("session_id")
            await self.client.messages(said, session=session, learn=self.learn)


async def main(llm: FunctionCallingLLM, user_id: str = "alice") -> None:
    async with AsyncClient(os.environ["MEMORYHUB_URL"], token=os.environ["MEMORYHUB_KEY"], app="travel") as client:
        block = MemoryhubBlock(client=client.for_user(user_id), learn="now")
        said = {"monday": "I live in Bristol.", "tuesday": "I moved to Edinburgh.", "friday": "Where do I live?"}
        for session, text in said.items():
            memory = Memory.from_defaults(session_id=session, memory_blocks=[block])
            print(await FunctionAgent(llm=llm).run(text, memory=memory))
            # LlamaIndex hands a block what no longer fits: at the end of a conversation, hand in the rest.
            await block.aput(await memory.aget_all(status=MessageStatus.ACTIVE), session_id=session)


if __name__ == "__main__":
    from llama_index.llms.openai import OpenAI

    asyncio.run(main(OpenAI("gpt-5")))
