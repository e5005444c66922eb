"""Attacks through the routes of mem0, where a backend key names memories by their ids alone."""

from __future__ import annotations

from proof.attack import Attempt, Response, attack
from proof.requests import ProofRequest, Reply, call

MEM0 = "/api/mem0/"
_NOT_FOUND = 404
_BY_ID = (
    ProofRequest("GET", f"{MEM0}v1/memories/{{memory}}/"),
    ProofRequest("GET", f"{MEM0}v1/memories/{{memory}}/history/"),
    ProofRequest("PUT", f"{MEM0}v1/memories/{{memory}}/", {"text": "Mine"}),
    ProofRequest("DELETE", f"{MEM0}v1/memories/{{memory}}/?delete_linked=true"),
    ProofRequest("PUT", f"{MEM0}v1/batch/", {"memories": [{"memory_id": "{memory}", "text": "Mine"}]}),
    ProofRequest("DELETE", f"{MEM0}v1/batch/", {"memories": [{"memory_id": "{memory}"}]}),
)


def _sent(request: ProofRequest, *, token: str, user_id: str = "") -> Reply:
    named = {"X-Memoryhub-User": user_id} if user_id else {}
    return call(request, headers={"Authorization": f"Token {token}", "X-Request-ID": "isolation-proof", **named})


@attack("mem0: another's memories by their ids", weight=6)
def by_id(attempt: Attempt) -> None:
    """Reach for another's memory with one's token, with a key for oneself, and from another tenant with a key alone."""
    aim = attempt.aim()
    who, company = aim.attacker, aim.attacker.company
    ways = [(who.token, ""), (company.key, who.user_id)]
    if aim.victim.company is not company:
        ways.append((company.key, ""))
    token, user_id = attempt.chance.choice(ways)

    def send(request: ProofRequest) -> Response:
        reply = _sent(request, token=token, user_id=user_id)
        return Response(reply.status == _NOT_FOUND, reply.text, f"{reply.status} {reply.text}")

    attempt.compare(aim, attempt.chance.choice(_BY_ID), send)


@attack("mem0: lists, searches and filters", weight=6)
def lists(attempt: Attempt) -> None:
    """Ask for everything of oneself, by a token or as a key's user, with filters that name others."""
    aim, chance = attempt.aim(), attempt.chance
    me, other = aim.attacker.user_id, aim.victim.user_id
    filters = chance.choice(
        [
            {"AND": [{"user_id": me}]},
            {"AND": [{"user_id": me}, {"OR": [{"user_id": other}, {"run_id": "*"}]}]},
            {"AND": [{"user_id": me}, {"NOT": {"user_id": me}}]},
            {"user_id": me, "OR": [{"agent_id": "*"}, {"NOT": {"agent_id": "*"}}]},
        ]
    )
    body = {"query": "Who keeps what?", "filters": filters, "top_k": 100}
    listed = {"filters": filters}
    request = chance.choice(
        [
            ProofRequest("POST", f"{MEM0}v3/memories/search/", body),
            ProofRequest("POST", f"{MEM0}v3/memories/?page=1&page_size=200", listed),
            ProofRequest("POST", f"{MEM0}v3/memories/", {"filters": {"user_id": me, "agent_id": other}}),
        ]
    )
    token = chance.choice([aim.attacker.token, aim.attacker.company.key])
    attempt.scan(aim.attacker, _sent(request, token=token).text, sent=request)
