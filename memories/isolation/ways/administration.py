"""The admin, as an administrator of one tenant: the members, users, tokens and audit trails of other tenants."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID, uuid4

from memories.isolation.attempt import Attempt, way
from memories.isolation.http import Reply, call
from memories.isolation.marks import Told
from memories.isolation.residents import Part, Resident
from tenants.models import Membership

_OK, _FOUND = 200, 302
_MODELS = ("tenant", "membership", "user", "apitoken", "auditevent")


@way("admin: lists and searches", weight=1)
def at_large(attempt: Attempt) -> None:
    """What an administrator of one tenant is listed."""
    admin, chance = attempt.attacker(Part.ADMIN), attempt.chance
    victim = _elsewhere(attempt, admin)
    path = f"/admin/tenants/{chance.choice(_MODELS)}/"
    query = chance.choice(["", f"?q={victim.membership.user.username}", "?all=", f"?q={victim.principal.tenant_id}"])
    reply = call("GET", path + query, cookie=admin.cookie)
    attempt.shows(admin, reply.text, sent=query, allowed=_of_company(attempt, admin))


@way("admin: a row of another tenant by its id", weight=1)
def by_id(attempt: Attempt) -> None:
    """Pages and forms of one row: those of other tenants do not exist."""
    admin, chance = attempt.attacker(Part.ADMIN), attempt.chance
    victim = _elsewhere(attempt, admin)
    rows: list[tuple[str, UUID]] = [
        ("tenant", victim.principal.tenant_id),
        ("membership", victim.membership.id),
        ("user", victim.principal.user_id),
    ]
    model, id_ = chance.choice(rows)
    page = chance.choice(["change", "history", "delete"])
    form = {"role": "admin", "external_id": "mine", "name": "Mine"} if attempt.maybe(0.4) else None
    send: Callable[[UUID], Reply] = lambda each: call(  # noqa: E731 - the same request twice
        "GET", f"/admin/tenants/{model}/{each}/{page}/", cookie=admin.cookie, form=form
    )
    foreign, unknown = send(id_), send(uuid4())
    attempt.shows(admin, foreign.text, sent=id_, allowed=_of_company(attempt, admin))
    if foreign.status == _OK:
        attempt.found(admin, victim.number, Told.DONE)
    attempt.unequal(admin, victim.number, foreign.status, unknown.status)
    if Membership.objects.filter(pk=victim.membership.id, external_id="mine").exists():
        attempt.found(admin, victim.number, Told.STATE)


@way("admin: as a plain member", weight=1)
def uninvited(attempt: Attempt) -> None:
    """Who administers nothing sees the admin's door and no more."""
    member = attempt.attacker(Part.RESIDENT)
    reply = call("GET", f"/admin/tenants/{attempt.chance.choice(_MODELS)}/", cookie=member.cookie)
    attempt.shows(member, reply.text)
    if reply.status != _FOUND:
        attempt.found(member, member.company.number, Told.DONE)


def _elsewhere(attempt: Attempt, admin: Resident) -> Resident:
    """A member of another tenant; not of those who are at home in two."""
    others = [each for each in attempt.world.residents if each.company is not admin.company]
    return attempt.chance.choice([each for each in others if each.part is not Part.WANDERER])


def _of_company(attempt: Attempt, admin: Resident) -> frozenset[int]:
    """Everybody whom an administrator may see: the members of their own tenant."""
    members = (each.number for each in attempt.world.residents if each.company is admin.company)
    return frozenset((admin.company.number, *members))
