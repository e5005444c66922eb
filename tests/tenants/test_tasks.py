"""The keys by themselves: tasks where there is Celery, a thread where there is none; both on a real cluster."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from tenants import key_sweeps, tasks
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
    tasks.mint_waiting()
    first = key_of(keyless)
    assert status_of(first) == 200
    tasks.mint_waiting()
    assert key_of(keyless) == first


def test_an_old_key_is_replaced(keyless: Membership) -> None:
    tasks.mint_waiting()
    first = key_of(keyless)
    tasks.rotate_due()
    assert key_of(keyless) == first
    SearchCredential.objects.update(rotate_at=timezone.now())
    tasks.rotate_due()
    assert key_of(keyless) != first


def test_who_was_deactivated_by_any_way_loses_the_key_at_the_cluster(
    keyless: Membership, django_capture_on_commit_callbacks: Any
) -> None:
    tasks.mint_waiting()
    encoded = key_of(keyless)
    seen(credential(keyless).key_id)
    Membership.objects.update(is_active=False)
    with django_capture_on_commit_callbacks(execute=True):
        tasks.rotate_due()
    assert status_of(encoded) == 401


def test_a_key_that_is_due_to_end_ends(keyless: Membership) -> None:
    tasks.mint_waiting()
    held = credential(keyless)
    encoded = key_of(keyless)
    seen(held.key_id)
    SearchCredential.objects.all().delete()
    retire(held.key_id, None, held.minted_at, due_at=timezone.now() - GRACE)
    tasks.revoke_waiting()
    assert status_of(encoded) == 401


def test_a_cluster_that_is_away_is_no_error(
    keyless: Membership, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "ELASTICSEARCH_URLS", ("http://127.0.0.1:1",))
        for task in (tasks.mint_waiting, tasks.rotate_due, tasks.revoke_waiting, tasks.end_orphans):
            task()
    assert "Keys without a member could not be looked for" in caplog.text
    assert credential(keyless).trouble == "unreachable"
    assert not has_key(keyless)


@pytest.mark.django_db(transaction=True)
def test_without_celery_a_thread_looks_after_the_keys(keyless: Membership, settings: Settings) -> None:
    settings.MEMORYHUB_DRAIN = "thread"
    stop = key_sweeps.serve()
    try:
        assert eventually(lambda: has_key(keyless))
    finally:
        stop()


@pytest.mark.parametrize(
    ("search", "drain", "expected"),
    [("embedded", "thread", 0), ("elasticsearch", "celery", 0), ("elasticsearch", "thread", 1)],
)
def test_the_thread_runs_only_where_it_is_needed(
    search: str, drain: str, expected: int, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_sweeps, "sweep", lambda: None)
    settings.MEMORYHUB_SEARCH, settings.MEMORYHUB_DRAIN = search, drain
    stop = key_sweeps.serve()
    running = sum(thread.name == "key-sweeper" for thread in threading.enumerate())
    stop()
    assert running == expected
