"""The admin, as an administrator of one tenant: the members, users, tokens, reviews and audit trails of others."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID, uuid4

from memories.models import ReviewItem
from proof.attempt import Attempt, attack
from proof.http import Reply, call
from proof.marks import Told
from proof.residents import Part, Resident
from tenants.models import Membership

_OK, _FOUND = 200, 302
_REVIEWS = "/admin/memories/reviewitem/"
_MODELS = ("tenant", "membership", "user", "apitoken", "auditevent")


@attack("admin: lists and searches", weight=1)
def at_large(attempt: Attempt) -> None:
    """What an administrator of one tenant is listed."""
    admin, chance = attempt.attacker(Part.ADMIN), attempt.chance
    victim = _elsewhere(attempt, admin)
    path = f"/admin/tenants/{chance.choice(_MODELS)}/"
    query = chance.choice(["", f"?q={victim.membership.user.username}", "?all=", f"?q={victim.principal.tenant_id}"])
    reply = call("GET", path + query, cookie=admin.cookie)
    attempt.shows(admin, reply.text, sent=query, allowed=_of_company(attempt, admin))


@attack("admin: a row of another tenant by its id", weight=1)
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


@attack("admin: reviews of another tenant", weight=1)
def reviews(attempt: Attempt) -> None:
    """The queue, and what is asked about a member elsewhere: their words, decided by one who may not."""
    admin, chance = attempt.attacker(Part.ADMIN), attempt.chance
    victim = _elsewhere(attempt, admin)
    query = chance.choice(["", "?state=all", f"?q={victim.membership.user.username}&state=all"])
    reply = call("GET", _REVIEWS + query, cookie=admin.cookie)
    attempt.shows(admin, reply.text, sent=query, allowed=_of_company(attempt, admin))
    if not victim.reviews:
        return
    id_, page = chance.choice(victim.reviews), chance.choice(["change/", "history/", "undo/"])
    form = {"decision": chance.choice(["keep_both", "evict"])} if attempt.maybe(0.6) else None
    foreign, unknown = (
        call("GET", f"{_REVIEWS}{each}/{page}", cookie=admin.cookie, form=form) for each in (id_, uuid4())
    )
    attempt.shows(admin, foreign.text, sent=id_, allowed=_of_company(attempt, admin))
    if foreign.status == _OK:
        attempt.found(admin, victim.number, Told.DONE)
    attempt.unequal(admin, victim.number, foreign.status, unknown.status)
    action = {"action": chance.choice(["evict_chosen", "undo_chosen"]), "_selected_action": str(id_)}
    call("GET", f"{_REVIEWS}?state=all", cookie=admin.cookie, form=action)
    if ReviewItem.objects.unscoped("isolation proof").filter(pk=id_, decided_by=admin.membership.user).exists():
        attempt.found(admin, victim.number, Told.STATE)


@attack("admin: as a plain member", weight=1)
def uninvited(attempt: Attempt) -> None:
    """Who administers nothing sees the admin's door and no more."""
    member = attempt.attacker(Part.RESIDENT)
    path = attempt.chance.choice([*(f"/admin/tenants/{model}/" for model in _MODELS), _REVIEWS])
    reply = call("GET", path, cookie=member.cookie)
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
