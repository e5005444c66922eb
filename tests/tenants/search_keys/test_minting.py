"""Whoever joins gets a key in the same step; where the cluster is away, as soon as it is back."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from tenants.errors import NoSearchKey
from tenants.models import AuditEvent, AuditPayload, Membership, SearchCredential, Tenant
from tenants.principal import Principal
from tenants.search_keys import mint_waiting, provision, search_key
from tenants.search_keys.claims import FIRST_RETRY_SECONDS
from tenants.search_keys.lifecycle import KeyOutcome, Swept
from tests.factories import own_principal
from tests.tenants.search_keys.conftest import Away, Joins
from tests.tenants.search_keys.probing import credential, found_with, key_of, put, seen


def state_of(who: Membership | Principal) -> str:
    """Why there is no key."""
    with pytest.raises(NoSearchKey) as refusal:
        key_of(who)
    return refusal.value.state


def test_a_new_member_has_a_key_at_once(tenant: Tenant, joins: Joins) -> None:
    member = joins(tenant)
    assert found_with(key_of(member)) == set()
    event = AuditEvent.objects.get(action="search_key.minted")
    assert (event.chain, event.target_id) == (f"tenant:{tenant.id}", member.id)
    assert AuditPayload.objects.get(event=event).data["after"]["key_id"] == credential(member).key_id


def test_a_key_opens_what_its_member_may_see_and_nothing_of_others(
    tenant: Tenant, joins: Joins, other_member: Principal, other_tenant_member: Principal
) -> None:
    member = joins(tenant)
    may_see = {
        put("user", tenant.id, member.user_id),
        put("tenant", tenant.id, kind="catalog"),
        put("global", kind="catalog"),
    }
    put("user", tenant.id, other_member.user_id)
    put("user", other_tenant_member.tenant_id, member.user_id)
    put("user", other_tenant_member.tenant_id, other_tenant_member.user_id)
    put("tenant", other_tenant_member.tenant_id)
    put("other", tenant.id, member.user_id)
    assert found_with(key_of(member)) == may_see


def test_the_keys_of_another_tenant_are_not_handed_out(principal: Principal, other_tenant_member: Principal) -> None:
    assert state_of(replace(principal, membership_id=other_tenant_member.membership_id)) == "missing"
    assert state_of(replace(principal, tenant_id=other_tenant_member.tenant_id)) == "missing"


def test_the_keys_of_another_member_are_not_handed_out(principal: Principal, other_member: Principal) -> None:
    assert state_of(replace(principal, membership_id=other_member.membership_id)) == "missing"
    assert key_of(principal) != key_of(other_member)


def test_handing_out_a_key_is_a_query(principal: Principal, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(1):
        search_key(principal)


def test_a_cluster_that_is_away_fails_nobody_and_is_tried_again(tenant: Tenant, joins: Joins, away: Away) -> None:
    with away():
        member = joins(tenant)
        row = credential(member)
        assert (row.state, row.trouble, row.attempts) == ("pending", "unreachable", 1)
        assert state_of(member) == "pending"
        assert row.retry_at > timezone.now() + timedelta(seconds=FIRST_RETRY_SECONDS / 2)
        assert mint_waiting() == Swept(0, 0)  # not yet due
    SearchCredential.objects.update(retry_at=timezone.now())
    assert mint_waiting() == Swept(1, 0)
    assert found_with(key_of(member)) == set()
    assert (credential(member).trouble, credential(member).attempts) == ("", 0)


def test_a_sweep_does_not_wait_for_the_same_cluster_again_and_again(tenant: Tenant, joins: Joins, away: Away) -> None:
    with away():
        for name in ("a-1", "a-2", "a-3"):
            joins(tenant, name)
        SearchCredential.objects.update(retry_at=timezone.now(), attempts=0)
        assert mint_waiting() == Swept(0, 1)
    assert sorted(SearchCredential.objects.values_list("attempts", flat=True)) == [0, 0, 1]


@pytest.mark.parametrize(
    ("minter", "trouble"),
    [
        pytest.param("{user}:wrong-password", "refused", id="wrong password"),
        pytest.param("", "configuration", id="not configured"),
    ],
)
def test_a_minter_that_cannot_make_keys_is_named(
    tenant: Tenant, joins: Joins, settings: Settings, minter: str, trouble: str
) -> None:
    before = settings.ELASTICSEARCH_CREDENTIALS
    user = before["minter"].partition(":")[0]
    settings.ELASTICSEARCH_CREDENTIALS = {**before, "minter": minter.format(user=user)}
    member = joins(tenant)
    assert (credential(member).state, credential(member).trouble) == ("pending", trouble)
    settings.ELASTICSEARCH_CREDENTIALS = before
    assert provision(member) is KeyOutcome.MADE


def test_an_expired_key_is_said_to_be_and_replaced(membership: Membership) -> None:
    now = timezone.now()
    SearchCredential.objects.update(expires_at=now - timedelta(seconds=1))
    assert state_of(membership) == "expired"
    assert mint_waiting() == Swept(1, 0)
    assert SearchCredential.objects.filter(expires_at__gt=now + timedelta(days=89)).exists()
    assert found_with(key_of(membership)) == set()


def test_the_cluster_ends_a_key_after_the_days_that_are_set(tenant: Tenant, joins: Joins, settings: Settings) -> None:
    settings.MEMORYHUB_KEY_DAYS = 3
    row = credential(joins(tenant))
    known = seen(row.key_id)[row.key_id]
    assert known.expires_at == row.expires_at
    assert known.expires_at is not None and known.expires_at - known.created_at == timedelta(days=3)


def test_with_the_embedded_plane_there_are_no_keys(tenant: Tenant, joins: Joins, settings: Settings) -> None:
    settings.MEMORYHUB_SEARCH = "embedded"
    joins(tenant)
    assert mint_waiting() == Swept(0, 0)
    assert not SearchCredential.objects.exists()


def test_its_holder_alone_has_the_secret(tenant: Tenant, joins: Joins, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    member = joins(tenant)
    key = search_key(own_principal(member))
    assert key.encoded not in repr(key)
    assert key.encoded not in caplog.text
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608 - every table there is
            assert key.encoded not in str(cursor.fetchall()), table
