"""A chat model that answers with its system message, so that a test sees what an agent was told."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class Parrot(BaseChatModel):
    """See the module."""

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        told = "\n".join(each.text for each in messages if each.type == "system")
        return ChatResult(generations=[ChatGeneration(message=AIMessage(told or "Nothing."))])

    @property
    def _llm_type(self) -> str:
        return "parrot"
