"""The interface between the agent loop and a language model, and the quoting of users' texts inside a prompt.

`ChatModel.stream` yields text and tool calls in order and ends with one Finished, or raises ModelFault. While the
model is silent it yields Silence, so its listener is never blocked for long.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from memories.errors import ModelUnavailable

# A message and a tool, in the form of the chat-completions protocol.
ChatMessage = Mapping[str, Any]
ToolSchema = Mapping[str, Any]


class FaultCause(StrEnum):
    """The cause of a fault, which tells what helps.

    ENDPOINT: down, slow or busy, or the answer got lost; wait. ANSWER: unusable; ask again. TOO_MUCH: the request is
    too long or refused; send less. REFUSAL: the model or its filter declined. CONFIGURATION: the key, the model's name
    or the address is wrong.
    """

    ENDPOINT = "endpoint"
    ANSWER = "answer"
    TOO_MUCH = "too_much"
    REFUSAL = "refusal"
    CONFIGURATION = "configuration"


class ModelFault(ModelUnavailable):
    """No usable answer. The message is a sentence for the user, without keys or addresses.

    `retry_after`: seconds that the endpoint asks to wait; 0 if it does not say.
    """

    def __init__(
        self, message: str, *, retryable: bool, cause: FaultCause = FaultCause.ANSWER, retry_after: float = 0.0
    ) -> None:
        super().__init__(message)
        self.message = message
        self.retryable = retryable
        self.cause = cause
        self.retry_after = retry_after


class StopReason(StrEnum):
    """Why a model stopped."""

    DONE = "done"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A whole tool call; `arguments` is the text from the model, which may not be valid JSON."""

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


Output = TextPiece | ToolCall | Silence | Finished


class ChatModel(Protocol):
    """A language model. `offline` says that it is no language model at all, and every page then says so."""

    @property
    def name(self) -> str:
        """What people see."""
        ...

    @property
    def offline(self) -> bool:
        """True for a responder that is no language model."""
        ...

    def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSchema], *, may_call_tools: bool
    ) -> Generator[Output]:
        """Answer `messages`. Raises ModelFault, also in the middle. Closing the generator stops the model."""
        ...


def quoted(value: object) -> str:
    """JSON in which `<` is escaped."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
