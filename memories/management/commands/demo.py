"""`manage.py demo`: seed two companies with people and memories, print the logins, and serve."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from memories.demo.seeding import is_seeded, seed, steps
from memories.demo.story import COMPANIES, OPERATOR, PASSWORD, PEOPLE
from memories.management.member_command import progress, sentences
from memoryhub.installation import command
from memoryhub.server import AddressUnavailable, require_free

_ADDRESSES = """\
Chat              {0}
Admin             {0}admin/
Connect an agent  {0}connect/
MCP               {0}mcp
OpenAI's API      {0}v1 (with a model: docs/drop-in.md)
API               {0}api/v1/"""


class Command(BaseCommand):
    """Seeds once; later runs only serve."""

    help = "Seed a demo with believable memories, print its logins, and serve it."
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--no-serve", action="store_true", help="only seed and print the logins")

    def check_migrations(self) -> None:
        """Apply them: a demo needs no other command, also after an upgrade."""
        call_command("migrate", verbosity=0)

    def handle(self, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError("The demo has a known password, so it does not run with MEMORYHUB_ENV=production.")
        host, port = options["host"], options["port"]
        if not options["no_serve"]:
            try:
                require_free(host, port)
            except AddressUnavailable as error:
                raise CommandError(str(error)) from error
        if not is_seeded():
            with sentences(), progress("Seeding the demo", steps()) as step:
                seed(step)
        self._print_logins(f"http://{host}:{port}/")
        if options["no_serve"]:
            return
        self._serve(host, port)

    def _serve(self, host: str, port: int) -> None:
        """Replace this process with `serve`, because a worker forked after the encoder ran would crash.

        Every turn is consolidated immediately, so that new facts appear while one watches.
        """
        self.stdout.flush()
        serve = command("serve", f"--host={host}", f"--port={port}")
        os.execve(serve[0], serve, {"MEMORYHUB_CONSOLIDATE": "turn", **os.environ})  # noqa: S606 - our own words

    def _print_logins(self, address: str) -> None:
        console = Console(force_terminal=self.stdout.isatty(), highlight=False)
        with console.capture() as printed:
            console.print(logins())
            console.print(f"The password of each is [bold]{PASSWORD}[/], unless it was changed since.\n")
            console.print(_ADDRESSES.format(address))
        self.stdout.write(printed.get(), ending="")


def logins() -> Table:
    """List who can sign in and as what, by company, including people without a login."""
    table = Table("sign in as", "who", "role", "what for", box=SIMPLE_HEAD, pad_edge=False)
    for company in COMPANIES:
        for person in PEOPLE:
            if company.slug in person.companies:
                login = f"[bold]{person.username}[/]" if person.signs_in else person.external_id
                table.add_row(login, person.name, f"{person.role} of {company.slug}", person.note)
        table.add_section()
    table.add_row(f"[bold]{OPERATOR}[/]", "Platform operator", "superuser", "sees every tenant in the admin")
    return table
