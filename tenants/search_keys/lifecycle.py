"""What the services of tenants do about keys when members come, change, go and come back.

Each is called in the transaction of the change; the cluster is asked when that is committed, and never fails it.
"""

from __future__ import annotations

from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from tenants.models import CredentialState, Membership, SearchCredential, Tenant, User
from tenants.principal import SYSTEM, Actor
from tenants.search_keys.ending import resume, suspend
from tenants.search_keys.minting import Outcome, begin_missing, provision, rotate

# Whoever comes back with more members than these waits for the next sweep (`mint_waiting`) to make the other keys.
AT_ONCE = 100


def member_added(membership: Membership, *, actor: Actor = SYSTEM) -> None:
    """A new member gets a key."""
    if begin_missing(Membership.objects.filter(id=membership.id)):
        transaction.on_commit(partial(provision, membership, actor=actor), robust=True)


def role_changed(membership: Membership, *, actor: Actor = SYSTEM) -> None:
    """A member with another role gets another key; if the cluster is down, as soon as it is back."""
    active = SearchCredential.objects.filter(membership_id=membership.id, state=CredentialState.ACTIVE)
    if active.update(rotate_at=timezone.now()):
        transaction.on_commit(partial(rotate, membership, actor=actor), robust=True)


def deactivated(what: Membership | Tenant | User, *, actor: Actor = SYSTEM) -> None:
    """The keys of whoever can act no more are taken."""
    noun = what._meta.model_name or ""
    suspend(_of(what), reason=f"{noun} deactivated", actor=actor)


def activated(what: Membership | Tenant | User, *, actor: Actor = SYSTEM) -> None:
    """Whoever can act again gets a new key."""
    if SearchCredential.objects.filter(_of(what), state=CredentialState.SUSPENDED).exists():
        transaction.on_commit(lambda: _provide(resume(_of(what)), actor), robust=True)


def _of(what: Membership | Tenant | User) -> Q:
    match what:
        case Membership():
            return Q(membership_id=what.id)
        case Tenant():
            return Q(membership__tenant_id=what.id)
        case _:
            return Q(membership__user_id=what.id)


def _provide(membership_ids: list[UUID], actor: Actor) -> None:
    for membership in Membership.objects.filter(id__in=membership_ids[:AT_ONCE]):
        if provision(membership, actor=actor) is Outcome.UNREACHABLE:
            return
