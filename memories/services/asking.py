"""What a request of an administrator needs before anything is done: who asks, for which tenant, and why."""

from __future__ import annotations

from uuid import UUID

from memories.errors import InvalidInput, NotFound
from memories.hygiene.sensitivity.detecting import holds_secrets
from memories.hygiene.text import clean_text
from memories.services.policies import administrator
from tenants.actor import Actor
from tenants.errors import Forbidden
from tenants.models import User
from tenants.principal import Principal
from tenants.principals import STAFF_ROLES
from tenants.selectors import has_role

REASON_CHARACTERS = 300


def administrator_of(by: Principal | Actor, tenant_id: UUID, what: str) -> Actor:
    """Who asks, for the trail. Raises Forbidden for others of the tenant, and NotFound of `what` for everybody else."""
    try:
        return administrator(by, tenant_id)
    except Forbidden:
        if not _belongs(by, tenant_id):
            raise NotFound(what) from None
        raise


def asked_reason(reason: str, *, required: bool = True) -> str:
    """Why, as it is stored and shown to auditors. Raises InvalidInput."""
    clean_text(reason, field="reason", limit=REASON_CHARACTERS, required=required)
    if holds_secrets(reason):
        raise InvalidInput("reason", "holds what is not stored, such as a key or a card number.")
    return " ".join(reason.split())


def person(actor: Actor) -> User | None:
    """The user behind an actor; None for the system and for programs."""
    return User.objects.filter(pk=actor.id).first() if actor.id else None


def _belongs(by: Principal | Actor, tenant_id: UUID) -> bool:
    if isinstance(by, Principal):
        return by.tenant_id == tenant_id
    user = person(by)
    return user is not None and has_role(user, tenant_id, STAFF_ROLES)
