"""A streaming conversation with a model at an endpoint; see ChatModel."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from memories.constants import MODEL_SILENCE_SECONDS
from memories.llm.base import ChatMessage, Output, ToolSchema
from memories.llm.completions import Completions
from memories.llm.streaming import heard


class OpenAIChat(Completions):
    """A ChatModel. Safe to share between threads."""

    offline = False

    def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSchema], *, may_call_tools: bool
    ) -> Generator[Output]:
        """Answer `messages`; see ChatModel."""
        request: dict[str, Any] = {"messages": list(messages)}
        if tools:
            request |= {"tools": list(tools), "tool_choice": "auto" if may_call_tools else "none"}
        return heard(self.outputs(request), silence_seconds=MODEL_SILENCE_SECONDS)
