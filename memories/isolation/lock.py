"""One proof at a time: a second one would take the first one's tenants for leftovers, and erase them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from memories.errors import MemoriesError
from memoryhub.db import advisory_lock


class AlreadyRunning(MemoriesError):
    """Another proof runs on this installation."""


@contextmanager
def alone() -> Iterator[None]:
    """Hold the lock of the proof; it goes with the process, however that ends. Raises AlreadyRunning."""
    with ExitStack() as held:
        try:
            held.enter_context(advisory_lock.alone("isolation-proof"))
        except advisory_lock.Busy:
            raise AlreadyRunning("Another proof of isolation is running on this installation.") from None
        yield
