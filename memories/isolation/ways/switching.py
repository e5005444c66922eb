"""Tenant switches: a user with two memberships moves between them in several tabs at once, while others try to follow.

Invariant under test: one answer is about one tenant, and what was written for one never lands in the other.
"""

from __future__ import annotations

from memories.isolation.attempt import Attempt, way
from memories.isolation.http import call
from memories.isolation.marks import Told
from memories.isolation.residents import Part, Resident
from memories.models import Message

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


@way("pages: switching between one's tenants at once", weight=4)
def wander(attempt: Attempt) -> None:
    """All tabs share one session: switch and read, while other attempts do the same with the same cookie."""
    here, there = _both(attempt)
    for _ in range(2):
        aim = attempt.chance.choice([here, there])
        call("POST", "/tenant/switch/", cookie=here.cookie, form={"tenant": str(aim.principal.tenant_id)})
        reply = call("GET", attempt.chance.choice(_PAGES), cookie=here.cookie)
        attempt.shows(here, reply.text, allowed=here.allowed | there.allowed)
        _of_one_tenant(attempt, here, there, reply.text)


@way("pages: a message written for the other tenant", weight=1)
def send(attempt: Attempt) -> None:
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


@way("pages: switching to a tenant of others", weight=3)
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
