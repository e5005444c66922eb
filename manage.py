#!/usr/bin/env python
"""Django's command line for memoryhub."""

import gc
import os
import signal
import sys

from django.core.management import BaseCommand, ManagementUtility
from django.db import OperationalError, connection

PROOF = "prove_isolation"


class CommandLine(ManagementUtility):
    """Nearly all that imports make stays to the end, and looking for garbage among it takes a tenth of a start."""

    def execute(self) -> None:
        """Run one command; until it begins, no garbage is looked for."""
        gc.disable()
        super().execute()

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """The command, once everything is imported; what there is by now is not looked at again."""
        gc.freeze()
        gc.enable()
        if subcommand == PROOF:
            from proof.command import Command  # noqa: PLC0415 - the product never loads its attacks

            return Command()
        return super().fetch_command(subcommand)


def _is_unreachable(error: OperationalError) -> bool:
    """Whether there is no connection, not something that the database refused or lacks, such as a table.

    By the driver's error: SQLite's says that the file cannot be opened; PostgreSQL's has no SQLSTATE if no server
    spoke, else one of 08 (connections), 28 (who one is), 3D (no such database), 53300 (too many), 57P (it shuts down).
    """
    cause = error.__cause__
    if connection.vendor == "sqlite":
        return getattr(cause, "sqlite_errorname", "").startswith("SQLITE_CANTOPEN")
    state = getattr(cause, "sqlstate", None)
    return state is None or state.startswith(("08", "28", "3D", "53300", "57P"))


def main() -> None:
    """Run one management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
    try:
        try:
            CommandLine(sys.argv).execute()
        finally:
            sys.stdout.flush()
    except OperationalError as error:
        if not _is_unreachable(error) or "--traceback" in sys.argv:
            raise
        sys.exit(f"DATABASE_URL: there is no connection to the database. {error}")
    except BrokenPipeError:
        # Whoever reads has enough. What is not written yet goes nowhere; the code is that of a tool which SIGPIPE ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)


if __name__ == "__main__":
    main()
