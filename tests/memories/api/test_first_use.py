"""Many first requests for one user make one member, with one search key."""

from __future__ import annotations

from collections import Counter

import pytest

from memories.services.policies import set_policy
from tenants.models import AuditEvent, SearchCredential, Tenant, User
from tenants.principal import SYSTEM
from tests.factories import make_tenant
from tests.memories.api.caller import Caller, key_of
from tests.proofs.crowd import at_once

CALLS = 32

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def tenant() -> Tenant:
    tenant = make_tenant()
    set_policy(SYSTEM, tenant_id=tenant.id, provision_members=True)
    return tenant


def test_first_uses_at_once_make_one_member(tenant: Tenant) -> None:
    key = key_of(tenant)

    def call(number: int) -> int:
        caller = Caller(key.token, key.principal)
        body = {"text": f"Owns map {number}.", "user_id": "new"}
        if number % 2:
            return caller.post("recall/", {"query": "Which map?", "user_id": "new"}).status
        return caller.post("memories/", body).status

    assert Counter(at_once(CALLS, call)) == {200: CALLS // 2, 201: CALLS // 2}
    assert (tenant.memberships.count(), User.objects.count()) == (1, 1)
    assert AuditEvent.objects.filter(action="member.added").count() == 1
    assert SearchCredential.objects.count() <= 1
    assert len(key.get("memories/?user_id=new").json["results"]) == CALLS // 2


def test_members_made_at_once_by_two_keys_and_the_api_are_one(tenant: Tenant) -> None:
    keys = [key_of(tenant).token, key_of(tenant).token]

    def call(number: int) -> int:
        return Caller(keys[number % 2], None).post("members/", {"user_id": "new"}).status  # type: ignore[arg-type]

    assert Counter(at_once(8, call)) == {201: 1, 200: 7}
    assert tenant.memberships.count() == 1
