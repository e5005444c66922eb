"""Attacks on the feed of events and on webhooks, which show ids: another member's, and another tenant's."""

from __future__ import annotations

import json

from proof.attack import Attempt, Response, attack
from proof.attacks.keys import USER
from proof.attacks.web import API
from proof.marks import Exposure
from proof.requests import ProofRequest, Reply, call
from proof.world import ProofTenant

_OK, _FORBIDDEN, _NOT_FOUND = 200, 403, 404
_SAME_REQUEST = {"X-Request-ID": "isolation-proof"}
_SINCE = {"since": "2026-01-01T00:00:00Z"}
_BY_ID = tuple(
    ProofRequest(method, f"{API}webhooks/{{webhook}}/{path}", body)
    for method, path, body in (
        ("GET", "", None),
        ("PATCH", "", {"url": "https://mine.example.org/"}),
        ("DELETE", "", None),
        ("POST", "rotate/", {"grace_hours": 0}),
        ("POST", "replay/", _SINCE),
        ("GET", "deliveries/", None),
    )
)


def _feed(token: str, query: str = "", **headers: str) -> Reply:
    return call(ProofRequest("GET", f"{API}events/?limit=100{query}"), token=token, headers=headers)


@attack("events: of another member", weight=5)
def of_a_member(attempt: Attempt) -> None:
    """Read the own feed, by token or by key, with another's cursor or without; it names nothing of anybody else."""
    aim = attempt.aim()
    attacker, victim = aim.attacker, aim.victim
    stolen = _cursor(_feed(victim.company.key)) if attempt.maybe(0.5) else ""
    query = f"&cursor={stolen}" if stolen else ""
    if attempt.maybe(0.5):
        reply = _feed(attacker.token, query)
    else:
        reply = _feed(attacker.company.key, query, **{USER: attacker.user_id})
    attempt.scan(attacker, reply.text, sent=query)
    refused = _feed(attacker.token, "&everyone=true")
    attempt.scan(attacker, refused.text, allowed=())
    if refused.status != _FORBIDDEN:
        attempt.found(attacker, victim.number, Exposure.DONE)


@attack("events: of another tenant", weight=5)
def of_a_tenant(attempt: Attempt) -> None:
    """Read the feed of a whole tenant, also with the cursor of another; and without the scope."""
    aim = attempt.aim()
    company = aim.attacker.company
    query = f"&cursor={_cursor(_feed(aim.victim.company.key))}" if attempt.maybe(0.5) else ""
    here = [each.number for each in attempt.world.residents if each.company is company]
    attempt.scan(aim.attacker, _feed(company.key, query).text, sent=query, allowed=[*here, company.number])
    refused = _feed(company.reading_key)
    attempt.scan(aim.attacker, refused.text, allowed=())
    if refused.status != _FORBIDDEN:
        attempt.found(aim.attacker, aim.victim.number, Exposure.DONE)


@attack("events: another tenant's webhook", weight=5)
def webhooks(attempt: Attempt) -> None:
    """Reach for a webhook by its id: with the key of another tenant, or with a token of a member of its own."""
    attacker = attempt.attacker()
    with_key = attempt.maybe(0.6)
    victims = [each for each in attempt.world.residents if not with_key or each.company is not attacker.company]
    aim = attempt.aim_of(attacker, attempt.chance.choice(victims))
    token = attacker.company.key if with_key else attacker.token

    def send(request: ProofRequest) -> Response:
        reply = call(request, token=token, headers=_SAME_REQUEST)
        expected = _NOT_FOUND if with_key else _FORBIDDEN
        return Response(reply.status == expected, reply.text, f"{reply.status} {reply.text}")

    attempt.compare(aim, attempt.chance.choice(_BY_ID), send)
    listed = call(ProofRequest("GET", f"{API}webhooks/"), token=attacker.company.key)
    others: list[ProofTenant] = [each for each in attempt.world.companies if each is not attacker.company]
    for company in others:
        if str(company.webhook) in listed.text:
            attempt.found(attacker, company.number, Exposure.EXISTENCE)


def _cursor(reply: Reply) -> str:
    """The cursor in an answer, whose text holds headers before the content."""
    content = reply.text[reply.text.index('{"results"') :] if reply.status == _OK else "{}"
    return str(json.JSONDecoder().raw_decode(content)[0].get("next_cursor", ""))
