"""One strict JSON answer to one question, from any OpenAI-compatible endpoint.

Invariant: `ask` returns an answer of exactly the shape that was asked for, or raises NoAnswer. Whether the endpoint
knows JSON schemas makes no difference: what comes is read and checked here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from memories.constants import MAX_JSON_ANSWER_TOKENS
from memories.llm import sentences
from memories.llm.base import Cause, ChatMessage, Finished, ModelFault, StopReason, Text, Usage
from memories.llm.completions import Completions
from memories.llm.json_schema import strict_schema
from memories.llm.streamed_text import storable_json

Shape = TypeVar("Shape", bound=BaseModel)

# What some models put around the JSON: their thoughts before it, a fence of Markdown around it.
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class JsonAnswer(Generic[Shape]):
    """An answer: checked, and as the plain values that came."""

    value: Shape
    plain: dict[str, Any]
    usage: Usage


class NoAnswer(ModelFault):
    """No usable answer. `output` is what came of it, for the record; the message quotes none of it."""

    def __init__(self, fault: ModelFault, *, output: str, usage: Usage) -> None:
        super().__init__(fault.message, retryable=fault.retryable, cause=fault.cause, retry_after=fault.retry_after)
        self.output = output
        self.usage = usage


class JsonAnswers(Completions):
    """Asks one model. Safe to share between threads."""

    def ask(
        self,
        messages: Sequence[ChatMessage],
        shape: type[Shape],
        *,
        name: str,
        max_tokens: int = MAX_JSON_ANSWER_TOKENS,
    ) -> JsonAnswer[Shape]:
        """The answer to `messages`, whose first are the instructions. Raises NoAnswer."""
        schema = {"name": name, "strict": True, "schema": strict_schema(shape)}
        request = {
            "messages": list(messages),
            "temperature": 0,
            "max_tokens": max_tokens,
            "response_format": {"type": "json_schema", "json_schema": schema},
        }
        texts: list[str] = []
        usage = Usage()
        try:
            for output in self.outputs(request):
                if isinstance(output, Text):
                    texts.append(output.text)
                elif isinstance(output, Finished):
                    usage = output.usage
                    _check_end(output.reason)
            return _checked("".join(texts), shape, usage)
        except ModelFault as fault:
            raise NoAnswer(fault, output="".join(texts), usage=usage) from None


def _check_end(reason: StopReason) -> None:
    if reason is StopReason.LENGTH:
        raise ModelFault(sentences.CUT_SHORT, retryable=True)
    if reason is StopReason.CONTENT_FILTER:
        raise ModelFault(sentences.FILTERED, retryable=False, cause=Cause.REFUSAL)


def _checked(text: str, shape: type[Shape], usage: Usage) -> JsonAnswer[Shape]:
    text = _THOUGHTS.sub("", text)
    if not text.strip():
        raise ModelFault(sentences.EMPTY, retryable=True)
    if fenced := _FENCE.match(text):
        text = fenced[1]
    try:
        plain = storable_json(json.loads(text, parse_constant=_no_constant))
    except (ValueError, RecursionError):
        raise ModelFault(sentences.NOT_JSON, retryable=True) from None
    if not isinstance(plain, dict):
        raise ModelFault(sentences.OTHER_JSON, retryable=True)
    try:
        return JsonAnswer(shape.model_validate_json(json.dumps(plain), strict=True), plain, usage)
    except ValidationError:
        raise ModelFault(sentences.OTHER_JSON, retryable=True) from None


def _no_constant(name: str) -> float:
    raise ValueError(name)
