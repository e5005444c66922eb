"""What the agent loop asks of a language model, whichever it is.

Invariant: `ChatModel.stream` yields text and tool calls in order and ends with one Finished, or raises ModelFault. It
never keeps a listener for long without a word: while nothing comes it yields Silence.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from memories.errors import ModelUnavailable

# A message and a tool, in the form of the chat-completions protocol.
ChatMessage = Mapping[str, Any]
ToolSchema = Mapping[str, Any]


class ModelFault(ModelUnavailable):
    """No usable answer. The message is a sentence for the user, without keys or addresses."""

    def __init__(self, message: str, *, retryable: bool) -> None:
        super().__init__(message)
        self.message = message
        self.retryable = retryable


class StopReason(StrEnum):
    """Why a model stopped."""

    DONE = "done"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A whole tool call; `arguments` is what the model wrote, which may not even be JSON."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, as the endpoint counts them; None where it does not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of one call."""

    reason: StopReason
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing came for a while; the model is still at it. Who listens may go on waiting, or leave."""


Output = Text | ToolCall | Silence | Finished


class ChatModel(Protocol):
    """A language model. `offline` says that it is no language model at all, and every page then says so."""

    @property
    def name(self) -> str:
        """What people see."""
        ...

    @property
    def offline(self) -> bool:
        """Whether this is the offline responder."""
        ...

    def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSchema], *, may_call_tools: bool
    ) -> Generator[Output]:
        """Answer `messages`. Raises ModelFault, also in the middle. Closing the generator stops the model."""
        ...
