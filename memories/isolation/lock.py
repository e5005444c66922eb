"""One proof at a time: a second one would take the first one's tenants for leftovers, and erase them."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connection

from memories.errors import MemoriesError

_NUMBER = 0x150_1A7E  # a key of PostgreSQL's advisory locks, of no other meaning


class AlreadyRunning(MemoriesError):
    """Another proof runs on this installation."""


@contextmanager
def alone() -> Iterator[None]:
    """Hold the lock of the proof; it goes with the process, however that ends. Raises AlreadyRunning."""
    if connection.vendor == "postgresql":
        yield from _by_database()
    else:
        yield from _by_file(Path(settings.MEMORYHUB_DATA_DIR) / "isolation-proof.lock")


def _by_database() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_NUMBER])
        if not cursor.fetchone()[0]:
            raise AlreadyRunning("Another proof of isolation is running on this database.")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_NUMBER])


def _by_file(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning("Another proof of isolation is running in this data folder.") from None
        yield
