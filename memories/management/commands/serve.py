"""`manage.py serve`: serve the site, with one more process for the background jobs."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection, connections

from memories.services.bootstrap import bootstrap
from memoryhub import limits
from memoryhub.installation import PROGRAM
from memoryhub.server import AddressUnavailable, Server, require_free

# A process takes a quarter of a gigabyte.
MOST_WORKERS: Final = 4


class Command(BaseCommand):
    """Serves until interrupted. On SQLite one process does, because only writers of the same process wait in order."""

    help = "Serve the site."
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--workers",
            type=int,
            help=f"processes (default: 1 on SQLite, else one for each core, at most {MOST_WORKERS})",
        )
        parser.add_argument("--threads", type=int, default=32, help="requests served at once by each process")

    def check_migrations(self) -> None:
        """Make the tables of a new SQLite database, so that a first start needs no other command; else warn."""
        if connection.vendor == "sqlite" and not connection.introspection.table_names():
            self.stdout.write("Making the database…")
            self.stdout.flush()
            call_command("migrate", verbosity=0)
        super().check_migrations()

    def handle(self, **options: Any) -> None:
        # Pages resolve static files through the manifest of collectstatic; without it every page fails.
        collected = settings.STATIC_ROOT and (settings.STATIC_ROOT / "staticfiles.json").exists()
        if settings.PRODUCTION and not collected:
            raise CommandError(f"There are no static files: run `{PROGRAM} collectstatic --no-input` first.")
        cores = min(len(os.sched_getaffinity(0)), MOST_WORKERS) if hasattr(os, "sched_getaffinity") else 1
        workers = (1 if connection.vendor == "sqlite" else cores) if options["workers"] is None else options["workers"]
        if workers < 1 or options["threads"] < 1:
            raise CommandError("--workers and --threads take numbers from 1.")
        host, port = options["host"], options["port"]
        try:
            require_free(host, port)
            if settings.MEMORYHUB_PROBES:
                require_free(*settings.MEMORYHUB_PROBES)
        except AddressUnavailable as error:
            raise CommandError(str(error)) from error

        try:
            bootstrap()
            connections.close_all()  # none survives a fork
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error

        def announce() -> None:
            self.stdout.write(f"Serving on http://{host}:{port}/ (Ctrl-C ends it)")

        limits.fair_share.places = options["threads"]
        limits.turn_share.places = settings.MEMORYHUB_CONNECTIONS
        Server(host=host, port=port, workers=workers, threads=options["threads"], ready=announce).run()
