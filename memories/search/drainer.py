"""The thread of a web process that carries the outbox to the search plane.

Invariant: whatever happens in a drain, the thread goes on; what it could not deliver stays in the outbox.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from django.conf import settings
from django.db import connections

from memories.search import outbox

log = logging.getLogger(__name__)

# How often to look for entries that other processes wrote; our own wake the thread at once.
POLL_SECONDS = 1.0
STOP_SECONDS = 5.0


class Drainer:
    """Drains on a thread of its own, after each commit in this process and every `poll` seconds."""

    def __init__(self, poll: float = POLL_SECONDS) -> None:
        self._poll = poll
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
            self._thread = threading.Thread(target=self._run, name="outbox-drainer", daemon=True)
            self._thread.start()

    def stop(self, timeout: float = STOP_SECONDS) -> None:
        """End the thread after the batch in hand."""
        self._stopping.set()
        outbox.waiting.set()
        if self._thread is not None:
            self._thread.join(timeout)
            self._thread = None

    def _run(self) -> None:
        while not self._stopping.is_set():
            # Cleared before the drain: an entry that arrives during it sets the event again.
            outbox.waiting.clear()
            try:
                outbox.drain()
            except Exception:
                log.exception("The outbox could not be drained; it is tried again.")
            finally:
                connections.close_all()
            if not self._stopping.is_set():
                outbox.waiting.wait(self._poll)


def serve() -> Callable[[], None]:
    """Start a drainer for a serving process, unless `MEMORYHUB_DRAIN` is off; return what stops it again."""
    drainer = Drainer()
    if settings.MEMORYHUB_DRAIN == "thread":
        drainer.start()
    return drainer.stop
