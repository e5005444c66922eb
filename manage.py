#!/usr/bin/env python
"""Django's command line for memoryhub."""

import gc
import os
import signal
import sys

from django.core.management import BaseCommand, ManagementUtility
from django.db import OperationalError, connection

from memoryhub.db.scope import WideRole, acting_as

PROOF = "prove_isolation"


class CommandLine(ManagementUtility):
    """Disables garbage collection during imports: their objects stay, and scanning them takes a tenth of the start."""

    def execute(self) -> None:
        """Run one command; garbage collection is off until it begins."""
        gc.disable()
        super().execute()

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """The command; freezes the objects of the imports, so that garbage collection skips them."""
        gc.freeze()
        gc.enable()
        if subcommand == PROOF:
            from proof.command import Command  # noqa: PLC0415 - the product never imports the attacks

            return Command()
        return super().fetch_command(subcommand)


def _is_unreachable(error: OperationalError) -> bool:
    """Whether there was no connection, as opposed to an error of the database such as a missing table.

    SQLite's error says that the file cannot be opened. PostgreSQL's has no SQLSTATE if no server answered, else a
    class: 08 (connection), 28 (authentication), 3D (no such database), 53300 (too many connections), 57P (shutdown).
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
            with acting_as(WideRole.JOBS):
                CommandLine(sys.argv).execute()
        finally:
            sys.stdout.flush()
    except OperationalError as error:
        if not _is_unreachable(error) or "--traceback" in sys.argv:
            raise
        sys.exit(f"DATABASE_URL: there is no connection to the database. {error}")
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does: drop the rest and exit as if SIGPIPE had ended the process.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)


if __name__ == "__main__":
    main()
