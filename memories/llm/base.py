"""Interface between the agent loop and a language model, and quoting of user text inside prompts.

`ChatModel.stream` yields text and tool calls in order and ends with one Finished, or raises ModelFault. While the model
is silent it yields Silence, so its consumer is never blocked for long; where its consumer suspends, it yields Waiting.
"""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from memories.errors import ModelUnavailable

# Messages and tools in the form of the chat-completions protocol.
ChatMessage = Mapping[str, Any]
ToolSchema = Mapping[str, Any]


class FaultCause(StrEnum):
    """Cause of a fault, which determines the remedy.

    ENDPOINT: down, slow or busy, or the answer was lost; wait. ANSWER: unusable; ask again. TOO_MUCH: the request is
    too long or was refused; send less. REFUSAL: the model or its filter declined. CONFIGURATION: the key, the model
    name or the URL is wrong.
    """

    ENDPOINT = "endpoint"
    ANSWER = "answer"
    TOO_MUCH = "too_much"
    REFUSAL = "refusal"
    CONFIGURATION = "configuration"


class ModelFault(ModelUnavailable):
    """The model gave no usable answer.

    `message` is a sentence for the user, without keys or URLs. `retry_after` is the wait in seconds that the endpoint
    asks for, or 0 if it names none.
    """

    def __init__(
        self, message: str, *, retryable: bool, cause: FaultCause = FaultCause.ANSWER, retry_after: float = 0.0
    ) -> None:
        super().__init__(message)
        self.message = message
        self.retryable = retryable
        self.cause = cause
        self.retry_after = retry_after


_ends: ContextVar[float | None] = ContextVar("answers_end", default=None)


@contextmanager
def answers_within(seconds: float) -> Iterator[None]:
    """Cut every call of a model in the block off, `seconds` from now; a call that is cut off raises ModelFault."""
    token = _ends.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _ends.reset(token)


def time_left() -> float:
    """The seconds that a call of a model may take now; infinite outside of `answers_within`."""
    ends = _ends.get()
    return math.inf if ends is None else max(0.0, ends - time.monotonic())


class StopReason(StrEnum):
    """Reason why a model stopped."""

    DONE = "done"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A complete tool call; `arguments` is the model's raw text, which may not be valid JSON."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call as reported by the endpoint; None if not reported."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of one model call."""

    reason: StopReason
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Silence:
    """A period without output while the model is still running. The consumer may keep waiting or stop."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """There is nothing to do until the model says something, or for `seconds`: whoever resumes the consumer waits.

    `when_some` calls its argument once there is output, on any thread.
    """

    when_some: Callable[[Callable[[], object]], object]
    seconds: float

    def wait(self) -> None:
        """Wait on this thread."""
        some = threading.Event()
        self.when_some(some.set)
        some.wait(self.seconds)

    async def over(self) -> None:
        """Wait on the running loop."""
        loop, some = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(some.set)

        self.when_some(wake)
        with suppress(TimeoutError):
            async with asyncio.timeout(self.seconds):
                await some.wait()


Output = TextPiece | ToolCall | Silence | Waiting | Finished


class ChatModel(Protocol):
    """A language model. If `offline`, it is a built-in responder instead, and every page says so."""

    @property
    def name(self) -> str:
        """The display name."""
        ...

    @property
    def offline(self) -> bool:
        """True for a built-in responder that is not a language model."""
        ...

    def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSchema], *, may_call_tools: bool
    ) -> Generator[Output]:
        """Stream the answer to `messages`.

        Raises ModelFault, possibly after some output. Closing the generator stops the model.
        """
        ...


def quoted(value: object) -> str:
    """Encode as JSON with `<` escaped, so that user text cannot close a tag of the prompt."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
