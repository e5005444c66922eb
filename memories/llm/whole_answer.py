"""The chunks of an answer, also from an endpoint that was asked for a stream and answers in one piece.

Invariant: an answer in one piece gives the one chunk that a stream of it would add up to.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from openai import Stream
from openai.types.chat import ChatCompletionChunk

from memories.constants import MAX_ANSWER_CHARACTERS
from memories.llm import sentences
from memories.llm.base import ModelFault

# An answer of the greatest length, each character escaped, and as much again around it.
_MAX_BYTES = 2 * 6 * MAX_ANSWER_CHARACTERS


def chunks_of(stream: Stream[ChatCompletionChunk]) -> Iterator[ChatCompletionChunk]:
    """The chunks. Raises what a broken stream raises, and ModelFault for an answer that is too long."""
    if "application/json" in stream.response.headers.get("content-type", ""):
        yield _as_chunk(_body(stream))
    else:
        yield from stream


def _body(stream: Stream[ChatCompletionChunk]) -> Any:
    body = bytearray()
    for piece in stream.response.iter_bytes():
        body += piece
        if len(body) > _MAX_BYTES:
            raise ModelFault(sentences.TOO_LONG, retryable=True)
    return json.loads(body)


def _as_chunk(answer: Any) -> ChatCompletionChunk:
    if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list):
        raise TypeError("An answer without choices.")
    choices = [{**choice, "delta": _numbered(choice.get("message") or {})} for choice in answer["choices"]]
    chunk: ChatCompletionChunk = ChatCompletionChunk.construct(None, **{**answer, "choices": choices})
    return chunk


def _numbered(message: dict[str, Any]) -> dict[str, Any]:
    """The message with its tool calls numbered, as those of a stream are."""
    calls = enumerate(message.get("tool_calls") or ())
    return {**message, "tool_calls": [{**call, "index": index} for index, call in calls]}
