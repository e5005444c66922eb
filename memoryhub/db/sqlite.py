"""Removing deleted rows from SQLite's files: from the write-ahead log, and from free pages of the database file."""

from __future__ import annotations

import logging

from django.db import DatabaseError, connection

log = logging.getLogger(__name__)

# How long to wait for readers of the log (milliseconds). Writers wait meanwhile, so it is short.
_PATIENCE_MS = 2_000


def scrub_log() -> bool:
    """Bring SQLite's write-ahead log into the database file, where deleted words are overwritten, and empty it.

    Returns whether it is empty now, or there is none.

    To be called after the commit of an erasure. It never raises: what is committed is done, and SQLite itself reuses
    the log sooner or later.
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
    """Rewrite SQLite's file from its rows, so that no free space of a page holds deleted words; False if that failed.

    Needs room for a copy, and writers wait meanwhile. It never raises: what is committed is done. The log holds the
    new file afterwards, until `scrub_log`.
    """
    if connection.vendor != "sqlite":
        return True
    try:
        with connection.cursor() as cursor:
            # The copy holds what is kept, and may be too large for the memory.
            cursor.execute("PRAGMA temp_store = FILE")
            try:
                cursor.execute("VACUUM")
            finally:
                cursor.execute("PRAGMA temp_store = MEMORY")
    except DatabaseError as error:
        log.warning("The database's file could not be written anew (%s).", type(error).__name__)
        return False
    return True
