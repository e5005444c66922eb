"""Streams of turns, as they are read by an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from uuid import UUID, uuid4

from memories.agent import streams
from memories.agent.streams import Piece, TurnStream


def pieces() -> Generator[Piece]:
    yield b"event: turn_started\n\n"
    yield b"event: turn_finished\n\n"


def test_a_tenant_whose_streams_are_over_leaves_nothing_behind() -> None:
    async def read(tenant: UUID) -> list[bytes]:
        found = [piece async for piece in TurnStream(pieces(), tenant)]
        two = [aiter(TurnStream(pieces(), tenant)) for _ in range(2)]
        assert [await anext(each) for each in two] == found[:1] * 2
        assert len(streams._shares) == 1, "streams of a tenant share its threads"
        for each in two:
            await each.aclose()
        return found

    for tenant in (uuid4(), uuid4()):
        assert asyncio.run(read(tenant)) == list(pieces())
    assert not streams._shares


def test_a_stream_that_was_begun_goes_on_after_its_first_step() -> None:
    async def read(stream: TurnStream) -> list[bytes]:
        return [piece async for piece in stream]

    threads: list[str] = []

    def told() -> Generator[Piece]:
        for piece in pieces():
            threads.append(threading.current_thread().name)
            yield piece

    stream = TurnStream(told(), None)
    stream.begin()
    assert threads == [threading.current_thread().name]
    assert asyncio.run(read(stream)) == list(pieces())
    assert threads[1].startswith("stream")
