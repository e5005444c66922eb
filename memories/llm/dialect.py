"""What an endpoint turns out not to know of the chat-completions protocol, and how it is asked instead.

Invariant: a request is changed only after the endpoint refused it and named what it refused; each change is made once,
so asking again ends. An endpoint that knows no JSON schemas reads the schema in the instructions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import openai

_REFUSALS = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
_LIMIT, _NEW_LIMIT = "max_tokens", "max_completion_tokens"
_SCHEMA, _OBJECT = "json_schema", "json_object"
_FORMAT = re.compile(r"response.?format|json.?(schema|object|mode)|structured.?output", re.IGNORECASE)
# By what words an endpoint names something that may have been sent.
_NAMES: Mapping[str, re.Pattern[str]] = {
    "stream_options": re.compile("stream_options"),
    "temperature": re.compile("temperature"),
    _LIMIT: re.compile(rf"\b{_LIMIT}\b"),
    _NEW_LIMIT: re.compile(rf"\b{_NEW_LIMIT}\b"),
    _SCHEMA: _FORMAT,
    _OBJECT: _FORMAT,
}
_FOLLOWS = "\n\nAnswer with one JSON object and nothing else. It has to follow this JSON schema:\n{}"


class Dialect:
    """What one endpoint refused so far. Safe to share between threads: it only ever learns."""

    def __init__(self) -> None:
        self._refused: set[str] = set()

    def fitted(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """`request` without what the endpoint refuses, said otherwise where that is possible."""
        fitted = dict(request)
        for name in self._refused & {"stream_options", "temperature"}:
            fitted.pop(name, None)
        if _LIMIT in self._refused and _LIMIT in fitted:
            fitted[_NEW_LIMIT] = fitted.pop(_LIMIT)
            if _NEW_LIMIT in self._refused:
                del fitted[_NEW_LIMIT]
        if _SCHEMA in self._refused and "response_format" in fitted:
            schema = fitted["response_format"][_SCHEMA]["schema"]
            fitted["messages"] = _with_schema(fitted["messages"], schema)
            fitted["response_format"] = {"type": _OBJECT}
            if _OBJECT in self._refused:
                del fitted["response_format"]
        return fitted

    def learns(self, error: Exception, sent: Mapping[str, Any]) -> bool:
        """Whether the endpoint refused something in `sent` that it need not be asked; then ask it again."""
        if not isinstance(error, openai.APIStatusError) or error.status_code not in _REFUSALS:
            return False
        words = str(error)
        refused = next((name for name in _sent(sent) if _NAMES[name].search(words)), None)
        if refused:
            self._refused.add(refused)
        return bool(refused)


def _sent(request: Mapping[str, Any]) -> list[str]:
    form = request.get("response_format", {}).get("type", "")
    return [name for name in _NAMES if name in request or name == form]


def _with_schema(messages: list[dict[str, Any]], schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages, with the schema at the end of the first: the instructions."""
    instructions, *others = messages
    told = instructions["content"] + _FOLLOWS.format(json.dumps(schema, ensure_ascii=False))
    return [{**instructions, "content": told}, *others]
