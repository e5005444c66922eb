"""One validated JSON answer from any OpenAI-compatible endpoint.

`ask` returns an answer of exactly the requested shape or raises NoAnswer, whether or not the endpoint supports JSON
schemas, because the answer is validated here. Strict schemas require every property and allow no other. Constraints
that some endpoints reject are omitted from the schema and checked by the pydantic model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from memories.constants import MAX_JSON_ANSWER_TOKENS
from memories.llm import tokens
from memories.llm.base import ChatMessage, FaultCause, Finished, ModelFault, StopReason, TextPiece, Usage
from memories.llm.completions import Completions
from memories.llm.streaming import storable_json

_KEPT = frozenset({"anyOf", "description", "enum", "items", "type"})


@cache
def strict_schema(model: type[BaseModel]) -> Mapping[str, Any]:
    """Return the strict JSON schema of `model`, with nested models under `$defs`. Cached per model."""
    schema = model.model_json_schema()
    parts = {name: _strict(part) for name, part in schema.get("$defs", {}).items()}
    return _strict(schema) | ({"$defs": parts} if parts else {})


def _strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}  # strict schemas allow no siblings of $ref
    strict = {name: _inner(value) for name, value in schema.items() if name in _KEPT}
    if "const" in schema:
        strict["enum"] = [schema["const"]]
    if schema.get("type") == "object":
        strict.pop("description", None)  # the model's docstring is for people
        properties = {name: _strict(value) for name, value in schema.get("properties", {}).items()}
        strict |= {"properties": properties, "required": [*properties], "additionalProperties": False}
    return strict


def _inner(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _strict(value)
    return [_inner(item) for item in value] if isinstance(value, list) else value


Shape = TypeVar("Shape", bound=BaseModel)

# Some models write their reasoning before the JSON, or wrap the JSON in a Markdown fence.
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class JsonAnswer(Generic[Shape]):
    """An answer as the validated model and as the plain JSON object received."""

    value: Shape
    plain: dict[str, Any]
    usage: Usage


class NoAnswer(ModelFault):
    """The model gave no usable answer. `output` is its raw text, for the record; the message never quotes it."""

    def __init__(self, fault: ModelFault, *, output: str, usage: Usage) -> None:
        super().__init__(fault.message, retryable=fault.retryable, cause=fault.cause, retry_after=fault.retry_after)
        self.output = output
        self.usage = usage


class JsonAnswers(Completions):
    """Client for JSON answers from one model. Safe to share between threads."""

    def ask(
        self,
        messages: Sequence[ChatMessage],
        shape: type[Shape],
        *,
        name: str,
    ) -> JsonAnswer[Shape]:
        """Return the answer to `messages`, whose first message holds the instructions. Raises NoAnswer."""
        schema = {"name": name, "strict": True, "schema": strict_schema(shape)}
        request = {
            "messages": list(messages),
            "temperature": 0,
            "max_tokens": MAX_JSON_ANSWER_TOKENS,
            "response_format": {"type": "json_schema", "json_schema": schema},
        }
        texts: list[str] = []
        usage = Usage()
        try:
            for output in self.outputs(request):
                if isinstance(output, TextPiece):
                    texts.append(output.text)
                elif isinstance(output, Finished):
                    usage = output.usage
                    _check_end(output.reason)
            return _checked("".join(texts), shape, usage)
        except ModelFault as fault:
            raise NoAnswer(fault, output="".join(texts), usage=usage) from None


def _check_end(reason: StopReason) -> None:
    if reason is StopReason.LENGTH:
        raise ModelFault(tokens.CUT_SHORT, retryable=True)
    if reason is StopReason.CONTENT_FILTER:
        raise ModelFault(tokens.FILTERED, retryable=False, cause=FaultCause.REFUSAL)


def _checked(text: str, shape: type[Shape], usage: Usage) -> JsonAnswer[Shape]:
    text = _THOUGHTS.sub("", text)
    if not text.strip():
        raise ModelFault(tokens.EMPTY, retryable=True)
    if fenced := _FENCE.match(text):
        text = fenced[1]
    try:
        plain = storable_json(json.loads(text, parse_constant=_no_constant))
    except (ValueError, RecursionError):
        raise ModelFault(tokens.NOT_JSON, retryable=True) from None
    if not isinstance(plain, dict):
        raise ModelFault(tokens.OTHER_JSON, retryable=True)
    try:
        return JsonAnswer(shape.model_validate_json(json.dumps(plain), strict=True), plain, usage)
    except ValidationError:
        raise ModelFault(tokens.OTHER_JSON, retryable=True) from None


def _no_constant(name: str) -> float:
    raise ValueError(name)
