"""Consumes a model's output in a background thread, and makes streamed text storable.

A silent model never blocks its consumer longer than one Silence. An abandoned model is closed when it next yields or
fails, and its output is dropped. Storable text encodes to UTF-8 and fits a PostgreSQL text column.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import closing, suppress
from contextvars import copy_context
from queue import Empty, Full, Queue
from typing import Any

from memories.llm.base import Output, Silence

# Outputs buffered for a slow consumer before the model has to wait.
_AHEAD = 64


class _EndOfStream:
    """Marks the end of the model's output."""


Said = Output | _EndOfStream | Exception


def heard(outputs: Generator[Output], *, silence_seconds: float) -> Generator[Output]:
    """Yield from `outputs`, with a Silence after each `silence_seconds` without output. Reraises its errors."""
    said: Queue[Said] = Queue(_AHEAD)
    left = threading.Event()

    def put(output: Said) -> None:
        waiting = True
        while waiting and not left.is_set():
            with suppress(Full):
                said.put(output, timeout=silence_seconds)
                waiting = False

    def listen() -> None:
        try:
            with closing(outputs):
                for output in outputs:
                    put(output)
                    if left.is_set():
                        return
            put(_EndOfStream())
        except Exception as error:  # noqa: BLE001 - it is raised again in the consumer
            put(error)

    context = copy_context()  # carries the request's log context and span into the thread
    threading.Thread(target=context.run, args=(listen,), name="model", daemon=True).start()
    try:
        while True:
            output = _next(said, silence_seconds)
            if isinstance(output, _EndOfStream):
                return
            if isinstance(output, Exception):
                raise output
            yield output
    finally:
        left.set()


def _next(said: Queue[Said], silence_seconds: float) -> Said:
    try:
        return said.get(timeout=silence_seconds)
    except Empty:
        return Silence()


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
