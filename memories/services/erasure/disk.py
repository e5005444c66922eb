"""What a database still holds of deleted rows outside its tables, and what is done about it when a member is erased.

SQLite overwrites what is deleted (`secure_delete`), but not the copies that it leaves in the free room of a page when
rows move to another page: so its file is written anew (VACUUM), and its log is emptied into it. PostgreSQL marks rows
as dead: VACUUM lets their room be used again and takes them out of the indexes, but bytes stay in free room of a page
until they are written over, in the log until it is recycled, and in backups for as long as those are kept.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from django.db import DatabaseError, connection, transaction

from memoryhub.scrubbing import rewrite_file, scrub_log

log = logging.getLogger(__name__)

# A reader of the log keeps it from being emptied, a writer the file from being written anew; both come and go.
TRIES = 10
PAUSE_SECONDS = 1.0


class FileInUse(Exception):
    """Others keep SQLite's file from being written anew, or its log from being emptied; it is tried again."""


def clear_disk(tables: Iterable[str]) -> dict[str, object]:
    """Do what the database can; say what was done, for the receipt. Raises FileInUse.

    Inside a transaction nothing can be done; the receipt says so.
    """
    if connection.vendor == "sqlite":
        return {"database": "sqlite", "file_rewritten": not connection.in_atomic_block and _rewritten()}
    return {"database": connection.vendor, "vacuumed": _vacuumed(sorted(tables))}


def _rewritten() -> bool:
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_SECONDS)
        if rewrite_file() and scrub_log():
            return True
    raise FileInUse


def _vacuumed(tables: list[str]) -> list[str]:
    """The tables that a VACUUM went through; it needs a connection that is in no transaction, and their owner."""
    if not transaction.get_autocommit():
        return []
    done = []
    for table in tables:
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"VACUUM {connection.ops.quote_name(table)}")
        except DatabaseError as error:
            log.warning("A table could not be vacuumed after an erasure (%s): %s.", table, type(error).__name__)
        else:
            done.append(table)
    return done
