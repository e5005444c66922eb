"""SQLite's files: made for their owner only, and cleared of deleted rows (write-ahead log, free pages).

SQLite lets one transaction write at a time, and whoever waits asks again at intervals that grow: beside many others a
transaction may wait without an end. Here those of a process wait in the order of their arrival.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections import deque
from contextlib import suppress
from typing import Any, Final

from django.db import DatabaseError, connection
from django.db.backends.sqlite3.base import SQLiteCursorWrapper

log = logging.getLogger(__name__)

# Milliseconds to wait for readers of the log; short, because writers wait meanwhile.
_PATIENCE_MS = 2_000


_BEGIN: Final = "BEGIN IMMEDIATE"


class WriterQueue:
    """The transactions of this process that write, or wait for it, to one database file."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._is_taken = False
        self._waiting: deque[threading.Event] = deque()

    def enter(self, seconds: float) -> bool:
        """Wait for the own turn; False if it did not come in time."""
        with self._changing:
            if not self._is_taken:
                self._is_taken = True
                return True
            turn = threading.Event()
            self._waiting.append(turn)
        if turn.wait(seconds):
            return True
        with self._changing:
            if turn.is_set():
                return True
            self._waiting.remove(turn)
            return False

    def leave(self) -> None:
        """Let the next one write."""
        with self._changing:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._is_taken = False


_queues: dict[str, WriterQueue] = {}
os.register_at_fork(after_in_child=_queues.clear)  # its threads do not survive a fork


class _QueuedCursor(SQLiteCursorWrapper):
    """Begins a transaction once it is its connection's turn."""

    def execute(self, query: str, params: Any = None) -> Any:
        if query != _BEGIN or not isinstance(self.connection, PrivateConnection):
            return super().execute(query, params)
        self.connection.enter()
        try:
            return super().execute(query, params)
        except BaseException:
            self.connection.leave()
            raise


class PrivateConnection(sqlite3.Connection):
    """Makes a new database file readable by its owner only; SQLite gives its log the same mode.

    Its transactions wait for their turn, at most for the `timeout` of the connection.
    """

    _queue: WriterQueue | None = None
    _is_writing = False

    def __init__(self, database: Any, *args: Any, **kwargs: Any) -> None:
        self._patience = float(kwargs.get("timeout", 5.0))
        if not str(database).startswith((":memory:", "file:")):
            self._queue = _queues.setdefault(os.path.realpath(database), WriterQueue())
            # Only a new file: closing an open one would drop all locks that this process has on it (POSIX), and another
            # process would then remove the log under its connections.
            with suppress(OSError):  # SQLite says it better
                os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        super().__init__(database, *args, **kwargs)

    def cursor(self, factory: Any = None) -> Any:
        """A cursor whose transactions wait for their turn, if it is Django's."""
        return super().cursor(_QueuedCursor if factory is SQLiteCursorWrapper else factory or sqlite3.Cursor)

    def enter(self) -> None:
        """Wait for the turn of this connection. Raises OperationalError, as SQLite does, if it is not in time."""
        if self._queue is not None and not self._is_writing:
            if not self._queue.enter(self._patience):
                raise sqlite3.OperationalError("database is locked")
            self._is_writing = True

    def leave(self) -> None:
        """Let the next transaction begin, if this one had its turn."""
        if self._queue is not None and self._is_writing:
            self._is_writing = False
            self._queue.leave()

    def commit(self) -> None:
        """Commit, and leave the queue."""
        super().commit()
        self.leave()

    def rollback(self) -> None:
        """Roll back, and leave the queue."""
        try:
            super().rollback()
        finally:
            self.leave()

    def close(self) -> None:
        """Close, which rolls back."""
        try:
            super().close()
        finally:
            self.leave()

    def __del__(self) -> None:
        """Let no transaction wait for a connection that nobody has any more."""
        self.leave()


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
