"""Threads of a serving process start once, and only there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memories.apps import load_encoders
from memories.embedding import encoder
from memoryhub import background


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
