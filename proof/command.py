"""`manage.py prove_isolation`: attacks this installation from throwaway tenants and reports leaks."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from memories.errors import MemoriesError
from proof.report import Conclusion
from proof.run import Progress, prove
from tenants.errors import TenantsError


class Command(BaseCommand):
    """Exit codes: 0 clean, 1 a leak, 2 a broken guard, 3 attempts that could not be made."""

    help = "Attack every entry point from throwaway tenants with known secrets; exit code 0 only if nothing leaked."
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--attempts", type=int, default=20_000, metavar="N", help="how many (default: 20000)")
        parser.add_argument("--concurrency", type=int, default=16, metavar="C", help="threads (default: 16)")
        parser.add_argument("--seed", type=int, default=1, metavar="S", help="decides what is tried (default: 1)")
        parser.add_argument("--json", action="store_true", help="print the report as JSON")
        parser.add_argument(
            "--beside-real-tenants",
            action="store_true",
            help="run although the database holds tenants that the proof did not make",
        )

    def handle(self, **options: Any) -> None:
        chosen = {name: options[name] for name in ("attempts", "concurrency", "seed", "beside_real_tenants")}
        if chosen["attempts"] < 1 or chosen["concurrency"] < 1:
            raise CommandError(
                "--attempts and --concurrency take numbers from 1.", returncode=Conclusion.UNPROVEN.value
            )
        try:
            with _watched() as progress:
                report = prove(**chosen, progress=progress)
        except (MemoriesError, TenantsError) as error:
            raise CommandError(str(error), returncode=Conclusion.UNPROVEN.value) from error
        self.stdout.write(json.dumps(report.as_json(), indent=2) if options["json"] else "\n".join(report.sentences()))
        if report.conclusion:
            sys.exit(report.conclusion.value)


@contextmanager
def _watched() -> Iterator[Progress]:
    """A progress bar on standard error; without a terminal, a line per stage."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)

        def stage(name: str, steps: int) -> None:
            bar.reset(task, description=name, total=steps)
            if not console.is_terminal:
                console.print(f"{name} ({steps:,})" if steps > 1 else name, highlight=False)

        yield Progress(stage, lambda: bar.advance(task))
