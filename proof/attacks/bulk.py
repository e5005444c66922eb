"""Attacks through what reaches many memories at once: batches, erasing all, exports and imports."""

from __future__ import annotations

import json
from typing import Any

from proof.attack import Attempt, Response, attack
from proof.attacks.web import API, UNKNOWN
from proof.marks import Exposure
from proof.requests import ProofRequest, Reply, call
from proof.world import Persona

_BAD_INPUT, _FORBIDDEN, _NOT_FOUND = 400, 403, 404
_SAME_REQUEST = {"X-Request-ID": "isolation-proof"}
_MINE = {"text": "Mine"}
_BATCH = [
    _MINE | {"supporting_episode_ids": ["{memory}"]},
    _MINE | {"supersedes_ids": ["{memory}"]},
    _MINE | {"kind": "procedural", "title": "Mine", "supersedes_ids": ["{memory}"]},
    _MINE | {"kind": "episodic", "session_id": "{session}"},
]
_RECORDS = [
    {"kind": "semantic", "text": "Mine", "supersedes": ["{memory}"]},
    {"kind": "semantic", "text": "Mine", "supported_by": ["{memory}"]},
    {"kind": "procedural", "title": "Mine", "text": "Mine", "supersedes": ["{memory}"]},
]


def _answer(text: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(text[text.index("\n{") :])
    return found


@attack("bulk: another's ids in a batch", weight=4)
def batches(attempt: Attempt) -> None:
    """Name another's memories and conversations in the entries of a batch; each is answered as for unknown ids."""
    aim = attempt.aim()

    def send(request: ProofRequest) -> Response:
        reply = call(request, token=aim.attacker.token, headers=_SAME_REQUEST)
        results = _answer(reply.text).get("results")
        refused = isinstance(results, list) and all(
            each["status"] == _NOT_FOUND or UNKNOWN in each["problem"]["detail"] for each in results
        )
        return Response(refused, reply.text, f"{reply.status} {reply.text}")

    attempt.compare(aim, ProofRequest("POST", f"{API}memories/batch/", {"memories": _BATCH}), send)


@attack("bulk: entries that act for others", weight=4)
def users(attempt: Attempt) -> None:
    """Name other users in the entries of a batch: with a token, and with a key of another tenant."""
    aim, chance = attempt.aim(), attempt.chance
    said: dict[str, Any] = {"messages": [{"role": "user", "content": "Mine"}], "learn": "off"}
    name, path, entry = chance.choice([("memories", "memories", _MINE), ("conversations", "messages", said)])
    others = [each.user_id for each in attempt.world.residents if each.company is not aim.attacker.company]
    here = {each.user_id for each in attempt.world.residents if each.company is aim.attacker.company}
    foreign = [user_id for user_id in others if user_id not in here]
    by_token = attempt.maybe(0.5) or aim.attacker.company.makes_members or not foreign
    user_id = aim.victim.user_id if by_token else chance.choice(foreign)
    headers = _SAME_REQUEST if attempt.maybe(0.5) or not by_token else {**_SAME_REQUEST, "X-Memoryhub-User": user_id}
    token = aim.attacker.token if by_token else aim.attacker.company.key
    request = ProofRequest("POST", f"{API}{path}/batch/", {name: [entry | {"user_id": user_id}]})
    reply = call(request, token=token, headers=headers)
    attempt.scan(aim.attacker, reply.text, sent=request)
    results = _answer(reply.text).get("results")
    statuses = [each["status"] for each in results] if isinstance(results, list) else [reply.status]
    if statuses != [_FORBIDDEN if by_token else _NOT_FOUND] and reply.status != _NOT_FOUND:
        attempt.found(aim.attacker, aim.victim.number, Exposure.DONE)


@attack("bulk: another's ids in an import", weight=3)
def imports(attempt: Attempt) -> None:
    """Import memories that rest on another's, or replace them."""
    aim = attempt.aim()

    def send(request: ProofRequest) -> Response:
        reply = call(request, token=aim.attacker.token, headers=_SAME_REQUEST)
        return Response(reply.status == _BAD_INPUT, reply.text, f"{reply.status} {reply.text}")

    dry = "?dry_run=true" if attempt.maybe(0.5) else ""
    attempt.compare(aim, ProofRequest("POST", f"{API}import/{dry}", [attempt.chance.choice(_RECORDS)]), send)


@attack("bulk: the token of another's count", weight=3)
def tokens(attempt: Attempt) -> None:
    """Count what would go of another's memory with their token, and confirm it with one's own."""
    attacker, victim = attempt.chance.sample(list(attempt.world.of(Persona.RESIDENT)), 2)
    confirm = _answer(_delete("dry_run=true", victim.token).text)["confirm"]
    reply = _delete(f"confirm={confirm}", attacker.token)
    attempt.scan(attacker, reply.text)
    if reply.status not in (_BAD_INPUT, _FORBIDDEN):
        attempt.found(attacker, victim.number, Exposure.DONE)


def _delete(query: str, token: str) -> Reply:
    return call(ProofRequest("DELETE", f"{API}memories/?{query}"), token=token, headers=_SAME_REQUEST)


@attack("bulk: exports", weight=3)
def exports(attempt: Attempt) -> None:
    """Export with one's token, and with a key that acts for somebody: which gets nothing."""
    aim = attempt.aim()
    request = ProofRequest("GET", f"{API}export/")
    attempt.scan(aim.attacker, call(request, token=aim.attacker.token).text)
    reply = call(request, token=aim.attacker.company.key, headers={"X-Memoryhub-User": aim.attacker.user_id})
    attempt.scan(aim.attacker, reply.text, allowed=())
    if reply.status not in (_FORBIDDEN, _NOT_FOUND):
        attempt.found(aim.attacker, aim.attacker.number, Exposure.DONE)
