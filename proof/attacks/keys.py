"""Attacks with backend keys, each of which acts for any ordinary member of its tenant.

The ids that the tenants' own systems give to their users are equal in all tenants, so a lookup that forgets the tenant
finds somebody else. A key may reach every member of its tenant by name; what it must not do is show one member's memory
to a request that names another, or names two, or a member that no key acts for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from proof.attack import Aim, Attempt, Response, attack
from proof.attacks.web import (
    API,
    API_AUDIT,
    API_BODIES,
    API_ITEMS,
    API_LISTS,
    API_MEMORIES_AND_SESSIONS,
    API_PROPOSALS,
    API_REVIEWS,
    UNKNOWN,
)
from proof.marks import Exposure
from proof.requests import ProofRequest, Reply, call
from proof.world import Persona, Resident

USER = "X-Memoryhub-User"
_OK, _MADE, _BAD_INPUT, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 200, 201, 400, 401, 403, 404
_SAME_REQUEST = {"X-Request-ID": "isolation-proof"}
_NAME = re.compile(r"Resident (\d+)")
_NEW_IDS = 20


def _api(method: str, path: str, body: object = None) -> ProofRequest:
    return ProofRequest(method, API + path, body)


# A key that names a member has the log of that member alone, also where it could have all of its tenant's.
_BY_ID = (
    *(*API_MEMORIES_AND_SESSIONS, *API_REVIEWS, *API_PROPOSALS, *API_ITEMS, *API_BODIES, *API_AUDIT),
    _api("GET", "tenant/audit/{event}/"),
)
_TOKENS = (
    _api("GET", "tokens/{token}/"),
    _api("DELETE", "tokens/{token}/"),
    _api("POST", "tokens/{token}/rotate/", {"grace_hours": 0}),
)
_READS = (
    "memories/?kind=semantic&limit=100",
    "memories/?kind=episodic&limit=100",
    "sessions/",
    "looks/",
    "audit/",
    "tokens/",
)
_MEMBERS = (
    *("members/?limit=100", "members/{user_id}/", "me/", "me/?user_id={user_id}", "tokens/?user_id={user_id}"),
    *(
        "tenant/audit/?limit=100",
        "tenant/audit/?user_id={user_id}",
        "tenant/policy/",
        "tenant/holds/",
        "tenant/erasures/",
    ),
)
_ADMINISTERING = (
    _api("GET", "members/"),
    _api("PATCH", "members/{user_id}/", {"active": False}),
    _api("DELETE", "members/{user_id}/memories/"),
    _api("POST", "members/{user_id}/erase/", {"reason": "Mine"}),
    _api("POST", "members/{user_id}/export/", {"reason": "Mine"}),
    _api("POST", "tokens/", {"name": "Mine", "scopes": ["memory:read"]}),
    _api("DELETE", "memories/{memory}/"),
    _api("GET", "tenant/audit/"),
    _api("PATCH", "tenant/policy/", {"instructions": "Mine"}),
    _api("POST", "tenant/holds/", {"reason": "Mine", "whole_tenant": True}),
)


def _acting(resident: Resident, request: ProofRequest, **headers: str) -> Reply:
    return call(request, token=resident.company.key, headers={**_SAME_REQUEST, **headers})


@attack("keys: another's things by their ids", weight=14)
def by_id(attempt: Attempt) -> None:
    """Act for one member, and reach for what another has, in the same tenant or another."""
    aim = attempt.aim()

    def send(request: ProofRequest) -> Response:
        reply = _acting(aim.attacker, request, **{USER: aim.attacker.user_id})
        return Response(reply.status == _NOT_FOUND or UNKNOWN in reply.text, reply.text, f"{reply.status} {reply.text}")

    attempt.compare(aim, attempt.chance.choice((*_BY_ID, *_TOKENS)), send)


@attack("keys: lists, pages and recall", weight=10)
def lists(attempt: Attempt) -> None:
    """Act for a member, whose id somebody of each other tenant has, and look for the words of others."""
    aim = attempt.aim()
    request, _ = aim.fill(attempt.chance.choice(API_LISTS))
    path = request.path.removesuffix("&cursor=")
    named = attempt.chance.choice(["header", "query", "body"])
    headers = {}
    if named == "body" and request.body is not None:
        request = ProofRequest(request.method, path, request.body | {"user_id": aim.attacker.user_id})
    elif named == "query":
        joint = "&" if "?" in path else "?"
        request = ProofRequest(request.method, f"{path}{joint}user_id={aim.attacker.user_id}", request.body)
    else:
        request, headers = ProofRequest(request.method, path, request.body), {USER: aim.attacker.user_id}
    reply = _acting(aim.attacker, request, **headers)
    attempt.scan(aim.attacker, reply.text, sent=request)


@attack("keys: requests that name two users, or one that nobody reads alike", weight=10)
def two_names(attempt: Attempt) -> None:
    """Name one member in one place and another in the next, or spell one so that two readers could differ."""
    chance = attempt.chance
    aim = attempt.aim()
    other = chance.choice([each for each in attempt.world.residents if each.user_id != aim.attacker.user_id])
    one, two = chance.sample([aim.attacker.user_id, other.user_id], 2)
    path, fact = "memories/?kind=semantic&limit=100", {"query": "Mine"}
    in_query, in_body = _api("GET", f"{path}&user_id={one}"), _api("POST", "recall/", fact | {"user_id": one})
    twice = json.dumps(fact)[:-1] + f', "user_id": {json.dumps(one)}, "user_id": {json.dumps(two)}}}'
    odd: Sequence[object] = (
        [one, two], [one], {"id": one}, None, True, 7, "", " ", f"{one} ", f"{one}\u200b", f"{one}\0", f"{one}\u202e",
        f"{one}\n", f"../{two}", f"{one}/", "..", one * 50, f"\ud800{one}",
    )  # fmt: skip
    request, headers = chance.choice(
        [
            (in_query, {USER: two}),
            (in_body, {USER: two}),
            (_api("POST", f"recall/?user_id={two}", in_body.body), {}),
            (_api("GET", f"{path}&user_id={one}&user_id={two}"), {}),
            (_api("GET", f"{path}&user_id={one}&user_id="), {}),
            (_api("GET", path), {USER: f"{one}, {two}"}),
            (_api("GET", path), {USER: ""}),
            (_api("GET", path), {USER: f"{one}\u00a0"}),
            (_api("GET", path), {}),
            (ProofRequest("POST", f"{API}recall/", twice.encode()), {}),
            (_api("GET", f"members/{one}/"), {USER: two}),
            (_api("DELETE", f"members/{one}/memories/"), {USER: two}),
            (_api("DELETE", f"members/{one}/memories/?user_id={two}"), {}),
            (_api("POST", f"members/{one}/erase/", {"reason": "Mine", "user_id": two}), {}),
            *((_api("POST", "recall/", fact | {"user_id": each}), {USER: one}) for each in odd),
            *((_api("POST", "recall/", fact | {"user_id": each}), {}) for each in odd),
        ]
    )
    _refused(attempt, aim, _acting(aim.attacker, request, **headers), _BAD_INPUT, sent=[request, headers])


@attack("keys: spellings of another's id", weight=4)
def spellings(attempt: Attempt) -> None:
    """Name a member with other letters: nobody is found, whatever a database or a proxy would take for equal."""
    aim, chance = attempt.aim(), attempt.chance
    if aim.attacker.company.makes_members:
        return
    own = aim.attacker.user_id
    spelt = chance.choice([own.upper(), own.title(), f"{own}.", f"{own}%", own.replace("-", "_"), "%", f"'{own}'"])
    wide = "".join(chr(ord(letter) + 0xFEE0) if letter.isalpha() else letter for letter in own)
    reply = _acting(aim.attacker, _api("POST", "recall/", {"query": "Mine", "user_id": chance.choice([spelt, wide])}))
    _refused(attempt, aim, reply, _NOT_FOUND)


@attack("keys: members that no key acts for", weight=5)
def nobodys(attempt: Attempt) -> None:
    """Name deactivated members and staff of the own tenant."""
    aim, pick = attempt.aim(), attempt.chance.choice
    kept = [each for each in attempt.world.of(Persona.GHOST, Persona.ADMIN) if each.company is aim.attacker.company]
    who = pick(kept)
    reply = _acting(aim.attacker, _api("GET", pick(_READS)), **{USER: who.user_id})
    _refused(attempt, aim, reply, _NOT_FOUND)
    if who.persona is Persona.ADMIN:
        _refused(attempt, aim, _acting(aim.attacker, _api("GET", f"members/{who.user_id}/")), _NOT_FOUND)


@attack("keys: those that do not work", weight=4)
def ended(attempt: Attempt) -> None:
    """Send keys that were revoked, expired or rotated, from a wrong network, cut, and a token as a key."""
    aim, company = attempt.aim(), attempt.attacker().company
    secret = aim.attacker.token.removeprefix("mh_")
    token = attempt.chance.choice([*company.ended_keys, company.key[:-1], f"mhb_{secret}", f"mh_{company.key[4:]}"])
    request = _api("GET", attempt.chance.choice([*_READS, "me/", "members/"]))
    reply = call(request, token=token, headers={USER: aim.attacker.user_id, "X-Forwarded-For": "203.0.113.7"})
    _refused(attempt, aim, reply, _UNAUTHORIZED)


@attack("keys: without the scope", weight=5)
def scopes(attempt: Attempt) -> None:
    """Read with a key that may not read, and administer with one that only reads."""
    aim, pick = attempt.aim(), attempt.chance.choice
    company = aim.attacker.company
    if attempt.maybe(0.5):
        reply = call(_api("GET", pick(_READS)), token=company.members_key, headers={USER: aim.attacker.user_id})
    else:
        request, _ = aim.fill(pick(_ADMINISTERING))
        headers = {} if "members/" in request.path else {USER: aim.attacker.user_id}
        reply = call(request, token=company.reading_key, headers=headers)
    _refused(attempt, aim, reply, _FORBIDDEN)


@attack("keys: members and tokens of others", weight=6)
def administering(attempt: Attempt) -> None:
    """List and read members, tokens and who one is; nobody of another tenant is among them."""
    aim = attempt.aim()
    request, _ = aim.fill(_api("GET", attempt.chance.choice(_MEMBERS)))
    reply = _acting(aim.attacker, request)
    here = {each.number for each in attempt.world.residents if each.company is aim.attacker.company}
    attempt.scan(aim.attacker, reply.text, sent=request, allowed=[*here, aim.attacker.company.number])
    wanderers = {each.number for each in attempt.world.of(Persona.WANDERER)}  # one user of two tenants, with one name
    for number in map(int, _NAME.findall(reply.text)):
        if number not in here | wanderers:
            attempt.found(aim.attacker, number, Exposure.EXISTENCE)


@attack("keys: first uses at once", weight=4)
def first_use(attempt: Attempt) -> None:
    """Use an id that nobody has, while others do so in this tenant and the others; each reads back what is theirs."""
    aim, chance = attempt.aim(), attempt.chance
    makers = [company for company in attempt.world.companies if company.makes_members]
    company, user_id = chance.choice(makers), f"new-{chance.randrange(_NEW_IDS)}"
    text = f"Newcomer {user_id} of {company.tenant.pk.hex}"
    made = call(_api("POST", "memories/", {"text": text, "user_id": user_id}), token=company.key)
    shown = call(_api("GET", f"memories/?kind=semantic&limit=100&user_id={user_id}"), token=company.key)
    attempt.scan(aim.attacker, made.text, shown.text, allowed=[company.number])
    texts = set(re.findall(r"Newcomer [^\"]*", shown.text))
    if made.status not in (_OK, _MADE) or texts - {text}:
        attempt.found(aim.attacker, aim.attacker.number, Exposure.DONE)


def _refused(attempt: Attempt, aim: Aim, reply: Reply, status: int, *, sent: object = "") -> None:
    """The answer shows nothing of anybody, and has the status of this refusal."""
    attempt.scan(aim.attacker, reply.text, sent=sent, allowed=())
    if reply.status != status:
        attempt.found(aim.attacker, aim.victim.number, Exposure.DONE)
