"""LiteLLM: a callback that recalls before a call of a model and hands in what was said after it.

For asynchronous calls, streams too. Those without `user` are left as they are; `metadata={"session_id": …}` names the
conversation. Whoever sets `user` says whose memory is read: on a proxy, set it by the key.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

import litellm
from litellm.integrations.custom_logger import CustomLogger
from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER

from memoryhub_client import AsyncClient
from memoryhub_client.types import Learn, NewMessage


class MemoryhubCallback(CustomLogger):
    def __init__(self, client: AsyncClient, learn: Learn = "background") -> None:
        super().__init__()
        self._client, self._learn = client, learn

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        messages = kwargs.get("messages") or []
        asked = next((each["content"] for each in reversed(messages) if each["role"] == "user"), None)
        if not kwargs.get("user") or not isinstance(asked, str):
            return None
        found = await self._client.for_user(kwargs["user"]).context(asked)
        if not found.prompt:
            return None
        place = next(place for place, each in enumerate(messages) if each["role"] not in ("system", "developer"))
        record = {"role": "system", "content": found.prompt}
        return {**kwargs, "messages": [*messages[:place], record, *messages[place:]]}

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        latest = (kwargs.get("messages") or [{}])[-1]
        if kwargs.get("user") and latest.get("role") == "user" and isinstance(latest["content"], str):
            said: list[NewMessage] = [{"role": "user", "content": latest["content"]}]
            if answer := response_obj.choices[0].message.content:
                said.append({"role": "assistant", "content": answer})
            session = (kwargs["litellm_params"].get("metadata") or {}).get("session_id")
            await self._client.for_user(kwargs["user"]).messages(said, session=session, learn=self._learn)


async def main(model: str, user_id: str = "alice") -> None:
    async with AsyncClient(os.environ["MEMORYHUB_URL"], token=os.environ["MEMORYHUB_KEY"], app="travel") as client:
        litellm.callbacks = [MemoryhubCallback(client, learn="now")]
        for text in ("I live in Bristol.", "I moved to Edinburgh.", "Where do I live?"):
            said = [{"role": "user", "content": text}]
            answer = await litellm.acompletion(model=model, messages=said, user=user_id)
            print(answer.choices[0].message.content)
            await asyncio.sleep(0)  # LiteLLM calls back after the answer: let it begin, and wait for its end
            await GLOBAL_LOGGING_WORKER.flush()


if __name__ == "__main__":
    asyncio.run(main("openai/gpt-5"))
