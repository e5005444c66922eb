"""Putting an answer together from the chunks of a stream.

Invariant: text comes out as it arrives; tool calls come out whole, in the order in which they began, at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memories.constants import MAX_ANSWER_CHARACTERS
from memories.llm import sentences
from memories.llm.base import Cause, ModelFault, StopReason, Text, ToolCall, Usage
from memories.llm.streamed_text import StreamedText, storable

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionChunk
    from openai.types.chat.chat_completion_chunk import ChoiceDelta, ChoiceDeltaToolCall

_STOPS = {
    "stop": StopReason.DONE,
    "tool_calls": StopReason.TOOL_CALLS,
    "function_call": StopReason.TOOL_CALLS,
    "length": StopReason.LENGTH,
    "content_filter": StopReason.CONTENT_FILTER,
}


@dataclass(slots=True)
class _Call:
    """A tool call under way. `place` and `id` are how the endpoint tells its calls apart; either may be missing."""

    place: int | None
    id: str
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class Assembly:
    """One answer. `stop` is None until the model said why it stopped."""

    def __init__(self) -> None:
        self.stop: StopReason | None = None
        self.usage = Usage()
        self._calls: list[_Call] = []
        self._text = StreamedText()
        self._characters = 0
        self._refused = False

    def texts(self, chunk: ChatCompletionChunk) -> Iterator[Text]:
        """Take in the next chunk and yield its text. Raises ModelFault if the answer outgrows its bound."""
        if chunk.usage is not None:
            self.usage = Usage(chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
        for choice in chunk.choices[:1]:
            if choice.delta is not None:
                yield from self._delta(choice.delta)
            if choice.finish_reason:
                self.stop = _STOPS.get(choice.finish_reason, StopReason.DONE)

    def stopped(self) -> StopReason:
        """Why the model stopped. Raises ModelFault if it never said so: then the answer was cut off."""
        if self.stop is None:
            raise ModelFault(sentences.BROKEN_OFF if self._characters else sentences.UNREADABLE, retryable=True)
        if self._refused:
            raise ModelFault(sentences.REFUSED, retryable=False, cause=Cause.REFUSAL)
        return self.stop

    def tool_calls(self) -> Iterator[ToolCall]:
        """The calls, whole."""
        for call in self._calls:
            yield ToolCall(storable(call.name), storable("".join(call.arguments)))

    def _delta(self, delta: ChoiceDelta) -> Iterator[Text]:
        if delta.content:
            self._count(delta.content)
            if text := self._text.feed(delta.content):
                yield Text(text)
        self._refused = self._refused or bool(delta.refusal)
        for piece in delta.tool_calls or ():
            self._add(piece)

    def _add(self, piece: ChoiceDeltaToolCall) -> None:
        call = self._call_of(piece)
        if piece.function is not None:
            call.name = call.name or _text(piece.function.name)
            call.arguments.append(_text(piece.function.arguments))
            self._count(call.arguments[-1])

    def _call_of(self, piece: ChoiceDeltaToolCall) -> _Call:
        """The call that a piece belongs to. Some endpoints number all calls 0, some give no number: ids decide then."""
        place: int | None = piece.index
        for call in reversed(self._calls):
            if call.place == place and (not piece.id or not call.id or piece.id == call.id):
                return call
        call = _Call(place, piece.id or "")
        self._calls.append(call)
        return call

    def _count(self, piece: str) -> None:
        self._characters += len(piece)
        if self._characters > MAX_ANSWER_CHARACTERS:
            raise ModelFault(sentences.TOO_LONG, retryable=True)


def _text(value: object) -> str:
    """`value` if it is text, empty if it is missing: the package hands on what came. Raises TypeError."""
    if not isinstance(value, str | None):
        raise TypeError(f"A {type(value).__name__} where a tool call has text.")
    return value or ""
