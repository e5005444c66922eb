"""A tenant's policy, turns against an endpoint on a socket, and what was sent there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from memories.agent.events import Event
from memories.agent.loop import run_turn
from memories.llm.completions import OpenAIChat
from memories.models import MemoryPolicy
from tenants.principal import Principal
from tests.openai_server import KEY, OpenAIServer, Reply, openai_server


def decide(principal: Principal, **decisions: Any) -> None:
    MemoryPolicy.objects.create(tenant_id=principal.tenant_id, **decisions)


def answered(
    principal: Principal, text: str, *script: Reply, session_id: UUID | None = None
) -> tuple[list[Event], OpenAIServer]:
    """A turn against an endpoint on a socket: its events, and the server with the requests that came."""
    with openai_server(*script) as server:
        model = OpenAIChat(name="m", base_url=server.base_url, api_key=KEY)
        try:
            return list(run_turn(principal, text=text, session_id=session_id, model=model)), server
        finally:
            model.close()


def told(request: Mapping[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Each tool result of a request: the tool, the query or the text that it was called with, and the result."""
    calls: dict[str, tuple[str, str]] = {}
    results = []
    for message in request["messages"]:
        for made in message.get("tool_calls") or ():
            arguments = json.loads(made["function"]["arguments"])
            words = arguments.get("query") or arguments.get("text") or ""
            calls[made["id"]] = (made["function"]["name"], words)
        if message["role"] == "tool":
            results.append((*calls[message["tool_call_id"]], json.loads(message["content"])))
    return results


def texts(result: Mapping[str, Any]) -> list[str]:
    return [memory["text"] for memory in result["memories"]]


def offered(request: Mapping[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in request["tools"]]
