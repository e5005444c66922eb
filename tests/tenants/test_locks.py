"""The lock of an owner, and who does not get it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from tenants.errors import Forbidden, NoMembership
from tenants.locks import lock_owner, lock_tenant
from tenants.models import ApiToken, Membership
from tenants.principal import ActorKind, Principal
from tenants.principals import principal_of, system_principal
from tenants.search_keys.claims import locked
from tenants.services import deactivate
from tests.factories import make_membership, own_principal


def test_the_lock_needs_a_transaction(transactional_db: None, principal: Principal) -> None:
    with pytest.raises(transaction.TransactionManagementError):
        lock_owner(principal)


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="on SQLite the transaction itself is the lock")
def test_the_locks_hold_up_no_foreign_key(transactional_db: None, principal: Principal, membership: Membership) -> None:
    """Else two who commit what names each other's rows would wait in a circle."""

    def token() -> None:
        with closing(connection), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '2s'")
            ApiToken.objects.create(tenant=membership.tenant, membership=membership, name="laptop", digest="0" * 64)
            make_membership(membership.tenant)

    with transaction.atomic(), ThreadPoolExecutor(1) as others:
        lock_owner(principal)
        lock_tenant(principal.tenant_id)
        others.submit(token).result()
    assert ApiToken.objects.count() == 1


def test_several_members_are_locked_in_order_of_id(membership: Membership) -> None:
    with CaptureQueriesContext(connection) as queries, transaction.atomic():
        locked([membership.id])
    (lock,) = (query["sql"] for query in queries if query["sql"].startswith('SELECT "tenants_membership"."id"'))
    assert lock.partition(" ORDER BY ")[2].split(" FOR ")[0] in ("1 ASC", '"tenants_membership"."id" ASC')


def test_whoever_was_deactivated_does_not_get_the_lock(db: None) -> None:
    members = [make_membership() for _ in range(3)]
    principals = [own_principal(member) for member in members]
    deactivate(members[0])
    deactivate(members[1].tenant)
    deactivate(members[2].user)
    for principal in principals:
        with transaction.atomic(), pytest.raises(Forbidden):
            lock_owner(principal)


def test_the_lock_isolates_other_members(principal: Principal, other_member: Principal) -> None:
    forged = replace(principal, membership_id=other_member.membership_id)
    with transaction.atomic(), pytest.raises(Forbidden):
        lock_owner(forged)


def test_nobody_acts_as_an_inactive_member(membership: Membership) -> None:
    deactivate(membership)
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
