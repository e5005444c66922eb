"""A program that speaks MCP with a token, message by message."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from mcp_types import methods

from tests.memories.api.caller import Answer, Caller

MODERN, LATEST, OLDEST = "2026-07-28", "2025-11-25", "2025-03-26"
REVISIONS = (MODERN, LATEST, "2025-06-18", OLDEST)
_META = "io.modelcontextprotocol/"
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


@dataclass(frozen=True)
class McpCaller:
    """Calls in one revision; `elicits`: it says that it can ask its user."""

    caller: Caller
    revision: str = MODERN
    elicits: bool = False

    def message(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The request, with what its revision demands."""
        params = params or {}
        if self.revision == MODERN:
            able: dict[str, Any] = {"elicitation": {}} if self.elicits else {}
            params |= {"_meta": {f"{_META}protocolVersion": MODERN, f"{_META}clientCapabilities": able}}
        return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}

    def send(self, body: Any, **headers: str) -> Answer:
        """Post a body, and with it the headers that repeat it, unless others are given."""
        sent = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {self.caller.token}"}
        sent |= {"MCP-Protocol-Version": self.revision} if self.revision != OLDEST else {}
        if self.revision == MODERN and isinstance(body, dict):
            method = body.get("method", "")
            sent |= {"Mcp-Method": method, "Mcp-Name": body.get("params", {}).get(_NAMED.get(method, ""), "")}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent |= self.caller._named() | headers
        client = self.caller.client
        return Answer(client.generic("POST", "/mcp", content, content_type="application/json", headers=sent))

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a request, which the official types know in this revision."""
        answer = self.send(self.message(method, params))
        assert answer.status == 200, answer.text
        result: dict[str, Any] = answer.json["result"]
        methods.validate_server_result(method, self.revision, result)
        return result

    def error(self, method: str, **params: Any) -> dict[str, Any]:
        """The error of a request."""
        error: dict[str, Any] = self.send(self.message(method, params)).json["error"]
        return error

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The structured result of a tool, which is what its text says."""
        result = self.request("tools/call", name=name, arguments=arguments)
        assert not result["isError"], result["content"]
        content: dict[str, Any] = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == content
        return content

    def refusal(self, name: str, **arguments: Any) -> str:
        """What a tool says to the model that cannot have what it asks for."""
        result = self.request("tools/call", name=name, arguments=arguments)
        assert result["isError"] and "structuredContent" not in result
        text: str = result["content"][0]["text"]
        return text

    def eliciting(self) -> McpCaller:
        """The same with a client that can ask its user."""
        return replace(self, elicits=True)
