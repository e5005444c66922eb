"""The command line: Django's, with the commands of memoryhub. `manage.py` and the script `memoryhub` call `main`."""

import gc
import os
import signal
import sys

from django.core.management import BaseCommand, ManagementUtility, get_commands
from django.db import DatabaseError, OperationalError, connection
from django.utils.module_loading import import_string

from memoryhub import __version__
from memoryhub.db.scope import WideRole, acting_as
from memoryhub.installation import PROGRAM

# By name, because the product never imports the attacks.
PROOF = "prove_isolation"
_PROOF_COMMAND = "proof.command.Command"
_APPS = ("memories", "tenants", "memoryhub")

_OVERVIEW = """\
memoryhub {version}: a lasting memory for LLM agents

  {program} demo          try it: people with memories; prints logins and serves
  {program} serve         serve this installation, with a process for the background jobs
  {program} help COMMAND  explain a command

Data: {data} (MEMORYHUB_DATA_DIR)
Commands: {own}
Some of Django's: check, collectstatic, migrate, shell; all: {program} help --commands"""


class CommandLine(ManagementUtility):
    """Disables garbage collection during imports: their objects stay, and scanning them takes a tenth of the start."""

    def execute(self) -> None:
        """Run one command; garbage collection is off until it begins."""
        if self.prog_name == "python -m django":
            self.prog_name = "python -m memoryhub"
        if self.argv[1:] in (["--version"], ["version"]):
            sys.stdout.write(f"memoryhub {__version__}\n")
            return
        gc.disable()
        super().execute()

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """The command; freezes the objects of the imports, so that garbage collection skips them."""
        gc.freeze()
        gc.enable()
        if subcommand == PROOF:
            proof: type[BaseCommand] = import_string(_PROOF_COMMAND)
            return proof()
        return super().fetch_command(subcommand)

    def main_help_text(self, commands_only: bool = False) -> str:  # noqa: FBT001, FBT002 - Django's signature
        """What a call without a command prints."""
        if commands_only:
            return super().main_help_text(commands_only=True)
        from django.conf import settings  # noqa: PLC0415 - after `main` named the settings

        own = sorted([PROOF, *(name for name, app in get_commands().items() if app in _APPS)])
        return _OVERVIEW.format(
            version=__version__,
            program=self.prog_name,
            data=settings.MEMORYHUB_DATA_DIR,
            own=", ".join(own),
        )


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


def _in_a_sentence(error: DatabaseError) -> str:
    """What to do about an error of the database; empty for one that says nothing to who runs the command.

    A missing table is SQLite's by its words alone, PostgreSQL's by its SQLSTATE.
    """
    cause = error.__cause__
    if str(error).startswith("no such table") or getattr(cause, "sqlstate", None) == "42P01":
        return f"The database has no tables, or older ones: run `{PROGRAM} migrate` first. ({_first_line(error)})"
    if getattr(cause, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"The database is busy: another process writes, so try again. ({_first_line(error)})"
    if isinstance(error, OperationalError) and _is_unreachable(error):
        return f"DATABASE_URL: there is no connection to the database. {error}"
    return ""


def _first_line(error: DatabaseError) -> str:
    return str(error).partition("\n")[0]


def main() -> None:
    """Run one command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
    try:
        try:
            with acting_as(WideRole.JOBS):
                CommandLine(sys.argv).execute()
        finally:
            sys.stdout.flush()
    except DatabaseError as error:
        sentence = _in_a_sentence(error)
        if not sentence or "--traceback" in sys.argv:
            raise
        sys.exit(sentence)
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does: drop the rest and exit as if SIGPIPE had ended the process.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
