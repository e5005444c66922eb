"""The API: with one's own token and the ids and cursors of others, with tokens that ended, and with other headers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

from memories.types import Kind
from proof.attempt import Attempt, attack
from proof.http import Reply, call
from proof.marks import Told
from proof.residents import Part, Resident

ROOT = "/api/v1/"
_UNAUTHORIZED, _NOT_FOUND, _OK = 401, 404, 200
_SAME_REQUEST = {"X-Request-ID": "isolation-proof"}
_MEMORY_CALLS: tuple[tuple[str, str, Any], ...] = (
    ("GET", "memories/{id}/", None),
    ("GET", "memories/{id}/", None),
    ("GET", "memories/{id}/chain/", None),
    ("DELETE", "memories/{id}/?cascade=true&sources=true", None),
    ("POST", "memories/{id}/correct/", {"text": "Mine"}),
    ("POST", "memories/{id}/supersede/", {"text": "Mine"}),
    ("POST", "memories/{id}/retire/", {}),
    ("POST", "memories/{id}/undo/", {}),
    ("POST", "memories/{id}/outcome/", {"success": False, "refined_steps": ["Mine"]}),
    ("POST", "memories/{id}/promote/", {"to": "user"}),
    ("POST", "memories/{id}/pin/", {"pinned": True}),
    ("POST", "memories/{id}/confirm/", {}),
    ("POST", "memories/{id}/restore/", {}),
)
_SESSION_CALLS: tuple[tuple[str, str, Any], ...] = (
    ("GET", "sessions/{id}/", None),
    ("GET", "sessions/{id}/?last=50", None),
    ("PATCH", "sessions/{id}/", {"title": "Mine"}),
    ("DELETE", "sessions/{id}/?cascade=true", None),
    ("POST", "sessions/{id}/turns/", {"message": "What was said here?"}),
    ("GET", "sessions/{id}/working-memory/", None),
    ("PATCH", "sessions/{id}/working-memory/", {"goal": "Mine"}),
    ("GET", "sessions/{id}/entries/?q=look", None),
    ("POST", "sessions/{id}/end/", {"learned": ["Mine"]}),
)
_REVIEW_CALLS: tuple[tuple[str, str, Any], ...] = (
    ("GET", "reviews/{id}/", None),
    ("POST", "reviews/{id}/decide/", {"decision": "keep_both"}),
    ("POST", "reviews/{id}/decide/", {"decision": "evict"}),
    ("POST", "reviews/{id}/undo/", {}),
)
_NAMING: tuple[Callable[[str], dict[str, Any]], ...] = (
    lambda id_: {"text": "Mine", "supporting_episode_ids": [id_]},
    lambda id_: {"text": "Mine", "supersedes_ids": [id_]},
    lambda id_: {"kind": "procedural", "title": "Mine", "text": "Mine", "supersedes_ids": [id_]},
    lambda id_: {"kind": "episodic", "text": "Mine", "session_id": id_},
)


@attack("api: a memory or conversation by its id", weight=12)
def by_id(attempt: Attempt) -> None:
    """Every address that names one: the same 404 as for an id that nobody has."""
    attacker, chance = attempt.attacker(), attempt.chance
    victim = attempt.victim(attacker)
    if attempt.maybe(0.6):
        (method, path, body), id_ = chance.choice(_MEMORY_CALLS), attempt.target(victim).id
    else:
        (method, path, body), id_ = chance.choice(_SESSION_CALLS), chance.choice(victim.sessions)
    _compared(attempt, attacker, victim, lambda each: _call(attacker, method, path.format(id=each), body), id_)


@attack("api: a review by its id", weight=4)
def review(attempt: Attempt) -> None:
    """What a machine asks about another's memory: read, decided, undone."""
    attacker, chance = attempt.attacker(), attempt.chance
    victim = attempt.victim(attacker)
    (method, path, body), id_ = chance.choice(_REVIEW_CALLS), chance.choice(victim.reviews)
    _compared(attempt, attacker, victim, lambda each: _call(attacker, method, path.format(id=each), body), id_)


@attack("api: another's id in the body", weight=4)
def in_body(attempt: Attempt) -> None:
    """What a new memory leans on, replaces or belongs to."""
    attacker, chance = attempt.attacker(), attempt.chance
    victim = attempt.victim(attacker)
    body = chance.choice(_NAMING)
    id_ = chance.choice(victim.sessions) if body is _NAMING[-1] else attempt.target(victim).id
    _compared(attempt, attacker, victim, lambda each: _call(attacker, "POST", "memories/", body(str(each))), id_)


