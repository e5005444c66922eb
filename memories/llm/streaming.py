"""Listening to a model without blocking, and cleaning streamed text.

A silent model never holds its listener longer than one silence. An abandoned model is closed as soon as it yields
again or fails, and its output is dropped. Cleaned text encodes to UTF-8 and fits a PostgreSQL text column.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import closing, suppress
from contextvars import copy_context
from queue import Empty, Full, Queue
from typing import Any

from memories.llm.base import Output, Silence

# Outputs that may wait for a slow listener before the model waits too.
_AHEAD = 64


class _EndOfStream:
    """The model is done."""


Said = Output | _EndOfStream | Exception


def heard(outputs: Generator[Output], *, silence_seconds: float) -> Generator[Output]:
    """Yield from `outputs`, with a Silence for every `silence_seconds` without output; raise its errors."""
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
        except Exception as error:  # noqa: BLE001 - it is raised where the listener waits
            put(error)

    context = copy_context()  # whose work it is, for log lines and spans
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
    """Joins characters that were split between two pieces (JSON escapes of emoji arrive so)."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """The storable text of the next piece; an open half is held back until its other half arrives."""
        piece = self._held + piece
        first, last = _HIGH_SURROGATES
        held = bool(piece) and first <= piece[-1] <= last
        self._held = piece[-1] if held else ""
        return storable(piece[:-1] if held else piece)


def storable(text: str) -> str:
    """`text` without NUL; pairs of surrogates become their character, lone ones U+FFFD."""
    return text.replace("\x00", "").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def storable_json(value: Any) -> Any:
    """The same for every string in a JSON value, names of members too."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [storable_json(item) for item in value]
    if isinstance(value, dict):
        return {storable(name): storable_json(item) for name, item in value.items()}
    return value
