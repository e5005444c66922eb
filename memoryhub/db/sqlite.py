"""SQLite's files: made for their owner only, and cleared of deleted rows (write-ahead log, free pages)."""

from __future__ import annotations

import logging
import os
import sqlite3
from contextlib import suppress
from typing import Any

from django.db import DatabaseError, connection

log = logging.getLogger(__name__)

# Milliseconds to wait for readers of the log; short, because writers wait meanwhile.
_PATIENCE_MS = 2_000


class PrivateConnection(sqlite3.Connection):
    """Makes a new database file readable by its owner only; SQLite gives its log the same mode."""

    def __init__(self, database: Any, *args: Any, **kwargs: Any) -> None:
        if not str(database).startswith((":memory:", "file:")):
            # Only a new file: closing an open one would drop all locks that this process has on it (POSIX), and another
            # process would then remove the log under its connections.
            with suppress(OSError):  # SQLite says it better
                os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        super().__init__(database, *args, **kwargs)


def scrub_log() -> bool:
    """Checkpoint SQLite's write-ahead log into the database file and truncate it.

    Returns whether the log is empty; True for other databases. Call it after the commit of an erasure. It never raises:
    SQLite itself reuses the log later.
    """
    if connection.vendor != "sqlite":
        return True
    try:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout")
            (patience,) = cursor.fetchone()
            cursor.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
            try:
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                busy, *_ = cursor.fetchone()
            finally:
                cursor.execute(f"PRAGMA busy_timeout = {int(patience)}")
    except DatabaseError as error:
        busy = type(error).__name__
    if busy:
        log.warning("The database's log could not be emptied (%s); it keeps erased words until it is reused.", busy)
    return not busy


def rewrite_file() -> bool:
    """Rewrite SQLite's file (VACUUM), so that no free page holds deleted text; returns False on failure.

    Needs disk space for a copy, and blocks writers. It never raises. Afterwards the log holds the new file, until
    `scrub_log`.
    """
    if connection.vendor != "sqlite":
        return True
    try:
        with connection.cursor() as cursor:
            # The temporary copy may exceed the memory.
            cursor.execute("PRAGMA temp_store = FILE")
            try:
                cursor.execute("VACUUM")
            finally:
                cursor.execute("PRAGMA temp_store = MEMORY")
    except DatabaseError as error:
        log.warning("The database's file could not be written anew (%s).", type(error).__name__)
        return False
    return True
