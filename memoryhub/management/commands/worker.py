"""`manage.py worker`: runs this installation's background jobs in one process."""

from __future__ import annotations

import signal
import threading
from argparse import SUPPRESS, ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from memoryhub.installation import PROGRAM
from memoryhub.worker import run_worker, wanted_jobs


class Command(BaseCommand):
    """Runs until SIGTERM or Ctrl-C, then finishes the current jobs."""

    help = "Run the background jobs. `serve` starts one worker by itself; other servers need one beside them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--parent", type=int, help=SUPPRESS)

    def handle(self, *, parent: int | None, **_options: Any) -> None:
        if settings.MEMORYHUB_JOBS == "celery":
            raise CommandError("With MEMORYHUB_JOBS=celery the workers are Celery's: celery -A memoryhub worker.")
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            raise CommandError(f"There are unapplied migrations: run `{PROGRAM} migrate` first.")
        stopping = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
        run_worker(wanted_jobs(), stopping, parent=parent)
