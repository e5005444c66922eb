"""The jobs of search keys, on a real cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from memoryhub.jobs import Unavailable
from tenants import search_keys
from tenants.apps import JOBS
from tenants.models import Membership, SearchCredential
from tenants.search_keys.claims import GRACE, retire
from tests.cluster import Cluster
from tests.tenants.search_keys.probing import credential, key_of, seen, status_of

PATIENCE_SECONDS = 20.0


def eventually(happened: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def has_key(membership: Membership) -> bool:
    return SearchCredential.objects.filter(membership=membership, state="active").exists()


@pytest.fixture
def keyless(elasticsearch: Cluster, membership: Membership) -> Membership:
    """Ada, before anybody gave her a key."""
    SearchCredential.objects.filter(membership=membership).delete()
    return membership


def test_who_waits_for_a_key_gets_one_and_running_again_changes_nothing(keyless: Membership) -> None:
    search_keys.mint_waiting()
    first = key_of(keyless)
    assert status_of(first) == 200
    search_keys.mint_waiting()
    assert key_of(keyless) == first


def test_an_old_key_is_replaced(keyless: Membership) -> None:
    search_keys.mint_waiting()
    first = key_of(keyless)
    search_keys.rotate_due()
    assert key_of(keyless) == first
    SearchCredential.objects.update(rotate_at=timezone.now())
    search_keys.rotate_due()
    assert key_of(keyless) != first


def test_who_was_deactivated_by_any_way_loses_the_key_at_the_cluster(
    keyless: Membership, django_capture_on_commit_callbacks: Any
) -> None:
    search_keys.mint_waiting()
    encoded = key_of(keyless)
    seen(credential(keyless).key_id)
    Membership.objects.update(is_active=False)
    with django_capture_on_commit_callbacks(execute=True):
        search_keys.rotate_due()
    assert status_of(encoded) == 401


def test_a_key_that_is_due_to_end_ends(keyless: Membership) -> None:
    search_keys.mint_waiting()
    held = credential(keyless)
    encoded = key_of(keyless)
    seen(held.key_id)
    SearchCredential.objects.all().delete()
    retire(held.key_id, None, held.minted_at, due_at=timezone.now() - GRACE)
    search_keys.revoke_waiting()
    assert status_of(encoded) == 401


def test_a_cluster_that_is_away_is_no_error(keyless: Membership, settings: Settings) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "ELASTICSEARCH_URLS", ("http://127.0.0.1:1",))
        for job in JOBS[:3]:
            job.run()
        with pytest.raises(Unavailable, match="Keys without a member could not be looked for"):
            JOBS[3].run()
    assert credential(keyless).trouble == "unreachable"
    assert not has_key(keyless)
