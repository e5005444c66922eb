"""A key is replaced without a search noticing, and only by one that is proven."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from tenants.models import AuditEvent, AuditPayload, CredentialState, Membership, RetiredKey, SearchCredential
from tenants.principal import SYSTEM
from tenants.search_keys import end_orphans, provision, revoke_waiting, rotate, rotate_due
from tenants.search_keys.claims import GRACE, box, claim, seal, store, take_key
from tenants.search_keys.lifecycle import KeyOutcome, Swept
from tests.factories import make_membership, mint_by_hand
from tests.tenants.search_keys.conftest import Away
from tests.tenants.search_keys.probing import credential, found_with, key_of, put, seen, status_of, valid_keys

AT_ONCE = timedelta(0)


def test_the_new_key_opens_the_same_and_the_old_one_ends_after_a_grace(membership: Membership) -> None:
    own = put("user", membership.tenant_id, membership.user_id)
    old, old_id = key_of(membership), credential(membership).key_id
    seen(old_id)
    assert rotate(membership) is KeyOutcome.MADE
    assert found_with(key_of(membership)) == {own} == found_with(old)
    assert revoke_waiting().done == 0
    assert revoke_waiting(timezone.now() + GRACE).done == 1
    assert status_of(old) == 401
    event = AuditPayload.objects.get(event__action="search_key.rotated")
    assert (event.data["before"]["key_id"], event.data["after"]["key_id"]) == (old_id, credential(membership).key_id)


def test_a_key_that_fails_its_proof_never_takes_over(membership: Membership, settings: Settings) -> None:
    """With other names for the indices the minter has nothing to hand on: the new key opens nothing."""
    old, before = key_of(membership), settings.ELASTICSEARCH_PREFIX
    settings.ELASTICSEARCH_PREFIX = f"{before}-elsewhere"
    assert rotate(membership) is KeyOutcome.FAILED
    settings.ELASTICSEARCH_PREFIX = before
    assert key_of(membership) == old and status_of(old) == 200
    assert credential(membership).trouble == "unproven"
    assert RetiredKey.objects.exclude(key_id=credential(membership).key_id).count() == 1


def test_while_the_cluster_is_away_the_old_key_stays(membership: Membership, away: Away) -> None:
    old = key_of(membership)
    with away():
        assert rotate(membership) is KeyOutcome.UNREACHABLE
    assert (key_of(membership), credential(membership).trouble) == (old, "unreachable")
    assert rotate_due(timezone.now()) == Swept(0, 0)
    assert rotate_due(credential(membership).retry_at) == Swept(1, 0)
    assert key_of(membership) != old and credential(membership).trouble == ""


def test_keys_are_replaced_after_two_thirds_of_their_life(membership: Membership) -> None:
    now = timezone.now()
    assert rotate_due(now + timedelta(days=59)) == Swept(0, 0)
    old = key_of(membership)
    SearchCredential.objects.update(retry_at=now)
    assert rotate_due(now + timedelta(days=61)) == Swept(1, 0)
    assert key_of(membership) != old
    assert rotate_due(now + timedelta(days=59)) == Swept(0, 0)


def test_whoever_is_not_active_is_not_rotated(membership: Membership) -> None:
    Membership.objects.filter(id=membership.id).update(is_active=False)
    assert rotate(membership) is KeyOutcome.NOT_NEEDED
    assert rotate_due(timezone.now() + timedelta(days=61)) == Swept(0, 0)


def test_a_maker_that_took_too_long_loses_to_the_next(membership: Membership) -> None:
    """Its key is retired, and the one that took over stays."""
    held = claim(membership.id, wanted=lambda row: True)
    assert held is not None
    assert claim(membership.id, wanted=lambda row: True) is None
    late = mint_by_hand(membership)
    SearchCredential.objects.update(claimed_until=timezone.now())
    assert rotate(membership) is KeyOutcome.MADE
    winner = credential(membership).key_id
    secret = seal(membership.id, late.encoded, using=box())
    assert not store(held, late, secret=secret, grace=AT_ONCE, action="x", actor=SYSTEM)
    assert credential(membership).key_id == winner
    assert RetiredKey.objects.filter(key_id=late.key_id).exists()


def test_a_key_whose_maker_died_before_storing_it_is_ended(membership: Membership) -> None:
    orphan, known = mint_by_hand(membership), credential(membership).key_id
    seen(orphan.key_id, known)
    assert end_orphans(older_than=timedelta(minutes=5), tenant_id=membership.tenant_id) == 0
    assert end_orphans(older_than=AT_ONCE, tenant_id=membership.tenant_id) == 1
    assert status_of(orphan.encoded) == 401
    assert status_of(key_of(membership)) == 200


def test_orphans_of_another_tenant_are_left(membership: Membership) -> None:
    orphan = mint_by_hand(membership)
    seen(orphan.key_id)
    assert end_orphans(older_than=AT_ONCE, tenant_id=make_membership().tenant_id) == 0
    assert status_of(orphan.encoded) == 200


@pytest.mark.django_db(transaction=True)
def test_many_at_once_make_one_key_and_orphan_none(membership: Membership) -> None:
    take_key(credential(membership), CredentialState.PENDING)
    outcomes = together(lambda: provision(membership), 12)
    assert outcomes.count(KeyOutcome.MADE) == 1
    outcomes = together(lambda: rotate(membership, grace=AT_ONCE), 12)
    assert KeyOutcome.MADE in outcomes and KeyOutcome.FAILED not in outcomes
    active = credential(membership).key_id
    seen(active, *RetiredKey.objects.values_list("key_id", flat=True))
    assert revoke_waiting().waiting == 0
    assert valid_keys([membership]) == [active]


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_no_search_fails_while_its_key_is_replaced_again_and_again(membership: Membership) -> None:
    """Each searcher asks for the key and searches with it, as recall does, all through twenty rotations."""
    own = put("user", membership.tenant_id, membership.user_id)
    over = threading.Event()

    def search() -> list[set[str]]:
        answers = []
        try:
            while not over.is_set():
                answers.append(found_with(key_of(membership)))
        finally:
            connection.close()
        return answers

    with ThreadPoolExecutor(4) as pool:
        searchers = [pool.submit(search) for _ in range(4)]
        try:
            for _ in range(20):
                assert rotate(membership, grace=timedelta(seconds=1)) is KeyOutcome.MADE
                revoke_waiting()
            over.wait(2.5)
            revoke_waiting()
        finally:
            over.set()
        answers = [answer for searcher in searchers for answer in searcher.result()]
    assert len(answers) > 40 and all(answer == {own} for answer in answers)
    assert not RetiredKey.objects.exists()
    assert AuditEvent.objects.filter(action="search_key.rotated").count() == 20


def together(work: Callable[[], KeyOutcome], threads: int) -> list[KeyOutcome]:
    """What each of many threads, on a connection of its own, got."""

    def run(_: int) -> KeyOutcome:
        try:
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(threads)))
