"""The outbox: written with the change, delivered in any order, never lost."""

from __future__ import annotations

import shutil
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connections, transaction
from django.utils import timezone

from memories.errors import SearchUnavailable
from memories.models import Fact, OutboxEntry
from memories.search import outbox, search_plane
from memories.search.documents import documents, encode_missing
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.sessions import start_session
from memories.types import Kind, Owner, Status
from memoryhub.db.advisory_lock import advisory_lock
from tenants.principal import Principal
from tests.parts import about_the_embedded_plane

pytestmark = pytest.mark.django_db


def own(principal: Principal) -> Owner:
    return Owner(principal.tenant_id, principal.user_id)


def indexed(principal: Principal) -> dict[uuid.UUID, tuple[int, Status]]:
    return {state.id: (state.version, state.status) for state in search_plane().stored(own(principal))}


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plane takes no document."""

    def refuse(*given: Any) -> None:
        if list(given[-1]):
            raise SearchUnavailable("The disk of Ada's secret plans is full.")

    monkeypatch.setattr(type(search_plane()), "upsert", refuse)


def test_an_outage_is_warned_of_once_a_minute_and_its_end_is_told(
    principal: Principal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def rounds(count: int) -> list[str]:
        caplog.clear()
        for _ in range(count):
            OutboxEntry.objects.update(available_at=timezone.now())
            outbox.drain()
        return [record.getMessage() for record in caplog.records if record.name == outbox.__name__]

    def refuse(*_: Any) -> None:
        raise SearchUnavailable("The disk is full.")

    monkeypatch.setattr(outbox, "_outage", type(outbox._outage)())
    remember_fact(principal, text="Lives in Bristol")
    taken = "The search plane did not take 1 change(s): SearchUnavailable"
    with monkeypatch.context() as away:
        away.setattr(type(search_plane()), "upsert", refuse)
        assert rounds(5) == [taken]
        away.setattr(outbox, "WARN_SECONDS", 0)
        assert rounds(1) == [taken]
    assert rounds(1) == ["The search plane takes changes again."]
    remember_fact(principal, text="Plays chess")
    assert rounds(1) == []


def test_a_drain_brings_the_plane_what_the_database_has(principal: Principal) -> None:
    old = remember_fact(principal, text="Lives in Bristol", key="home_city").memory_id
    new = remember_fact(principal, text="Lives in Edinburgh", key="home_city").memory_id
    report = outbox.drain()
    assert (report.failed, OutboxEntry.objects.count()) == (0, 0)
    assert indexed(principal) == {old: (2, Status.SUPERSEDED), new: (1, Status.ACTIVE)}


@pytest.mark.django_db(transaction=True)
def test_an_entry_outside_the_transaction_of_its_change_is_refused(principal: Principal) -> None:
    fact = Fact(text="never stored", tenant_id=principal.tenant_id, user_id=principal.user_id)
    with pytest.raises(RuntimeError, match="transaction"):
        outbox.enqueue([fact])
    assert not OutboxEntry.objects.exists()


def test_a_change_that_is_rolled_back_leaves_no_entry(principal: Principal) -> None:
    with transaction.atomic():
        remember_fact(principal, text="Lives in Bristol")
        transaction.set_rollback(True)
    assert not OutboxEntry.objects.exists()


def test_what_was_forgotten_leaves_the_plane(principal: Principal) -> None:
    fact_id = remember_fact(principal, text="Lives in Bristol").memory_id
    outbox.drain()
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact_id)
    outbox.drain()
    assert indexed(principal) == {}


def test_forgotten_before_it_was_delivered_never_arrives(principal: Principal) -> None:
    fact_id = remember_fact(principal, text="Lives in Bristol").memory_id
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact_id)
    assert outbox.drain().failed == 0
    assert indexed(principal) == {}


@pytest.mark.usefixtures("broken")
def test_a_plane_that_fails_keeps_entries_and_waits_on(principal: Principal, caplog: pytest.LogCaptureFixture) -> None:
    remember_fact(principal, text="Lives in Bristol")
    search_plane().rebuild(own(principal), [])
    assert outbox.drain().failed == 1
    entry = OutboxEntry.objects.get()
    assert (entry.attempts, entry.last_error, entry.leased_until) == (1, "SearchUnavailable", None)
    assert entry.available_at > timezone.now() and "secret" not in caplog.text
    assert outbox.drain().failed == 0, "it is not due yet"


def test_entries_that_failed_are_delivered_when_the_plane_is_back(principal: Principal) -> None:
    remember_fact(principal, text="Lives in Bristol")
    OutboxEntry.objects.update(attempts=3, available_at=timezone.now() + timedelta(seconds=60))
    assert outbox.drain().delivered == 0
    OutboxEntry.objects.update(available_at=timezone.now())
    assert outbox.drain().delivered == 1


def test_leased_entries_are_left_to_whoever_holds_them(principal: Principal) -> None:
    remember_fact(principal, text="Lives in Bristol")
    OutboxEntry.objects.update(leased_until=timezone.now() + timedelta(seconds=30))
    assert outbox.drain().delivered == 0
    OutboxEntry.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    assert outbox.drain().delivered == 1


def test_an_entry_that_a_clock_since_set_back_deferred_is_delivered(principal: Principal) -> None:
    remember_fact(principal, text="Lives in Bristol")
    tomorrow = timezone.now() + timedelta(days=1)
    OutboxEntry.objects.update(available_at=tomorrow, leased_until=tomorrow)
    assert outbox.drain().delivered == 1


@about_the_embedded_plane
def test_a_missing_part_is_rebuilt_whole_from_one_entry(principal: Principal, index_dir: Path) -> None:
    first = remember_fact(principal, text="Lives in Bristol").memory_id
    outbox.drain()
    shutil.rmtree(index_dir)
    second = remember_fact(principal, text="Keeps bees").memory_id
    report = outbox.drain()
    assert report.rebuilt == 1
    assert indexed(principal).keys() == {first, second}


@about_the_embedded_plane
def test_a_requested_rebuild_brings_everything_back(principal: Principal, index_dir: Path) -> None:
    fact_id = remember_fact(principal, text="Lives in Bristol").memory_id
    outbox.drain()
    shutil.rmtree(index_dir)
    outbox.request_rebuild(own(principal))
    outbox.request_rebuild(own(principal))
    assert OutboxEntry.objects.count() == 1
    outbox.drain()
    assert indexed(principal).keys() == {fact_id}


@pytest.mark.django_db(transaction=True)
def test_the_whole_plane_is_rebuilt_by_one_at_a_time() -> None:
    def rebuild() -> int:
        try:
            return outbox.rebuild_all([])
        finally:
            connections.close_all()

    with (
        advisory_lock("index-rebuild"),
        ThreadPoolExecutor(1) as others,
        pytest.raises(SearchUnavailable, match="Another"),
    ):
        others.submit(rebuild).result()
    assert outbox.rebuild_all([]) == 0


def test_one_bad_row_holds_up_no_other(principal: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    search_plane().rebuild(own(principal), [])
    bad = remember_fact(principal, text="Cannot be encoded").memory_id
    good = remember_fact(principal, text="Lives in Bristol").memory_id

    def choking(rows: Any) -> Any:
        if any(row.pk == bad for row in rows):
            raise ValueError("Cannot be encoded")
        return documents(rows)

    monkeypatch.setattr("memories.search.outbox.documents", choking)
    report = outbox.drain()
    assert (report.delivered, report.failed) == (1, 1)
    assert indexed(principal).keys() == {good}
    assert OutboxEntry.objects.get().last_error.startswith("ValueError")


def test_a_limit_bounds_a_drain(principal: Principal) -> None:
    search_plane().rebuild(own(principal), [])
    session = start_session(principal)
    remember_episodes(principal, session_id=session.pk, drafts=[EpisodeDraft(f"said {n}") for n in range(5)])
    assert outbox.drain(limit=2).delivered == 2
    assert outbox.backlog() == 3


def test_a_vector_is_stored_only_on_the_version_it_was_made_from(principal: Principal) -> None:
    fact_id = remember_fact(principal, text="Lives in Bristol").memory_id
    rows = list(Fact.objects.all())
    Fact.objects.filter(pk=fact_id).update(version=2)
    encode_missing(rows)
    assert Fact.objects.get().embedding is None
