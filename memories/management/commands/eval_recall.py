"""`manage.py eval_recall`: measure recall on a file of questions, in a process with a throwaway database and index.

The configured database and index files are neither read nor written. On Elasticsearch the indices are shared: the
measured members are new there, and their documents are removed again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from rich.table import Table

from memories.errors import MemoriesError
from memories.evaluation.cases import Form
from memories.evaluation.runner import RANKS
from memories.management.member_command import number, rendered
from memories.recall.scoring import Fusion


class MeasurementFailed(MemoriesError):
    """The measuring process ended without an answer; its message says why."""


def measure(arguments: Sequence[str]) -> str:
    """Run `python -m memories.evaluation` with these arguments; return what it printed.

    Its progress and its errors go to standard error. Raises MeasurementFailed.
    """
    with tempfile.TemporaryDirectory(prefix="memoryhub-evaluation-") as folder:
        finished = subprocess.run(  # noqa: S603 - our own module with our own arguments, no shell
            [sys.executable, "-m", "memories.evaluation", *arguments],
            cwd=settings.BASE_DIR,
            env=_environment(Path(folder)),
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    if finished.returncode:
        raise MeasurementFailed("Nothing was measured.")
    return finished.stdout


def _environment(folder: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORYHUB_", "DATABASE_"))}
    return inherited | {
        "DJANGO_SETTINGS_MODULE": "memoryhub.settings",
        "DATABASE_URL": f"sqlite:///{folder / 'evaluation.sqlite3'}",
        "MEMORYHUB_DATA_DIR": str(folder),
        "MEMORYHUB_JOBS": "off",
        "MEMORYHUB_SEARCH": settings.MEMORYHUB_SEARCH,
    }


class Command(BaseCommand):
    """Goes through the product's own services and pipeline; the configured database is not touched."""

    help = "Measure recall on questions with known answers, in a throwaway database."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="a file of cases")
        parser.add_argument("--format", required=True, choices=[form.value for form in Form], help="its form")
        parser.add_argument("--conversations", default="", metavar="0,1", help="only these of the file, from 0")
        parser.add_argument(
            "--fusion",
            default=Fusion.SUM.value,
            choices=[fusion.value for fusion in Fusion],
            help="sum: the recipe (default); rrf: reciprocal rank fusion",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, **options: Any) -> None:
        arguments = [str(options["file"].absolute()), "--format", options["format"], "--fusion", options["fusion"]]
        if numbers := options["conversations"]:
            arguments += ["--conversations", *_numbers(numbers)]
        try:
            printed = measure(arguments)
        except MeasurementFailed as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(printed)
            return
        self.stdout.write(rendered(_table(json.loads(printed))))


def _numbers(listed: str) -> list[str]:
    numbers = [number.strip() for number in listed.split(",")]
    if not all(number.isdecimal() for number in numbers):
        raise CommandError("--conversations takes numbers from 0, separated by commas.")
    return numbers


def _table(measured: Mapping[str, Any]) -> Table:
    latency = measured["latency_ms"]
    title = f"Recall; p50 {latency['p50']:.1f} ms, p95 {latency['p95']:.1f} ms"
    table = Table("questions", *map(number, ("asked", *(f"recall@{rank}" for rank in RANKS), "mrr")), title=title)
    for name, scores in (*measured["by_category"].items(), ("all", measured)):
        figures = (*(scores["recall"][str(rank)] for rank in RANKS), scores["mrr"])
        table.add_row(name, f"{scores['questions']}", *(f"{figure:.3f}" for figure in figures))
    if unanswerable := measured.get("unanswerable"):
        table.add_row("unanswerable", f"{unanswerable['questions']}", *["–"] * (len(RANKS) + 1))
    return table
