"""One worker of a run migrates a database; the others copy it, for migrating takes each of them seconds.

SQLite only: there a database is a file. Invariant: the lock is held from the moment in which there is no copy until
there is one, so one worker migrates and nobody copies half a file.
"""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path

from django.db import connection


class Migrated:
    """The copy in `folder`, which the workers of a run share. `copied`: this worker's database is one of it."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "migrated.sqlite3"
        self._lock = (folder / "migrated.lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.copied = self._file.exists()
        if self.copied:
            shutil.copy(self._file, connection.settings_dict["TEST"]["NAME"])
            self._lock.close()

    def give(self, to: Path) -> None:
        """Put a copy where a site of a test's own looks for its database."""
        shutil.copy(self._file, to)

    def publish(self) -> None:
        """Let the others copy the database of this worker, which is migrated and empty."""
        unfinished = self._file.with_suffix(".new")
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(unfinished)])
        unfinished.rename(self._file)
        self._lock.close()
