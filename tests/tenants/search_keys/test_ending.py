"""Who may not act has no key: at once here, within seconds at the cluster, and when it is away, when it is back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from operator import attrgetter
from typing import Any

import pytest
from django.utils import timezone

from tenants import services
from tenants.errors import NoSearchKey
from tenants.models import AuditEvent, Membership, RetiredKey, SearchCredential
from tenants.principal import Principal, Role
from tenants.search_keys import (
    invalidate,
    mint_waiting,
    provision,
    revoke,
    revoke_waiting,
    rotate_due,
    search_key,
    temporary_key,
)
from tenants.search_keys.lifecycle import KeyOutcome, Swept, allow
from tests.factories import make_membership, own_principal
from tests.tenants.search_keys.conftest import Away
from tests.tenants.search_keys.probing import credential, key_of, seen, status_of

OnCommit = Any  # pytest-django's django_capture_on_commit_callbacks

Switched = Callable[[Membership], Any]
whoever = pytest.mark.parametrize(
    "switched", [lambda member: member, attrgetter("tenant"), attrgetter("user")], ids=["member", "tenant", "user"]
)


@whoever
def test_switching_off_takes_the_key_and_on_gives_another(
    membership: Membership, switched: Switched, django_capture_on_commit_callbacks: OnCommit
) -> None:
    principal, old = own_principal(membership), key_of(membership)
    seen(credential(membership).key_id)
    with django_capture_on_commit_callbacks(execute=True):
        services.deactivate(switched(membership))
        with pytest.raises(NoSearchKey):  # already in the transaction
            search_key(principal)
    assert status_of(old) == 401
    assert credential(membership).state == "suspended"
    with django_capture_on_commit_callbacks(execute=True):
        services.activate(switched(membership))
    assert key_of(membership) != old and status_of(key_of(membership)) == 200
    actions = AuditEvent.objects.filter(action__startswith="search_key.").order_by("sequence")
    assert [event.action for event in actions] == ["search_key.revoked", "search_key.minted"]
    assert actions[0].payload.data["reason"].endswith("deactivated")


@whoever
def test_switching_off_while_the_cluster_is_away_ends_the_key_later(
    membership: Membership, switched: Switched, away: Away, django_capture_on_commit_callbacks: OnCommit
) -> None:
    old = key_of(membership)
    seen(credential(membership).key_id)
    with away(), django_capture_on_commit_callbacks(execute=True):
        services.deactivate(switched(membership))
    row = RetiredKey.objects.get()
    assert (row.attempts, row.trouble, row.membership_id) == (1, "unreachable", membership.id)
    assert status_of(old) == 200
    ended = revoke_waiting()
    assert (ended.done, ended.waiting) == (1, 0)
    assert status_of(old) == 401


def test_others_keep_their_key(membership: Membership, other_member: Principal, other_tenant_member: Principal) -> None:
    services.deactivate(membership)
    services.deactivate(make_membership().tenant)
    assert status_of(key_of(other_member)) == status_of(key_of(other_tenant_member)) == 200


def test_a_user_gone_from_one_tenant_searches_in_the_other(membership: Membership) -> None:
    elsewhere = Membership.objects.create(tenant=make_membership().tenant, user=membership.user)
    mint_waiting()
    services.deactivate(membership)
    assert status_of(key_of(elsewhere)) == 200


def test_no_revoked_key_comes_by_itself(membership: Membership, django_capture_on_commit_callbacks: OnCommit) -> None:
    old = key_of(membership)
    seen(credential(membership).key_id)
    with django_capture_on_commit_callbacks(execute=True):
        assert revoke(membership)
        assert not revoke(membership)
    assert status_of(old) == 401
    with django_capture_on_commit_callbacks(execute=True):
        services.deactivate(membership)
        services.activate(membership)
    assert (provision(membership), mint_waiting()) == (KeyOutcome.NOT_NEEDED, Swept(0, 0))
    allow(membership)
    assert provision(membership) is KeyOutcome.MADE


def test_another_role_gets_another_key(membership: Membership, django_capture_on_commit_callbacks: OnCommit) -> None:
    old = key_of(membership)
    with django_capture_on_commit_callbacks(execute=True):
        services.change_role(membership, role=Role.AUDITOR)
    assert key_of(membership) != old
    assert RetiredKey.objects.count() == 1


def test_another_role_while_the_cluster_is_away_gets_its_key_later(
    membership: Membership, away: Away, django_capture_on_commit_callbacks: OnCommit
) -> None:
    old = key_of(membership)
    with away(), django_capture_on_commit_callbacks(execute=True):
        services.change_role(membership, role=Role.AUDITOR)
    assert key_of(membership) == old
    SearchCredential.objects.update(retry_at=timezone.now())
    assert rotate_due() == Swept(1, 0)
    assert key_of(membership) != old


def test_whoever_was_switched_off_by_another_way_loses_the_key_too(membership: Membership) -> None:
    old = key_of(membership)
    seen(credential(membership).key_id)
    Membership.objects.filter(id=membership.id).update(is_active=False)
    with pytest.raises(NoSearchKey, match="not active"):
        key_of(own_principal(membership))
    rotate_due()
    revoke_waiting()
    assert status_of(old) == 401
    Membership.objects.filter(id=membership.id).update(is_active=True)
    assert mint_waiting() == Swept(1, 0)


def test_a_key_that_the_cluster_does_not_see_yet_is_not_taken_for_ended(membership: Membership) -> None:
    """The cluster answers an end that it did not carry out with success."""
    old, key_id = key_of(membership), credential(membership).key_id
    revoke(membership)
    revoke_waiting()
    seen(key_id)
    revoke_waiting()
    assert status_of(old) == 401 and not RetiredKey.objects.exists()


def test_a_key_that_the_cluster_does_not_know_is_done_with(db: None) -> None:
    long_ago = timezone.now() - timedelta(hours=1)
    RetiredKey.objects.create(key_id="unknown", minted_at=long_ago, due_at=long_ago)
    ended = revoke_waiting()
    assert (ended.done, ended.waiting) == (1, 0)


def test_a_temporary_key_works_without_a_row_and_can_be_ended(membership: Membership) -> None:
    key = temporary_key(membership.tenant_id, membership.user_id, lifetime=timedelta(minutes=1))
    assert status_of(key.encoded) == 200
    seen(key.key_id)
    invalidate([key.key_id])
    assert status_of(key.encoded) == 401
    assert not SearchCredential.objects.filter(key_id=key.key_id).exists()
    with pytest.raises(ValueError, match="a day"):
        temporary_key(membership.tenant_id, membership.user_id, lifetime=timedelta(days=2))
