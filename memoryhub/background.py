"""Threads that belong to a serving process: registered by applications, started by the process that serves.

Invariant: a command, a test or a migration starts none; a process that serves starts each once, after any fork, and
stops each before it ends.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable

from django.conf import settings
from django.db import connections

from memoryhub.observability import context as log_context

log = logging.getLogger(__name__)

STOP_SECONDS = 5.0
# Work that fails is tried again after 1, 2, 4, … seconds, at most this many.
MAX_BACKOFF_SECONDS = 15.0

_starters: dict[str, Callable[[], Callable[[], None]]] = {}
_running: set[str] = set()


def register(name: str, start: Callable[[], Callable[[], None]]) -> None:
    """Have `start` called in every serving process; it returns what stops the thread again."""
    _starters[name] = start


def start_all() -> None:
    """Start what is registered and not yet running here; each stops when the interpreter ends."""
    for name, start in _starters.items():
        if name not in _running:
            _running.add(name)
            atexit.register(start())


class Unavailable(Exception):
    """Work failed because a part is away: expected now and then, so it is logged in its own words alone."""


class Repeated:
    """Does `work` on a thread of its own: at once, and again every `pause` seconds and when `wake` is set.

    Two runs are `rest` seconds apart at least. Whatever `work` raises, the thread goes on; a failure that lasts is
    logged when it begins and when it ends.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], object],
        *,
        pause: float | None,
        wake: threading.Event | None = None,
        rest: float = 0.0,
    ) -> None:
        self._name = name
        self._work = work
        self._pause = pause
        self._wake = wake or threading.Event()
        self._rest = rest
        self._failures = 0
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Whether the thread is alive."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start the thread, once."""
        if not self.running:
            self._stopping.clear()
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def stop(self, timeout: float = STOP_SECONDS) -> None:
        """End the thread after the work in hand."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout)
            self._thread = None

    def _run(self) -> None:
        while not self._stopping.is_set():
            # Cleared before the work: what arrives during it sets the event again.
            self._wake.clear()
            self._try()
            if self._failures:
                self._stopping.wait(min(2.0 ** (self._failures - 1), MAX_BACKOFF_SECONDS))
            else:
                self._stopping.wait(self._rest)
                self._wait()

    def _wait(self) -> None:
        if not self._stopping.is_set():
            self._wake.wait(self._pause)

    def _try(self) -> None:
        try:
            with log_context.bound(task=self._name):
                self._work()
        except Exception as error:
            if not self._failures:
                expected = isinstance(error, Unavailable)
                words = str(error) if expected else "It failed."
                log.warning("%s: %s It is tried again.", self._name, words, exc_info=not expected)
            self._failures = min(self._failures + 1, 16)
        else:
            if self._failures:
                log.warning("%s: it works again.", self._name)
            self._failures = 0
        finally:
            connections.close_all()


def serve(thread: Repeated, *, wanted: bool = True) -> Callable[[], None]:
    """Start `thread` in a serving process that has no Celery, if it is wanted; return what stops it again."""
    if not wanted or settings.MEMORYHUB_DRAIN != "thread":
        return lambda: None
    thread.start()
    return thread.stop
