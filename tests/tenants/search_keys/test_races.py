"""Members come, go, change roles and get new keys, all at once: nobody waits for ever, and no key is lost."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.utils import timezone

from tenants import services
from tenants.audit.verification import verify_all
from tenants.models import Membership, RetiredKey, SearchCredential, Tenant
from tenants.principal import Role
from tenants.search_keys import mint_waiting, provision, record_refusal, revoke_waiting, rotate, rotate_due
from tenants.search_keys.claims import GRACE
from tests.factories import make_membership, own_principal
from tests.tenants.search_keys.probing import credential, seen, valid_keys

pytestmark = pytest.mark.django_db(transaction=True)

THREADS, ACTIONS = 8, 8


DEEDS: list[Callable[[Membership], object]] = [
    services.deactivate,
    services.activate,
    lambda member: services.deactivate(member.tenant),
    lambda member: services.activate(member.tenant),
    lambda member: services.deactivate(member.user),
    lambda member: services.activate(member.user),
    lambda member: services.change_role(member, role=Role.SUPPORT),
    lambda member: services.change_role(member, role=Role.ADMIN),
    rotate,
    provision,
    lambda member: mint_waiting(),
    lambda member: revoke_waiting(),
    lambda member: rotate_due(),
]


@pytest.mark.long
def test_everything_at_once_ends_with_one_key_for_each_member(tenant: Tenant) -> None:
    members = [make_membership(tenant) for _ in range(3)]
    principals = {member.id: own_principal(member) for member in members}

    def work(seed: int) -> None:
        chance = random.Random(seed)
        try:
            for _ in range(ACTIONS):
                member = Membership.objects.select_related("tenant", "user").get(id=chance.choice(members).id)
                if chance.random() < 0.1:
                    record_refusal(principals[member.id], reason="a test")
                chance.choice(DEEDS)(member)
                if chance.random() < 0.5:  # or nobody would be active for most of the time
                    bring_back(member)
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    expect_one_key_each(members)


def bring_back(member: Membership) -> None:
    """Whatever was switched off, on again."""
    services.activate(member.tenant)
    services.activate(member.user)
    services.activate(member)


def expect_one_key_each(members: list[Membership]) -> None:
    """Each member's key is valid at the cluster and the only one, and the audit log is whole."""
    for member in members:
        bring_back(member)
    SearchCredential.objects.update(claimed_until=None, retry_at=timezone.now())
    mint_waiting()
    active = sorted(credential(member).key_id for member in members)
    assert all(active)
    seen(*active, *RetiredKey.objects.values_list("key_id", flat=True))
    assert revoke_waiting(timezone.now() + GRACE).waiting == 0
    assert sorted(valid_keys(members)) == active
    assert all(report.ok for report in verify_all())
