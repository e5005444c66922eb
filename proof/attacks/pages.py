"""The members' pages: with one's own session cookie and the ids of others, at large, and with cookies that ended.

Tenant switches: a user with two memberships moves between them in several tabs at once, while others try to follow.

Invariant under test: one answer is about one tenant, and what was written for one never lands in the other.
"""

from __future__ import annotations

import re
from uuid import UUID, uuid4

from memories.models import Message
from memories.types import Kind
from proof.attempt import Attempt, attack
from proof.http import Reply, call
from proof.marks import Told
from proof.residents import Part, Resident

_SLUGS = {Kind.SEMANTIC: "facts", Kind.PROCEDURAL: "how-tos", Kind.EPISODIC: "events", Kind.CATALOG: "shared"}
_OK, _NOT_FOUND = 200, 404
_NEVER = (_NOT_FOUND, 405)
_OWN_PAGES = (
    "/",
    "/chat/all/",
    "/remember/facts/",
    "/remember/how-tos/",
    "/remember/events/",
    "/remember/shared/",
    "/remember/settle/",
)
_CHANGING = re.compile(
    r'name="(?:csrfmiddlewaretoken|next|turn_id)" value="[^"]*"|csrf[^\n]*|Content-Length: \d+|Set-Cookie[^\n]*'
)
_FORM = {
    "text": "Mine",
    "title": "Mine",
    "pinned": "1",
    "more": "1",
    "cascade": "1",
    "message": "Mine",
    "decision": "keep_both",
}


@attack("pages: a memory or conversation by its id", weight=8)
def by_id(attempt: Attempt) -> None:
    """Every page and form that names one, or what is asked about one."""
    attacker, chance = attempt.attacker(Part.RESIDENT), attempt.chance
    victim = attempt.victim(attacker)
    target = attempt.target(victim)
    slug = chance.choice([_SLUGS[target.kind], *_SLUGS.values()])
    if attempt.maybe(0.2):
        tail = chance.choice(["", "decide/", "undo/"])
        path, id_ = f"/remember/settle/{{id}}/{tail}", chance.choice(victim.reviews)
    elif attempt.maybe(0.5):
        tail = chance.choice(["", "", "correct/", "retire/", "pin/", "forget/"])
        path, id_ = f"/remember/{slug}/{{id}}/{tail}", target.id
    else:
        tail = chance.choice(["", "", "send/", "rename/", "forget/", "turns/1/", "turns/1/retry/"])
        path, id_ = f"/chat/{{id}}/{tail}", chance.choice(victim.sessions)
    form = _FORM if tail not in ("", "turns/1/") and attempt.maybe(0.6) else None
    unknown_id = uuid4()
    foreign, unknown = (_open(attacker, path.format(id=each), form) for each in (id_, unknown_id))
    attempt.shows(attacker, foreign.text, sent=id_)
    if foreign.status not in _NEVER:
        attempt.found(attacker, victim.number, Told.DONE)
    attempt.unequal(attacker, victim.number, _constant(foreign, id_), _constant(unknown, unknown_id))


@attack("pages: lists and searches", weight=5)
def at_large(attempt: Attempt) -> None:
    """One's own pages, and searches for the rarest words of others."""
    attacker, chance = attempt.attacker(Part.RESIDENT), attempt.chance
    target = attempt.target(attempt.victim(attacker))
    path = chance.choice(_OWN_PAGES)
    query = chance.choice(["", f"?q={target.rare}", "?show=replaced", f"?q={target.rare}&show=replaced", "?page=2"])
    reply = _open(attacker, path + query)
    attempt.shows(attacker, reply.text)


@attack("pages: one's own conversations and memories", weight=3)
def own(attempt: Attempt) -> None:
    """What a page shows beside what was asked for: lists at the side, panels, sources, uses."""
    attacker, chance = attempt.attacker(Part.RESIDENT), attempt.chance
    target = attempt.target(attacker)
    pages = [
        f"/chat/{chance.choice(attacker.sessions)}/",
        f"/chat/{chance.choice(attacker.sessions)}/turns/1/",
        f"/remember/{_SLUGS[target.kind]}/{target.id}/",
        f"/remember/{_SLUGS[target.kind]}/{target.id}/forget/",
        f"/remember/settle/{chance.choice(attacker.reviews)}/",
    ]
    attempt.shows(attacker, _open(attacker, chance.choice(pages)).text)


