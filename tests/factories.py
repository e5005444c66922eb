"""Rows that tests start from, made through the models: no service, so no audit event but those under test."""

from __future__ import annotations

import itertools
from datetime import timedelta
from types import SimpleNamespace
from typing import Protocol

import pytest
from django.conf import settings

from tenants.models import Membership, SearchCredential, Tenant, User
from tenants.principal import ActorKind, Principal
from tenants.principals import principal_of
from tenants.search_keys import claims, cluster, lifecycle

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


def make_membership(
    tenant: Tenant | None = None, role: str = "member", name: str = "", *, username: str = ""
) -> Membership:
    """A membership of a new user; see MakeMember. On Elasticsearch they have their key."""
    number = next(_numbers)
    user = User.objects.create_user(
        username or f"user{number}", password=PASSWORD, display_name=name or f"User {number}"
    )
    membership = Membership.objects.create(tenant=tenant or make_tenant(), user=user, role=role)
    if settings.MEMORYHUB_SEARCH == "elasticsearch":
        give_key(membership)
    return membership


def give_key(membership: Membership) -> SearchCredential:
    """The key with which a member searches, as `provision` makes it, but for the audit event."""
    minted = mint_by_hand(membership, number=1, lifetime=timedelta(days=settings.MEMORYHUB_KEY_DAYS))
    credential = SearchCredential(membership=membership, number=1)
    secret = claims.seal(membership.id, minted.encoded, using=claims.box())
    claims._activate(credential, minted, secret)
    return credential


def mint_by_hand(
    member: Membership, *, number: int = 99, lifetime: timedelta = timedelta(minutes=10)
) -> cluster.Minted:
    """A key of this member that nobody stores."""
    return cluster.mint(
        name=cluster.member_key_name(member.id, number),
        lifetime=lifetime,
        tenant_id=member.tenant_id,
        user_id=member.user_id,
        membership_id=member.id,
    )


def mint_at_once(patch: pytest.MonkeyPatch) -> None:
    """Have services make keys although the transaction of a test, after which they would, never commits."""
    patch.setattr(lifecycle, "transaction", SimpleNamespace(on_commit=lambda make, **_: make()))


def own_principal(membership: Membership) -> Principal:
    """The member acting in person, with all rights."""
    return principal_of(membership, actor_kind=ActorKind.MEMBER)
