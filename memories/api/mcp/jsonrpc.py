"""The wire of MCP: JSON-RPC messages, the revisions of the protocol, and the headers that repeat the body. Pure.

A client of 2025 opens with `initialize`; the answer names no session, so every request is complete by itself. Since
2026-07-28 there is no handshake: each request names its revision, in a header and in `_meta`, which must be equal.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

MODERN: Final = "2026-07-28"
HANDSHAKE: Final = ("2025-11-25", "2025-06-18", "2025-03-26")
# The only revision with batches. Its clients send no header that names it.
BATCHING: Final = HANDSHAKE[-1]
REVISIONS: Final = (MODERN, *HANDSHAKE)
MAX_BATCH: Final = 20

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
RESOURCE_NOT_FOUND = -32002  # until 2025-11-25
HEADER_MISMATCH, UNSUPPORTED_REVISION = -32020, -32022

_META = "io.modelcontextprotocol/"
SERVER_INFO = f"{_META}serverInfo"
# The parameter that the header Mcp-Name repeats.
_NAMED: Mapping[str, str] = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_ENCODED = ("=?base64?", "?=")


class RpcError(Exception):
    """An error of the protocol, which the client's program reads; those of a tool are results that its model reads.

    `of` is the id of the request, if it could be read.
    """

    def __init__(self, code: int, message: str, *, of: str | int | None = None, data: object = None) -> None:
        super().__init__(message)
        self.code, self.of, self.data = code, of, data

    @property
    def status(self) -> int:
        """The HTTP status that MCP gives to this error."""
        return HTTPStatus.NOT_FOUND if self.code == METHOD_NOT_FOUND else HTTPStatus.BAD_REQUEST


@dataclass(frozen=True, slots=True)
class RpcMessage:
    """A request, or a notification if `id` is None; it is answered as `revision` says."""

    method: str
    params: Mapping[str, Any]
    revision: str
    id: str | int | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_modern(self) -> bool:
        """Whether the revision has no handshake."""
        return self.revision == MODERN

    @property
    def elicits(self) -> bool:
        """Whether the client can ask its user by a form and repeat the call with the answer, which 2026-07-28 began."""
        able = self.meta.get(f"{_META}clientCapabilities")
        elicitation = able.get("elicitation") if isinstance(able, dict) and self.is_modern else None
        return isinstance(elicitation, dict) and (not elicitation or "form" in elicitation)


def messages_of(body: object, headers: Mapping[str, str]) -> list[RpcMessage]:
    """The messages of a request's body: one, or a batch of 2025-03-26. Raises RpcError."""
    revision = headers.get("MCP-Protocol-Version") or BATCHING
    if revision not in REVISIONS:
        data = {"supported": REVISIONS, "requested": revision[:40]}
        raise RpcError(UNSUPPORTED_REVISION, "Unsupported protocol version", of=_id_of(body), data=data)
    if not isinstance(body, list):
        message = _message(body, revision)
        if message.is_modern and message.id is not None:
            _check_headers(message, headers)
        return [message]
    if revision != BATCHING:
        raise RpcError(INVALID_REQUEST, f"Send one message at a time: only {BATCHING} has batches.")
    if not 1 <= len(body) <= MAX_BATCH:
        raise RpcError(INVALID_REQUEST, f"A batch has 1 to {MAX_BATCH} messages.")
    batch = [_message(each, revision) for each in body]
    if any(each.method == "initialize" for each in batch):
        raise RpcError(INVALID_REQUEST, "initialize is no part of a batch.")
    return batch


def _id_of(data: object) -> str | int | None:
    """The id of a message, if it can be read."""
    identity = data.get("id") if isinstance(data, dict) else None
    return identity if isinstance(identity, str | int) and not isinstance(identity, bool) else None


def _message(data: object, revision: str) -> RpcMessage:
    if not isinstance(data, dict):
        raise RpcError(INVALID_REQUEST, "A message is a JSON object.")
    known = _id_of(data)
    answers = "method" not in data and ("result" in data or "error" in data)
    if answers and revision != MODERN:  # to a request of the server's: it makes none, so this is for nobody
        return RpcMessage("", {}, revision)
    method, params = data.get("method"), data.get("params", {})
    if data.get("jsonrpc") != "2.0" or not isinstance(method, str) or not isinstance(params, dict):
        raise RpcError(INVALID_REQUEST, 'A message has "jsonrpc": "2.0", a method, and params as an object.', of=known)
    if "id" in data and known is None:
        raise RpcError(INVALID_REQUEST, "The id is a string or an integer.")
    meta = params.get("_meta")
    return RpcMessage(method, params, revision, known, meta if isinstance(meta, dict) else {})


def _check_headers(message: RpcMessage, headers: Mapping[str, str]) -> None:
    """Raise RpcError unless `_meta` names revision and capabilities, and the headers repeat what the body says."""

    def refuse(code: int, reason: str) -> None:
        raise RpcError(code, reason, of=message.id)

    named = message.meta.get(f"{_META}protocolVersion")
    if named is None or f"{_META}clientCapabilities" not in message.meta:
        refuse(INVALID_PARAMS, f"_meta lacks {_META}protocolVersion or {_META}clientCapabilities.")
    if named != message.revision:
        refuse(HEADER_MISMATCH, "Header mismatch: MCP-Protocol-Version is not the revision in _meta.")
    if headers.get("Mcp-Method") != message.method:
        refuse(HEADER_MISMATCH, "Header mismatch: Mcp-Method is missing, or not the method of the body.")
    parameter = _NAMED.get(message.method)
    if parameter and _decoded(headers.get("Mcp-Name")) != message.params.get(parameter):
        refuse(HEADER_MISMATCH, f"Header mismatch: Mcp-Name is missing, or not {parameter} of the body.")


def _decoded(value: str | None) -> str | None:
    """The value of a header that may be encoded; None if it cannot be decoded."""
    begin, end = _ENCODED
    if value is None or not (value.startswith(begin) and value.endswith(end)):
        return value
    try:
        return base64.b64decode(value[len(begin) : -len(end)], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def result_of(message: RpcMessage, result: Mapping[str, Any], server: Mapping[str, str]) -> dict[str, Any]:
    """The response with a result, in the form of the message's revision."""
    if message.is_modern:
        result = {"resultType": "complete", **result, "_meta": {SERVER_INFO: server}}
    return {"jsonrpc": "2.0", "id": message.id, "result": result}


def error_of(code: int, message: str, *, of: str | int | None, data: object = None) -> dict[str, Any]:
    """The response with an error to the request with the id `of`; None if that could not be read."""
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return {"jsonrpc": "2.0", "id": of, "error": error}


def cached(result: Mapping[str, Any], message: RpcMessage, seconds: int) -> dict[str, Any]:
    """A result with how long the client may keep it, which is said since 2026-07-28."""
    return {**result, **({"ttlMs": seconds * 1000, "cacheScope": "private"} if message.is_modern else {})}
