"""Listening to a model: its words in order, its faults, and leaving it while it says nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextvars import copy_context

import httpx
import pytest

from memories.llm import streaming
from memories.llm.base import Finished, ModelFault, Output, Silence, StopReason, TextPiece, Waiting
from memories.llm.streaming import MOST_PAUSE_SECONDS, heard, paced, pause_of, suspend

DONE = Finished(StopReason.DONE)


async def _says(*outputs: Output) -> AsyncGenerator[Output]:
    for output in outputs:
        yield output


def test_everything_is_heard_in_order() -> None:
    words: list[Output] = [*(TextPiece(str(number)) for number in range(200)), DONE]
    assert list(heard(_says(*words), silence_seconds=5)) == words


def test_a_fault_is_raised_where_one_listens() -> None:
    async def breaks() -> AsyncGenerator[Output]:
        yield TextPiece("Once")
        raise ModelFault("It broke.", retryable=True)

    listening = heard(breaks(), silence_seconds=5)
    assert next(listening) == TextPiece("Once")
    with pytest.raises(ModelFault, match="It broke"):
        next(listening)


def test_a_model_that_says_nothing_is_closed_once_one_leaves() -> None:
    closed = threading.Event()

    async def stalls() -> AsyncGenerator[Output]:
        try:
            await asyncio.sleep(60)
            yield TextPiece("Too late")
        finally:
            closed.set()

    listening = heard(stalls(), silence_seconds=0.01)
    assert next(listening) == Silence()
    listening.close()
    assert closed.wait(5)


def test_a_model_waits_for_a_slow_listener() -> None:
    said: list[int] = []

    async def endless() -> AsyncGenerator[Output]:
        while True:
            said.append(1)
            yield TextPiece("more")

    listening = heard(endless(), silence_seconds=0.01)
    next(listening)
    threading.Event().wait(0.1)
    assert len(said) < 200
    for _ in range(300):
        next(listening)
    listening.close()


def test_a_consumer_that_suspends_gets_joined_texts_and_is_told_to_wait() -> None:
    go_on = threading.Event()

    async def pauses() -> AsyncGenerator[Output]:
        yield TextPiece("One ")
        yield TextPiece("two")
        await asyncio.to_thread(go_on.wait, 20)
        yield DONE

    def consume() -> None:
        suspend()
        listening = heard(pauses(), silence_seconds=20, may_suspend=True)
        text = ""
        while text != "One two":
            output = next(listening)
            if isinstance(output, Waiting):
                output.wait()
            elif isinstance(output, TextPiece):
                text += output.text
        waiting = next(listening)
        assert isinstance(waiting, Waiting)
        go_on.set()
        asyncio.run(waiting.over())
        assert next(listening) == DONE

    copy_context().run(consume)


def test_beside_many_others_a_model_is_read_in_steps_after_its_first_words(monkeypatch: pytest.MonkeyPatch) -> None:
    class Connection:
        async def read(self, most: int) -> bytes:
            return bytes(most)

    paused: list[float] = []

    async def sleep(seconds: float) -> None:
        paused.append(seconds)

    async def reads() -> list[bytes]:
        answer = httpx.Response(200, extensions={"network_stream": Connection()})
        with paced(answer):
            return [await answer.extensions["network_stream"].read(1) for _ in range(3)]

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(streaming, "_read", 99)
    assert (asyncio.run(reads()), paused) == ([b"\0"] * 3, [0.1] * 2)
    assert pause_of(1) <= 0.001 and pause_of(10_000) == MOST_PAUSE_SECONDS
