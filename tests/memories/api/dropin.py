"""What the tests of drop-ins share: requests as clients of each API send them."""

from __future__ import annotations

import json
from typing import Any

from django.http.response import HttpResponseBase, StreamingHttpResponse

from memories.models import Message, MessageRole
from tests.memories.api.caller import Caller
from tests.model_api import WORDS

ANSWER = "".join(WORDS)
HOME = "I live in Bristol."
ASKED = "Where do I live?"
PATHS = ("chat/completions", "responses", "messages")
Json = dict[str, Any]


class Reply:
    """The answer to a request."""

    def __init__(self, response: HttpResponseBase) -> None:
        self.status, self.headers = response.status_code, response.headers
        streamed = isinstance(response, StreamingHttpResponse)
        self.body = b"".join(response) if streamed else bytes(response.content)  # type: ignore[attr-defined]  # it is no stream

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> Json:
        error: Json = self.json["error"]
        return error


def send(caller: Caller, path: str, body: object = None, *, method: str = "POST", **headers: str) -> Reply:
    """Call a drop-in as its clients do."""
    given = {"Authorization": f"Bearer {caller.token}", **headers}
    content = b"" if body is None else json.dumps(body).encode()
    return Reply(caller.client.generic(method, f"/v1/{path}", content, content_type="application/json", headers=given))


def asks(path: str, *texts: str, **fields: Any) -> Json:
    """A request with what the user and the assistant said, in turns."""
    items = [{"role": "assistant" if number % 2 else "user", "content": text} for number, text in enumerate(texts)]
    name = "input" if path == "responses" else "messages"
    more = {"max_tokens": 100} if path == "messages" else {}
    return {"model": "first", name: items, **more, **fields}


def records_in(body: Json) -> list[Json]:
    """The items of a request that hold a record of the memory, in whatever role; for Anthropic, of its instructions."""
    system = body.get("system") or []
    items = [*(body.get("messages") or body.get("input") or []), *(system if isinstance(system, list) else [])]
    return [item for item in items if "<memory>" in json.dumps(item)]


def said(caller: Caller, role: MessageRole = MessageRole.USER) -> list[str]:
    return [each.text for each in Message.objects.of(caller.principal).filter(role=role).order_by("created_at", "turn")]
