"""The outbox by Celery: real workers deliver what commits announce, and find by themselves what none announced."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from memories.models import Fact, OutboxEntry
from memories.search import outbox
from memories.services.facts.remember import remember_fact
from memoryhub import jobs
from memoryhub.celery import Announcer, app
from memoryhub.jobs import JobResult
from tenants.principal import Principal
from tests.celery_broker import Broker
from tests.parts import eventually

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_SECONDS = 60.0


def drained() -> bool:
    return not OutboxEntry.objects.exists()


@pytest.fixture(autouse=True)
def _embedded(settings: Settings) -> None:
    settings.MEMORYHUB_SEARCH = "embedded"


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for the broker waits longer than anything else here takes."""
    monkeypatch.setitem(app.conf.broker_transport_options, "socket_timeout", PATIENCE_SECONDS)


@pytest.fixture
def announcer(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Announcer]:
    """A running announcer."""
    monkeypatch.setattr(jobs, "_announcers", [])
    settings.MEMORYHUB_JOBS = "celery"
    running = Announcer()
    running.start()
    yield running
    running.stop()


def test_a_long_line_is_drained_piece_by_piece(principal: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    remember_fact(principal, text="Lives in Bristol")
    outbox.drain_some()  # makes the part of a new owner, whatever waits
    monkeypatch.setattr(outbox, "ENTRIES_A_RUN", 2)
    for city in ("Bath", "Lucca", "Oulu"):
        remember_fact(principal, text=f"Has a friend in {city}")
    assert outbox.drain_some() is JobResult.MORE
    assert OutboxEntry.objects.count() == 1
    assert outbox.drain_some() is JobResult.DONE


def test_a_burst_of_changes_is_one_message(principal: Principal, broker: Broker, announcer: Announcer) -> None:
    started = time.monotonic()
    for number in range(50):
        remember_fact(principal, text=f"Owns book {number}")
    took = time.monotonic() - started
    assert eventually(lambda: bool(broker.messages()))
    time.sleep(0.5)
    assert 1 <= len(broker.messages()) <= 2 + took / 0.25


def test_no_write_waits_for_a_silent_broker(
    principal: Principal, patient: None, broker: Broker, announcer: Announcer
) -> None:
    with broker.silent():
        started = time.monotonic()
        for number in range(5):
            remember_fact(principal, text=f"Owns book {number}")
        assert time.monotonic() - started < PATIENCE_SECONDS / 2
    assert Fact.objects.count() == 5
    assert announcer.running


@pytest.mark.long
def test_a_worker_delivers_what_a_commit_announces(
    principal: Principal, broker: Broker, announcer: Announcer, tmp_path: Path
) -> None:
    with broker.process("worker", "--concurrency", "1", folder=tmp_path, log_format="json") as worker:
        remember_fact(principal, text="Lives in Bristol")
        assert eventually(drained), worker.words()
        broker.server.stop()
        broker.server.start()
        remember_fact(principal, text="Moved to Lucca")
        assert eventually(drained), worker.words()
        assert worker.stop() == 0
    said = [json.loads(line)["logger"] for line in worker.words().splitlines() if line.startswith("{")]
    assert "celery.worker.consumer.consumer" in said  # of the broker that was gone for a moment


@pytest.mark.long
def test_what_nobody_announced_is_found_by_the_schedule(principal: Principal, broker: Broker, tmp_path: Path) -> None:
    remember_fact(principal, text="Lives in Bristol")
    assert broker.messages() == []
    with (
        broker.process("worker", "--concurrency", "1", folder=tmp_path) as worker,
        broker.process("beat", folder=tmp_path) as beat,
    ):
        assert eventually(drained), worker.words() + beat.words()
        assert list(tmp_path.glob("celery-beat*"))
