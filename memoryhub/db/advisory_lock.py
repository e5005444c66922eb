"""Locks for work that must not run twice at once in one installation; they end with their process."""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connection


class LockTaken(Exception):
    """Another process holds the lock."""


@contextmanager
def advisory_lock(work: str) -> Iterator[None]:
    """Hold the lock of `work`: across machines on PostgreSQL, else by a file in the data folder.

    Raises LockTaken at once, without waiting.
    """
    if connection.vendor == "postgresql":
        yield from _by_database(work)
    else:
        yield from _by_file(Path(settings.MEMORYHUB_DATA_DIR) / f"{work}.lock")


def _by_database(work: str) -> Iterator[None]:
    number = int.from_bytes(hashlib.blake2b(work.encode(), digest_size=8).digest(), signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [number])
        if not cursor.fetchone()[0]:
            raise LockTaken(work)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [number])


def _by_file(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LockTaken(path.stem) from None
        yield
