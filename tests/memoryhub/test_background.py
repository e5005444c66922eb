"""Threads of a serving process start once, and only there; what they do goes on whatever happens."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import pytest

from memories.apps import load_encoders
from memories.embedding import encoder
from memoryhub import background
from memoryhub.background import Repeated, Unavailable

PATIENCE_SECONDS = 10.0


def test_each_part_starts_once_and_is_stopped_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    ends: list[object] = []
    monkeypatch.setattr(background, "_starters", {})
    monkeypatch.setattr(background, "_running", set())
    monkeypatch.setattr("atexit.register", ends.append)

    def stop() -> None:
        started.remove("outbox")

    def start() -> Callable[[], None]:
        started.append("outbox")
        return stop

    background.register("outbox", start)
    assert started == []
    background.start_all()
    background.start_all()
    assert started == ["outbox"]
    assert ends == [stop]


def test_the_encoders_are_there_before_the_first_question() -> None:
    load_encoders()()
    loaded = encoder()
    assert loaded is encoder()
    assert loaded.encode(["a question"]).shape == (1, loaded.dimensions)


class Part:
    """Something that fails while `away` says so; counts how often it was asked."""

    def __init__(self) -> None:
        self.away: Exception | None = None
        self.asked = threading.Semaphore(0)
        self.times = 0

    def __call__(self) -> None:
        self.times += 1
        self.asked.release()
        if self.away is not None:
            raise self.away

    def was_asked(self, times: int = 1) -> bool:
        return all(self.asked.acquire(timeout=PATIENCE_SECONDS) for _ in range(times))


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Part:
    monkeypatch.setattr(background, "MAX_BACKOFF_SECONDS", 0.02)
    monkeypatch.setattr("memoryhub.background.connections.close_all", lambda: None)
    return Part()


def test_work_is_done_at_once_and_when_woken(part: Part) -> None:
    wake = threading.Event()
    thread = Repeated("worker", part, pause=None, wake=wake)
    thread.start()
    assert part.was_asked()
    wake.set()
    assert part.was_asked()
    thread.stop()
    assert not thread.running


def test_many_wakes_are_one_run(part: Part) -> None:
    wake = threading.Event()
    thread = Repeated("worker", part, pause=None, wake=wake, rest=0.2)
    thread.start()
    assert part.was_asked()
    for _ in range(100):
        wake.set()
    assert part.was_asked()
    thread.stop()
    assert part.times == 2


def test_an_outage_is_logged_when_it_begins_and_when_it_ends(part: Part, caplog: pytest.LogCaptureFixture) -> None:
    part.away = Unavailable("The broker is away.")
    thread = Repeated("worker", part, pause=0.01)
    thread.start()
    assert part.was_asked(times=5)
    part.away = None
    assert part.was_asked(times=5)
    thread.stop()
    said = [(record.levelno, record.getMessage(), record.exc_info) for record in caplog.records]
    assert said == [
        (logging.WARNING, "worker: The broker is away. It is tried again.", False),
        (logging.WARNING, "worker: it works again.", None),
    ]


def test_a_fault_of_ours_is_logged_with_its_trace(part: Part, caplog: pytest.LogCaptureFixture) -> None:
    part.away = KeyError("id")
    thread = Repeated("worker", part, pause=0.01)
    thread.start()
    assert part.was_asked(times=3)
    thread.stop()
    (record,) = caplog.records
    assert record.exc_info and isinstance(record.exc_info[1], KeyError)
