"""The drainer thread: wakes on commits, survives errors, stops when told."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from pytest_django import Settings

from memories.models import OutboxEntry
from memories.search import outbox
from memories.search.drainer import Drainer, serve
from memories.services.facts.remember import remember_fact
from tenants.principal import Principal

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_SECONDS = 10.0


def eventually(happened: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def drained() -> bool:
    return not OutboxEntry.objects.exists()


@pytest.fixture
def drainer() -> Iterator[Drainer]:
    """A running drainer that hardly ever looks by itself."""
    running = Drainer(poll=60)
    running.start()
    yield running
    running.stop()


def test_a_commit_wakes_the_drainer(principal: Principal, drainer: Drainer) -> None:
    remember_fact(principal, text="Lives in Bristol")
    assert eventually(drained)


def test_entries_of_other_processes_are_found_by_looking(principal: Principal) -> None:
    remember_fact(principal, text="Lives in Bristol")
    outbox.waiting.clear()
    drainer = Drainer(poll=0.02)
    drainer.start()
    assert eventually(drained)
    OutboxEntry.objects.create(kind="semantic", memory_id=principal.user_id, version=1, operation="upsert")
    assert eventually(drained)
    drainer.stop()


def test_an_error_does_not_end_the_thread(
    principal: Principal, drainer: Drainer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(outbox, "drain", lambda: 1 / 0)
        remember_fact(principal, text="Lives in Bristol")
        assert eventually(lambda: "outbox-drainer: It failed" in caplog.text)
    assert drainer.running
    outbox.waiting.set()
    assert eventually(drained)


def test_stopping_ends_the_thread(drainer: Drainer) -> None:
    assert drainer.running
    drainer.stop()
    assert not drainer.running


def test_serving_starts_a_drainer_only_if_the_setting_says_so(settings: Settings) -> None:
    settings.MEMORYHUB_DRAIN = "off"
    serve()()
    settings.MEMORYHUB_DRAIN = "thread"
    stop = serve()
    stop()
