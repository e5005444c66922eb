"""Reads models on one event loop of the process, and makes streamed text storable.

A model that is read takes no thread. Its consumer is a generator on some thread, which waits for outputs or, where it
`suspends`, yields a Waiting and is resumed once there are any. A silent model never blocks its consumer longer than one
Silence. An abandoned model is closed at once, with its connection. Storable text encodes to UTF-8 and fits a PostgreSQL
text column.

Where many models speak at once, each is read less often, and gets what it said meanwhile in one piece: a read of the
connection costs more than the words that it brings.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from itertools import groupby
from typing import Any, Final, TypeVar

import httpx

from memories.llm.base import Silence, TextPiece, Waiting

Result = TypeVar("Result")
Heard = TypeVar("Heard")
# Outputs buffered for a slow consumer before the model has to wait.
_AHEAD = 64
# Reads of the models, and frames of text to their readers, of all streams of a process; and the seconds between two of
# one stream at most.
STEPS_A_SECOND: Final = 1_000
MOST_PAUSE_SECONDS: Final = 0.2

_suspends: ContextVar[bool] = ContextVar("suspends", default=False)


def suspend() -> None:
    """Let the consumers of models in this context suspend: who drives them resumes them (memories/agent/streams.py)."""
    _suspends.set(True)


_starting = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def model_loop() -> asyncio.AbstractEventLoop:
    """The event loop of this process that reads models, on a thread of its own."""
    global _loop  # noqa: PLW0603 - one loop for each process
    with _starting:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="models", daemon=True).start()
        return _loop


def _forget_loop() -> None:
    global _loop  # noqa: PLW0603 - likewise
    _loop = None


os.register_at_fork(after_in_child=_forget_loop)  # its thread does not survive a fork


def on_model_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """Run `work` on the loop of the models, and return its result."""
    return asyncio.run_coroutine_threadsafe(work, model_loop()).result()


def pause_of(streams: int) -> float:
    """The seconds between two reads, or two frames, of each of so many streams."""
    return min(streams / STEPS_A_SECOND, MOST_PAUSE_SECONDS)


_read = 0


@contextmanager
def paced(response: httpx.Response) -> Iterator[None]:
    """Read the body of an answer in steps, the first of which comes at once. Used on the loop of the models."""
    global _read  # noqa: PLW0603 - of this process
    connection = response.extensions.get("network_stream")
    if connection is None:  # no answer of a network
        yield
        return
    read, begun = connection.read, False

    async def read_later(*arguments: Any, **named: Any) -> bytes:
        nonlocal begun
        if begun:
            await asyncio.sleep(pause_of(_read))
        begun = True
        data: bytes = await read(*arguments, **named)
        return data

    connection.read = read_later
    _read += 1
    try:
        yield
    finally:
        _read -= 1
        connection.read = read


class _EndOfStream:
    """Marks the end of the model's output."""


class _Buffer:
    """The outputs that wait for their consumer. `put` runs on the loop, the others on the consumer's thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outputs: list[Any] = []
        self._wake: Callable[[], object] | None = None
        self._room = asyncio.Event()

    async def put(self, output: object) -> None:
        """Add an output; waits while there are too many."""
        with self._lock:
            self._outputs.append(output)
            wake, self._wake = self._wake, None
            is_full = len(self._outputs) >= _AHEAD
        if wake is not None:  # once all that was read with it is here, too
            asyncio.get_running_loop().call_soon(wake)
        if is_full:
            self._room.clear()
            await self._room.wait()

    def take(self) -> list[Any]:
        """All outputs that are there."""
        with self._lock:
            taken, self._outputs = self._outputs, []
        if len(taken) >= _AHEAD:
            model_loop().call_soon_threadsafe(self._room.set)
        return taken

    def when_some(self, wake: Callable[[], object]) -> None:
        """Call `wake` once there are outputs, on any thread; at once if there are."""
        with self._lock:
            if not self._outputs:
                self._wake = wake
                return
        wake()


def heard(
    outputs: AsyncGenerator[Heard], *, silence_seconds: float, may_suspend: bool = False
) -> Generator[Heard | Silence | Waiting]:
    """Yield from `outputs`, with a Silence after each `silence_seconds` without output. Reraises its errors.

    Where it `may_suspend` and its context does, it yields a Waiting before it would wait, and joins texts or bytes that
    arrived together.
    """
    buffer = _Buffer()
    resumed = may_suspend and _suspends.get()
    # The context of this thread, with the request's log context and span, is that of the task.
    listening = asyncio.run_coroutine_threadsafe(_listen(outputs, buffer), model_loop())
    try:
        while True:
            batch = buffer.take()
            if not batch:
                waiting = Waiting(buffer.when_some, silence_seconds)
                if resumed:
                    yield waiting
                else:
                    waiting.wait()
                batch = buffer.take() or [Silence()]
            for output in _joined(batch) if resumed else batch:
                if isinstance(output, _EndOfStream):
                    return
                if isinstance(output, Exception):
                    raise output
                yield output
    finally:
        listening.cancel()


async def _listen(outputs: AsyncGenerator[Any], buffer: _Buffer) -> None:
    try:
        async with aclosing(outputs):
            async for output in outputs:
                await buffer.put(output)
        await buffer.put(_EndOfStream())
    except Exception as error:  # noqa: BLE001 - it is raised again in the consumer
        await buffer.put(error)


def _joined(batch: list[Any]) -> Iterator[Any]:
    for kind, outputs in groupby(batch, type):
        if kind is TextPiece:
            yield TextPiece("".join(output.text for output in outputs))
        elif kind is bytes:
            yield b"".join(outputs)
        else:
            yield from outputs


_HIGH_SURROGATES = ("\ud800", "\udbff")


class StreamedText:
    """Joins surrogate pairs split between two pieces, which happens to emoji in JSON escapes."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return the storable text of the next piece, holding back half of a pair until the other half arrives."""
        piece = self._held + piece
        first, last = _HIGH_SURROGATES
        held = bool(piece) and first <= piece[-1] <= last
        self._held = piece[-1] if held else ""
        return storable(piece[:-1] if held else piece)


def storable(text: str) -> str:
    """Remove NUL, join surrogate pairs into their character, and replace lone surrogates with U+FFFD."""
    return text.replace("\x00", "").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def storable_json(value: Any) -> Any:
    """Apply `storable` to every string in a JSON value, including property names."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [storable_json(item) for item in value]
    if isinstance(value, dict):
        return {storable(name): storable_json(item) for name, item in value.items()}
    return value
