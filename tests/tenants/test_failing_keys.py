"""A search key that fails by itself keeps no other member without theirs; the cluster is a stand-in here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from tenants.errors import SearchKeysUnavailable
from tenants.models import CredentialState, KeyTrouble, Membership, RetiredKey, SearchCredential, Tenant
from tenants.search_keys import cluster, lifecycle
from tenants.search_keys.cluster import Minted
from tenants.search_keys.lifecycle import mint_waiting, revoke_waiting
from tests.factories import make_membership

pytestmark = pytest.mark.django_db

SECRET = "the words of the cluster"


@pytest.fixture
def members(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> list[Membership]:
    """Members who wait for a key."""
    members = [make_membership(tenant) for _ in range(4)]
    SearchCredential.objects.all().delete()  # of the real cluster, if the suite runs on one
    monkeypatch.setattr(lifecycle, "in_use", lambda: True)
    return members


@pytest.mark.parametrize("place", [0, 2], ids=["first", "in the middle"])
@pytest.mark.parametrize("error", [KeyError(SECRET), cluster.unavailable(KeyTrouble.REFUSED)], ids=repr)
def test_a_key_that_cannot_be_made_keeps_nobody_else_without(
    members: list[Membership], monkeypatch: pytest.MonkeyPatch, error: Exception, place: int
) -> None:
    bad = members[place].pk
    lifecycle.begin_missing(Membership.objects.filter(pk__in=[each.pk for each in members]))
    for number, member in enumerate(members):
        SearchCredential.objects.filter(pk=member.pk).update(retry_at=timezone.now() - timedelta(hours=9 - number))

    def mint(*, membership_id: UUID, **_: object) -> Minted:
        if membership_id == bad:
            raise error
        return Minted(uuid4().hex, "encoded", timezone.now(), timezone.now() + timedelta(days=90))

    monkeypatch.setattr(cluster, "mint", mint)
    swept = mint_waiting()
    assert (swept.done, swept.failed) == (3, 1)
    (left,) = SearchCredential.objects.exclude(state=CredentialState.ACTIVE)
    assert (left.pk, left.attempts, left.claim) == (bad, 1, None)
    assert left.trouble and left.retry_at > timezone.now()


@pytest.mark.parametrize("place", [0, 5], ids=["first", "in the middle"])
@pytest.mark.parametrize("error", [KeyError(SECRET), cluster.unavailable(KeyTrouble.FAILED)], ids=repr)
def test_a_key_that_cannot_be_ended_keeps_no_other_valid(
    members: list[Membership], monkeypatch: pytest.MonkeyPatch, error: Exception, place: int
) -> None:
    now = timezone.now()
    for number in range(10):
        RetiredKey.objects.create(key_id=f"key-{number}", minted_at=now, due_at=now - timedelta(hours=20 - number))

    def invalidate(key_ids: Sequence[str]) -> set[str]:
        if f"key-{place}" in key_ids:
            raise error
        return {*key_ids}

    monkeypatch.setattr(cluster, "invalidate", invalidate)
    ended = revoke_waiting()
    assert (ended.done, ended.waiting) == (9, 1)
    left = RetiredKey.objects.get()
    assert (left.key_id, left.attempts, left.trouble) == (f"key-{place}", 1, KeyTrouble.FAILED)


@pytest.mark.parametrize("trouble", [KeyTrouble.UNREACHABLE, KeyTrouble.REFUSED, KeyTrouble.FAILED])
def test_a_cluster_that_ends_no_key_is_not_asked_for_each(
    members: list[Membership], monkeypatch: pytest.MonkeyPatch, trouble: KeyTrouble
) -> None:
    now, asked = timezone.now(), []
    for number in range(100):
        RetiredKey.objects.create(key_id=f"key-{number}", minted_at=now, due_at=now)

    def invalidate(key_ids: Sequence[str]) -> Any:
        asked.append(key_ids)
        raise SearchKeysUnavailable(trouble.value, SECRET)

    monkeypatch.setattr(cluster, "invalidate", invalidate)
    assert revoke_waiting().waiting == 100
    assert len(asked) < 20
    assert set(RetiredKey.objects.values_list("trouble", flat=True)) == {trouble.value}
