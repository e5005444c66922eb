"""Attacks over MCP: the tools with ids of others, what lists and recalls show, questions, and who is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from proof.attack import Aim, Attempt, Response, attack
from proof.attacks.keys import USER
from proof.marks import Exposure
from proof.requests import ProofRequest, Reply, call

_OK, _BAD_INPUT, _UNAUTHORIZED, _NOT_FOUND = 200, 400, 401, 404
_SAME_REQUEST = {"X-Request-ID": "isolation-proof"}
_MODERN = "2026-07-28"
_META = "io.modelcontextprotocol/"


def _message(name: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


_MINE = {"text": "Mine", "said": "Mine is what I say."}
# One id, and an answer of the tool that names no other.
_BY_ID = (
    _message("history", memory_id="{memory}"),
    _message("correct", memory_id="{memory}", **_MINE),
    _message("retire", memory_ids=["{memory}"], said="That is over."),
    _message("forget", memory_ids=["{memory}"]),
    _message("outcome", memory_id="{memory}", success=False),
    _message("remember", supersedes_ids=["{memory}"], text="Mine"),
    _message("remember", supersedes_ids=["{memory}"], kind="procedural", title="Mine", steps=["Mine"]),
)
_LISTS = (
    *(_message("list", kind=kind, limit=20) for kind in ("semantic", "procedural", "episodic")),
    _message("list", kind="semantic", words="{rare}"),
    _message("recall", query="{rare}", limit=20, include_superseded=True),
    _message("recall", query="{rare}", limit=20, as_of="2100-01-01T00:00:00Z"),
    _message("context", query="{rare}", token_budget=8_000),
    {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "memoryhub://pinned"}},
    {"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "about_me"}},
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "prompts/get",
        "params": {"name": "about_me", "arguments": {"topic": "{rare}"}},
    },
)


def _modern(message: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The message in the revision without a handshake, from a client that can ask its user, and its headers."""
    meta = {f"{_META}protocolVersion": _MODERN, f"{_META}clientCapabilities": {"elicitation": {}}}
    params = message["params"] | {"_meta": meta}
    name = params.get("name") or params.get("uri", "")
    headers = {"MCP-Protocol-Version": _MODERN, "Mcp-Method": message["method"], "Mcp-Name": name}
    return message | {"params": params}, headers


def _post(message: object, headers: dict[str, str], *, token: str = "", cookie: str = "", query: str = "") -> Reply:
    return call(ProofRequest("POST", f"/mcp{query}", message), token=token, cookie=cookie, headers=headers)


def _send(attempt: Attempt, aim: Aim, message: dict[str, Any]) -> Reply:
    """The answer to the attacker, in either era, by their token or by their tenant's key that names them."""
    body, headers = _modern(message) if attempt.maybe(0.5) else (message, {})
    if attempt.maybe(0.5):
        return _post(body, headers | _SAME_REQUEST, token=aim.attacker.token)
    headers |= {USER: aim.attacker.user_id}
    return _post(body, headers | _SAME_REQUEST, token=aim.attacker.company.key)


def _is_refused(reply: Reply) -> bool:
    return reply.status != _OK or '"isError":true' in reply.text or '"error":' in reply.text


@attack("mcp: another's memories by their ids", weight=8)
def by_id(attempt: Attempt) -> None:
    """Call each tool that takes an id with one of another member, and with an unknown one."""
    aim = attempt.aim()
    state = attempt.chance.getstate()

    def send(message: dict[str, Any]) -> Response:
        attempt.chance.setstate(state)  # both ids in one way
        reply = _send(attempt, aim, message)
        return Response(_is_refused(reply), reply.text, f"{reply.status} {reply.text}")

    attempt.compare(aim, attempt.chance.choice(_BY_ID), send)


@attack("mcp: lists, recall, resource and prompt", weight=8)
def lists(attempt: Attempt) -> None:
    """Look for the words of another in all that is listed, recalled and offered; also as a batch."""
    aim = attempt.aim()
    message, _ = aim.fill(attempt.chance.choice(_LISTS))
    if attempt.maybe(0.3):
        others = [aim.fill(each)[0] for each in attempt.chance.sample(_LISTS, 3)]
        reply = _post([message, *others], {}, token=aim.attacker.token)
    else:
        reply = _send(attempt, aim, message)
    attempt.scan(aim.attacker, reply.text, sent=message)


@attack("mcp: the answer to another's question", weight=4)
def questions(attempt: Attempt) -> None:
    """Have the victim asked whether to forget, and say yes to it as somebody else, with the victim's state."""
    aim = attempt.aim()
    asked = _post(*_modern(_message("forget", memory_ids=[str(aim.target.id)])), token=aim.victim.token).text
    answer, _ = json.JSONDecoder().raw_decode(asked[asked.index("{") :])
    state = answer.get("result", {}).get("requestState", "made-up")
    ids = attempt.chance.choice([[str(aim.target.id)], [str(aim.own().id)]])
    message = _message("forget", memory_ids=ids)
    yes = {"forget": {"action": "accept", "content": {"forget": True}}}
    message["params"] |= {"requestState": state, "inputResponses": yes}
    body, headers = _modern(message)
    reply = _post(body, headers, token=aim.attacker.token)
    attempt.scan(aim.attacker, reply.text, sent=[ids, state])
    if not _is_refused(reply):
        attempt.found(aim.attacker, aim.victim.number, Exposure.DONE)


@attack("mcp: whose memory it is", weight=6)
def named(attempt: Attempt) -> None:
    """Name another beside the token, in the address, twice or not at all, and come without a working token."""
    aim, chance = attempt.aim(), attempt.chance
    attacker, company = aim.attacker, aim.attacker.company
    other = chance.choice([each for each in attempt.world.residents if each.user_id != attacker.user_id])
    message, _ = aim.fill(chance.choice(_LISTS))
    one, two = {USER: attacker.user_id}, f"?user_id={other.user_id}"
    tries: list[Callable[[], tuple[Reply, int]]] = [
        lambda: (_post(message, {USER: other.user_id}, token=attacker.token), _NOT_FOUND),
        lambda: (_post(message, {}, token=attacker.token, query=two), _BAD_INPUT),
        lambda: (_post(message, one, token=company.key, query=two), _BAD_INPUT),
        lambda: (_post(message | {"user_id": other.user_id}, one, token=company.key), _BAD_INPUT),
        lambda: (_post(message, {}, token=company.key), _BAD_INPUT),
        lambda: (_post(message, one, token=chance.choice(company.ended_keys)), _UNAUTHORIZED),
        lambda: (_post(message, one, token=attacker.token[:-1]), _UNAUTHORIZED),
        lambda: (_post(message, {}, cookie=aim.victim.cookie), _UNAUTHORIZED),
    ]
    reply, status = chance.choice(tries)()
    attempt.scan(attacker, reply.text, sent=[message, other.user_id], allowed=())
    if reply.status != status:
        attempt.found(attacker, other.number, Exposure.DONE)
