"""Shares a migrated database between the workers of a run: one migrates, the others copy, which saves them seconds.

For SQLite only, where a database is a file. The first worker holds a lock until the copy is complete, so that one
worker migrates and none copies a partial file.
"""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path

from django.db import connection


class Migrated:
    """The copy in `folder` that the workers share. `copied`: this worker's database was copied from it."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "migrated.sqlite3"
        self._lock = (folder / "migrated.lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.copied = self._file.exists()
        if self.copied:
            shutil.copy(self._file, connection.settings_dict["TEST"]["NAME"])
            self._lock.close()

    def give(self, to: Path) -> None:
        """Copy the migrated database to `to`, for a site that a test starts."""
        shutil.copy(self._file, to)

    def publish(self) -> None:
        """Publish this worker's migrated, empty database for the others."""
        unfinished = self._file.with_suffix(".new")
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(unfinished)])
        unfinished.rename(self._file)
        self._lock.close()
