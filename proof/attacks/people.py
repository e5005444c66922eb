"""Attacks with the keys by which a company provisions its people (SCIM): nobody of another tenant exists for a key."""

from __future__ import annotations

import re

from proof.attack import Aim, Attempt, Response, attack
from proof.attacks.web import elsewhere
from proof.marks import Exposure
from proof.requests import ProofRequest, Reply, call
from proof.world import Persona

_NOT_FOUND, _BAD_INPUT, _UNAUTHORIZED, _FORBIDDEN = 404, 400, 401, 403
_SAME_REQUEST = {"X-Request-ID": "isolation-proof"}
_NAME = re.compile(r"Resident (\d+)")


def _scim(method: str, path: str, body: object = None) -> ProofRequest:
    return ProofRequest(method, f"/scim/v2/{path}", body)


def _patch(path: str, operation: dict[str, object]) -> ProofRequest:
    schemas = ["urn:ietf:params:scim:api:messages:2.0:PatchOp"]
    return _scim("PATCH", path, {"schemas": schemas, "Operations": [operation]})


_MINE = {"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "mine", "active": False}
_BY_ID = (
    _scim("GET", "Users/{membership}"),
    _scim("PUT", "Users/{membership}", _MINE),
    _patch("Users/{membership}", {"op": "replace", "path": "active", "value": False}),
    _scim("DELETE", "Users/{membership}"),
    _patch("Groups/admin", {"op": "add", "path": "members", "value": [{"value": "{membership}"}]}),
)
_LISTS = (
    "Users?count=200",
    "Users?startIndex=2&count=2",
    "Users?filter=externalId%20eq%20%22{user_id}%22",
    "Users?filter=userName%20eq%20%22{username}%22",
    "Users?filter=id%20eq%20%22{membership}%22",
    "Groups",
    "Groups/admin",
)


def _aim(attempt: Attempt) -> Aim:
    """An attacker, and a member of another tenant."""
    attacker = attempt.attacker()
    return attempt.aim_of(attacker, attempt.chance.choice(elsewhere(attempt, attacker)))


def _provisioned(aim: Aim, request: ProofRequest) -> Reply:
    return call(request, token=aim.attacker.company.key, headers=_SAME_REQUEST)


@attack("scim: another tenant's people by their ids", weight=4)
def by_id(attempt: Attempt) -> None:
    """Read, replace, deactivate and remove somebody of another tenant, and make them an administrator."""
    aim = _aim(attempt)

    def send(request: ProofRequest) -> Response:
        reply = _provisioned(aim, request)
        return Response(reply.status in (_NOT_FOUND, _BAD_INPUT), reply.text, f"{reply.status} {reply.text}")

    attempt.compare(aim, attempt.chance.choice(_BY_ID), send)


@attack("scim: lists and searches", weight=3)
def lists(attempt: Attempt) -> None:
    """List people and roles, and search by the names that people of other tenants have."""
    aim = _aim(attempt)
    request, _ = aim.fill(_scim("GET", attempt.chance.choice(_LISTS)))
    reply = _provisioned(aim, request)
    here = {each.number for each in attempt.world.residents if each.company is aim.attacker.company}
    attempt.scan(aim.attacker, reply.text, sent=request, allowed=[*here, aim.attacker.company.number])
    wanderers = {each.number for each in attempt.world.of(Persona.WANDERER)}  # one user of two tenants, with one name
    for number in map(int, _NAME.findall(reply.text)):
        if number not in here | wanderers:
            attempt.found(aim.attacker, number, Exposure.EXISTENCE)


@attack("scim: without a key that may", weight=3)
def scopes(attempt: Attempt) -> None:
    """Send keys without the scope, keys that do not work, a member's token, and nothing."""
    aim, company = _aim(attempt), attempt.attacker().company
    may_not = (company.reading_key, company.members_key, aim.attacker.token)
    token = attempt.chance.choice(["", company.key[:-1], *company.ended_keys, *may_not])
    request, _ = aim.fill(attempt.chance.choice((*_BY_ID, *(_scim("GET", path) for path in _LISTS))))
    reply = call(request, token=token, headers=_SAME_REQUEST)
    attempt.scan(aim.attacker, reply.text, sent=request, allowed=())
    if reply.status != (_FORBIDDEN if token in may_not else _UNAUTHORIZED):
        attempt.found(aim.attacker, aim.victim.number, Exposure.DONE)
