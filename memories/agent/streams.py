"""Streams of turns that hold no thread while they wait for their model or their reader (docs/adr/0034).

A turn is a generator, which runs in steps on the threads of one small pool. Where it would wait for the model it yields
a Waiting, and its thread is free until the model says something. A step ends with its database work, so no connection
or transaction is held meanwhile. One tenant uses half of the pool's threads at most.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Generator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import Any, Final
from uuid import UUID
from weakref import WeakValueDictionary

from django.db import close_old_connections
from django.http import HttpRequest, StreamingHttpResponse

from memories.agent.events import CONTENT_TYPE
from memories.llm.base import Waiting
from memories.llm.streaming import pause_of, suspend
from memories.services.admission import Admission
from memoryhub.middleware import ASYNC

Piece = bytes | Waiting
# The bytes to send, what to wait for, and whether the turn is over.
Step = tuple[bytes, Waiting | None, bool]

THREADS: Final = 16
# Seconds between two frames of text at least: the text of a stream that comes faster is joined. The time grows with the
# streams that are open.
FRAME_SECONDS: Final = 0.03
_TEXT: Final = b"event: text_delta\n"

_open = 0
# A tenant's share of the threads, as long as one of its streams is open.
_shares: WeakValueDictionary[UUID | None, asyncio.Semaphore] = WeakValueDictionary()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "stream")


def streamed(request: HttpRequest, pieces: Generator[Piece], admission: Admission) -> StreamingHttpResponse:
    """A turn as server-sent events: asynchronous, if the server takes that, so that its thread is free."""
    content: Any = suspended(pieces, admission) if ASYNC in request.META else pieces
    response = StreamingHttpResponse(content, content_type=CONTENT_TYPE)
    response.headers["X-Accel-Buffering"] = "no"
    return response


def suspended(pieces: Generator[Piece], admission: Admission) -> TurnStream:
    """The content of an asynchronous response. The thread of its request is free for others of the tenant."""
    admission.leave_thread()
    return TurnStream(pieces, admission.tenant_id)


class TurnStream:
    """The pieces of a turn as an asynchronous iterator. Its steps run in the context in which it was made."""

    def __init__(self, pieces: Generator[Piece], tenant_id: UUID | None) -> None:
        self._pieces = pieces
        self._tenant_id = tenant_id
        self._context = copy_context()
        self._context.run(suspend)
        self._running = threading.Lock()
        self._is_begun = False
        self._first: Step | None = None  # the step that `begin` took

    def begin(self) -> None:
        """Take the first step on this thread, where it does no more than to send a request: the pool comes later."""
        with self._running:
            self._is_begun = True
            self._first = self._context.run(self._next)

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        """Yield the pieces, and wait between them where the turn does."""
        global _open  # noqa: PLW0603 - of this process
        _open += 1
        share = _shares.setdefault(self._tenant_id, asyncio.Semaphore(THREADS // 2))
        try:
            waiting: Waiting | None = None
            is_over = False
            while not is_over:
                began = time.monotonic()
                if self._first is not None:
                    (data, waiting, is_over), self._first = self._first, None
                else:
                    async with share:
                        step = asyncio.get_running_loop().run_in_executor(_pool(), self._step)
                        data, waiting, is_over = await step
                if data:
                    yield data
                if waiting is not None:
                    if data.startswith(_TEXT):
                        pause = max(FRAME_SECONDS, pause_of(_open))
                        await asyncio.sleep(began + pause - time.monotonic())
                    await waiting.over()
        finally:
            _open -= 1

    def close(self) -> None:
        """End the turn after its present step. One that nobody has read yet is begun first, so that its end is kept."""
        with self._running:
            if not self._is_begun:
                self._context.run(next, self._pieces, None)
            self._context.run(self._pieces.close)

    def _step(self) -> Step:
        """Run the turn to where it waits, or to what its reader should see before the work that follows it."""
        with self._running:
            close_old_connections()
            self._is_begun = True
            return self._context.run(self._next)

    def _next(self) -> Step:
        sent: list[bytes] = []
        for piece in self._pieces:
            if isinstance(piece, Waiting):
                return b"".join(sent), piece, False
            sent.append(piece)
            if not piece.startswith(_TEXT):
                return b"".join(sent), None, False
        return b"".join(sent), None, True