@attack("api: lists, pages and recall", weight=8)
def at_large(attempt: Attempt) -> None:
    """Whatever is listed or recalled, with another's cursor, conversation or words."""
    attacker, chance = attempt.attacker(), attempt.chance
    victim = attempt.victim(attacker)
    target = attempt.target(victim)
    kind = chance.choice(list(Kind))
    options: list[Callable[[], Reply]] = [
        lambda: _call(attacker, "GET", f"memories/?kind={kind}&shared=true&limit=100"),
        lambda: _call(attacker, "GET", f"memories/?kind={target.kind}&status=active,superseded&q={target.rare}"),
        lambda: _call(attacker, "GET", f"memories/?kind=episodic&session={chance.choice(victim.sessions)}"),
        lambda: _call(attacker, "GET", f"memories/?kind={kind}&limit=100&cursor={_cursor_of(victim, kind)}"),
        lambda: _call(attacker, "GET", f"reviews/?limit=100&decided={chance.choice(['true', 'false'])}"),
        lambda: _call(attacker, "GET", f"sessions/?limit=1&cursor={_cursor_of(victim, None)}"),
        lambda: _call(
            attacker,
            "POST",
            "recall/",
            {"query": target.words, "limit": 100, "include_superseded": True, "task": target.task},
        ),
    ]
    reply = chance.choice(options)()
    attempt.shows(attacker, reply.text)


@attack("api: tokens that ended", weight=3)
def ended(attempt: Attempt) -> None:
    """Revoked tokens, those of a member who was deactivated, and what is none at all."""
    chance = attempt.chance
    attacker = attempt.attacker()
    ghost = attempt.attacker(Part.GHOST)
    token = chance.choice(
        [attacker.revoked_token, ghost.token, ghost.revoked_token, attacker.token[:-1], f"mh_{uuid4().hex}"]
    )
    path = chance.choice(["memories/?kind=semantic", "sessions/", f"memories/{attempt.target(ghost).id}/"])
    reply = call("GET", ROOT + path, token=token)
    attempt.shows(attacker, reply.text, sent=path, allowed=())
    if reply.status != _UNAUTHORIZED:
        attempt.found(attacker, ghost.number, Told.DONE)


@attack("api: headers that claim to be another", weight=4)
def headers(attempt: Attempt) -> None:
    """One's own token beside another's cookie, ids or names, in every header that some application believes."""
    attacker, chance = attempt.attacker(), attempt.chance
    victim = attempt.victim(attacker)
    claims = {
        "X-Tenant": str(victim.principal.tenant_id),
        "X-Tenant-ID": str(victim.principal.tenant_id),
        "X-User": str(victim.principal.user_id),
        "X-User-ID": str(victim.principal.user_id),
        "X-Forwarded-User": victim.membership.user.username,
        "Remote-User": victim.membership.user.username,
        "X-Remote-User": victim.membership.user.username,
        "X-HTTP-Method-Override": "GET",
        "X-Original-URL": f"{ROOT}memories/{attempt.target(victim).id}/",
        "X-Rewrite-URL": f"{ROOT}memories/{attempt.target(victim).id}/",
        "X-API-Key": victim.revoked_token,
    }
    chosen = dict(chance.sample(sorted(claims.items()), 4))
    path = chance.choice(["memories/?kind=semantic", "memories/?kind=episodic", "sessions/"])
    tenant = chance.choice(["", f"&tenant={victim.principal.tenant_id}&user={victim.principal.user_id}"])
    joined = f"{path}{'' if '?' in path else '?limit=20'}{tenant}"
    # A request that brings a token is judged by the token alone, whatever cookie comes with it.
    reply = call("GET", ROOT + joined, token=attacker.token, cookie=victim.cookie, headers=chosen)
    attempt.shows(attacker, reply.text, sent=[joined, chosen])


def _call(who: Resident, method: str, path: str, body: Any = None) -> Reply:
    return call(method, ROOT + path, token=who.token, body=body, headers=_SAME_REQUEST)


def _compared(attempt: Attempt, attacker: Resident, victim: Resident, send: Callable[[UUID], Reply], id_: UUID) -> None:
    """Another's id must be answered exactly as one that nobody has."""
    unknown_id = uuid4()
    foreign, unknown = send(id_), send(unknown_id)
    attempt.shows(attacker, foreign.text, sent=id_)
    if foreign.status != _NOT_FOUND:
        attempt.found(attacker, victim.number, Told.DONE)
    attempt.unequal(
        attacker,
        victim.number,
        (foreign.status, foreign.text.replace(str(id_), "ID")),
        (unknown.status, unknown.text.replace(str(unknown_id), "ID")),
    )


def _cursor_of(victim: Resident, kind: Kind | None) -> str:
    """The cursor after the first page of another's list, as if it had been found in a log."""
    path = "sessions/?limit=1" if kind is None else f"memories/?kind={kind}&limit=1"
    reply = call("GET", ROOT + path, token=victim.token)
    if reply.status != _OK:
        return ""
    return str(json.loads(reply.text[reply.text.index("{") :])["next_cursor"] or "")
