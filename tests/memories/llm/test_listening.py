"""Listening to a model: its words in order, its faults, and leaving it while it says nothing."""

from __future__ import annotations

import threading
from collections.abc import Generator

import pytest

from memories.llm.base import Finished, ModelFault, Output, Silence, StopReason, TextPiece
from memories.llm.streaming import heard

DONE = Finished(StopReason.DONE)


def _says(*outputs: Output) -> Generator[Output]:
    yield from outputs


def test_everything_is_heard_in_order() -> None:
    words: list[Output] = [*(TextPiece(str(number)) for number in range(200)), DONE]
    assert list(heard(_says(*words), silence_seconds=5)) == words


def test_a_fault_is_raised_where_one_listens() -> None:
    def breaks() -> Generator[Output]:
        yield TextPiece("Once")
        raise ModelFault("It broke.", retryable=True)

    listening = heard(breaks(), silence_seconds=5)
    assert next(listening) == TextPiece("Once")
    with pytest.raises(ModelFault, match="It broke"):
        next(listening)


def test_one_can_leave_a_model_that_says_nothing() -> None:
    speak, closed = threading.Event(), threading.Event()

    def stalls() -> Generator[Output]:
        try:
            speak.wait(20)
            yield TextPiece("Too late")
        finally:
            closed.set()

    listening = heard(stalls(), silence_seconds=0.01)
    assert next(listening) == Silence()
    listening.close()
    assert not closed.is_set()
    speak.set()
    assert closed.wait(5)


def test_a_model_waits_for_a_slow_listener() -> None:
    said: list[int] = []

    def endless() -> Generator[Output]:
        while True:
            said.append(1)
            yield TextPiece("more")

    listening = heard(endless(), silence_seconds=0.01)
    next(listening)
    threading.Event().wait(0.1)
    assert len(said) < 100
    listening.close()
