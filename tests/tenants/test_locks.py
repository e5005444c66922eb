"""The lock of an owner, and who does not get it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.db import transaction

from tenants.errors import Forbidden, NoMembership
from tenants.locks import lock_owner
from tenants.models import Membership
from tenants.principal import ActorKind, Principal
from tenants.principals import principal_of, system_principal
from tenants.services import deactivate_member, deactivate_tenant, deactivate_user
from tests.factories import make_membership, own_principal


def test_the_lock_is_the_members_row(principal: Principal) -> None:
    with transaction.atomic():
        assert lock_owner(principal).id == principal.membership_id


def test_the_lock_needs_a_transaction(transactional_db: None, principal: Principal) -> None:
    with pytest.raises(transaction.TransactionManagementError):
        lock_owner(principal)


def test_whoever_was_deactivated_does_not_get_the_lock(db: None) -> None:
    members = [make_membership() for _ in range(3)]
    principals = [own_principal(member) for member in members]
    deactivate_member(members[0])
    deactivate_tenant(members[1].tenant)
    deactivate_user(members[2].user)
    for principal in principals:
        with transaction.atomic(), pytest.raises(Forbidden):
            lock_owner(principal)


def test_the_lock_isolates_other_members(principal: Principal, other_member: Principal) -> None:
    forged = replace(principal, membership_id=other_member.membership_id)
    with transaction.atomic(), pytest.raises(Forbidden):
        lock_owner(forged)


def test_nobody_acts_as_an_inactive_member(membership: Membership) -> None:
    deactivate_member(membership)
    with pytest.raises(NoMembership):
        principal_of(membership, actor_kind=ActorKind.MEMBER)


def test_the_system_acts_for_a_member_under_its_own_name(membership: Membership) -> None:
    principal = system_principal(membership)
    assert (principal.actor_kind, principal.actor_id) == (ActorKind.SYSTEM, None)
    assert (principal.user_id, principal.speaker) == (membership.user_id, "Ada")


def test_a_speaker_is_the_best_name_there_is(membership: Membership) -> None:
    user = membership.user
    user.display_name, user.first_name, user.last_name = "", "Ada", "Lovelace"
    assert own_principal(membership).speaker == "Ada Lovelace"
    user.first_name = user.last_name = ""
    assert own_principal(membership).speaker == user.username