@attack("pages: export", weight=1)
def export(attempt: Attempt) -> None:
    """The download of one's memory."""
    attacker = attempt.attacker(Part.RESIDENT)
    attempt.shows(attacker, _open(attacker, "/remember/export/", {}).text)


@attack("pages: cookies that ended", weight=2)
def ended(attempt: Attempt) -> None:
    """The session of a member who was deactivated, one that was never made, and none."""
    ghost = attempt.attacker(Part.GHOST)
    chance = attempt.chance
    cookie = chance.choice([ghost.cookie, ghost.cookie[:-1] + "z", ""])
    session = chance.choice(ghost.sessions)
    path = chance.choice([*_OWN_PAGES, f"/chat/{session}/", "/api/v1/memories/?kind=semantic"])
    reply = call("GET", path, cookie=cookie)
    attempt.shows(ghost, reply.text, sent=[path, cookie], allowed=())
    if reply.status == _OK:
        attempt.found(ghost, ghost.number, Told.DONE)


def _open(who: Resident, path: str, form: dict[str, str] | None = None) -> Reply:
    return call("GET", path, cookie=who.cookie, form=form)


def _constant(reply: Reply, id_: UUID) -> tuple[int, str]:
    """The answer without what differs on every request."""
    return reply.status, _CHANGING.sub("", reply.text.replace(str(id_), "ID"))


_FOUND = 302
_PAGES = (
    "/",
    "/chat/all/",
    "/remember/facts/",
    "/remember/events/",
    "/remember/shared/",
    "/api/v1/memories/?kind=semantic&shared=true&limit=100",
    "/api/v1/sessions/",
)


@attack("pages: switching between one's tenants at once", weight=4)
def wander(attempt: Attempt) -> None:
    """All tabs share one session: switch and read, while other attempts do the same with the same cookie."""
    here, there = _both(attempt)
    for _ in range(2):
        aim = attempt.chance.choice([here, there])
        call("POST", "/tenant/switch/", cookie=here.cookie, form={"tenant": str(aim.principal.tenant_id)})
        reply = call("GET", attempt.chance.choice(_PAGES), cookie=here.cookie)
        attempt.shows(here, reply.text, allowed=here.allowed | there.allowed)
        _of_one_tenant(attempt, here, there, reply.text)


@attack("pages: a message written for the other tenant", weight=1)
def send_to_other_tenant(attempt: Attempt) -> None:
    """A form opened in one tenant and sent in another: nothing of it may be stored there."""
    here, there = _both(attempt)
    secret = attempt.world.marks.secret(here.number)
    form = {"message": f"Is {secret} still the word?", "tenant": str(here.principal.tenant_id)}
    call("POST", "/tenant/switch/", cookie=here.cookie, form={"tenant": str(there.principal.tenant_id)})
    call("POST", "/chat/send/", cookie=here.cookie, form=form)
    tenants = (
        Message.objects.unscoped("isolation proof").filter(text__contains=secret).values_list("tenant_id", flat=True)
    )
    if set(tenants) - {here.principal.tenant_id}:
        attempt.found(there, here.number, Told.STATE)


@attack("pages: switching to a tenant of others", weight=3)
def intrude(attempt: Attempt) -> None:
    """The ids of tenants are no secret; being in one is what counts."""
    attacker = attempt.attacker(Part.RESIDENT)
    company = attempt.chance.choice([each for each in attempt.world.companies if each is not attacker.company])
    reply = call("POST", "/tenant/switch/", cookie=attacker.cookie, form={"tenant": str(company.tenant.id)})
    if reply.status == _FOUND:
        attempt.found(attacker, company.number, Told.DONE)
    attempt.shows(attacker, call("GET", "/remember/shared/", cookie=attacker.cookie).text)


def _both(attempt: Attempt) -> tuple[Resident, Resident]:
    first, second = attempt.world.of(Part.WANDERER)
    return (first, second) if attempt.maybe(0.5) else (second, first)


def _of_one_tenant(attempt: Attempt, here: Resident, there: Resident, text: str) -> None:
    """Note a page on which memories of both tenants stand together."""
    marks = attempt.world.marks
    seen = {owner for owner, told in marks.strangers(text, ()) if told is Told.TEXT}
    if seen & here.allowed and seen & there.allowed:
        attempt.found(here, there.number, Told.TEXT)
