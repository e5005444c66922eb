"""Rows that tests start from, made through the models: no service, so no audit event but those under test."""

from __future__ import annotations

import itertools
from typing import Protocol

from tenants.models import Membership, Tenant, User
from tenants.principal import ActorKind, Principal
from tenants.principals import principal_of

PASSWORD = "correct horse battery staple"

_numbers = itertools.count(1)


class MakeMember(Protocol):
    """Makes a membership of a new user, in a new tenant unless given one."""

    def __call__(self, tenant: Tenant | None = None, role: str = "member", name: str = "") -> Membership:
        """`name` is the display name; the username is made up and the password is PASSWORD."""
        ...


def make_tenant(name: str = "") -> Tenant:
    """An organisation; the name is made up unless given."""
    number = next(_numbers)
    return Tenant.objects.create(name=name or f"Tenant {number}", slug=f"tenant-{number}")


def make_membership(tenant: Tenant | None = None, role: str = "member", name: str = "") -> Membership:
    """A membership of a new user; see MakeMember."""
    number = next(_numbers)
    user = User.objects.create_user(f"user{number}", password=PASSWORD, display_name=name or f"User {number}")
    return Membership.objects.create(tenant=tenant or make_tenant(), user=user, role=role)


def own_principal(membership: Membership) -> Principal:
    """The member acting in person, with all rights."""
    return principal_of(membership, actor_kind=ActorKind.MEMBER)
