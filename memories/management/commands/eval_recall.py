"""`manage.py eval_recall`: measure recall on a file of questions, with a throwaway database and index.

The configured database and index files are neither read nor written. On Elasticsearch the indices are shared, so the
measured members are new there and their documents are removed afterwards.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from rich.table import Table

from memories.evaluation.cases import Form, parse_cases
from memories.evaluation.runner import RANKS, run
from memories.importing.conversations import read_json
from memories.management.member_command import number, progress, rendered, sentences
from memories.recall.scoring import Fusion
from memoryhub.installation import command


def measure(arguments: Sequence[str]) -> str:
    """Run this command with `--here` in a separate environment; return its output.

    Its progress and errors go to standard error. Raises CommandError.
    """
    with tempfile.TemporaryDirectory(prefix="memoryhub-evaluation-") as folder:
        finished = subprocess.run(  # noqa: S603 - our own command with our own arguments, no shell
            command("eval_recall", "--here", *arguments),
            env=_environment(Path(folder)),
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    if finished.returncode:
        raise CommandError("Nothing was measured.")
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
    """Uses the product's services and pipeline; the configured database is not touched."""

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
        parser.add_argument("--here", action="store_true", help=SUPPRESS)

    def handle(self, **options: Any) -> None:
        file, listed = options["file"].absolute(), options["conversations"]
        numbers = [number.strip() for number in listed.split(",")] if listed else []
        if not all(number.isdecimal() for number in numbers):
            raise CommandError("--conversations takes numbers from 0, separated by commas.")
        if options["here"]:
            with sentences():
                cases = parse_cases(read_json(file), Form(options["format"]), list(map(int, numbers)) or None)
                call_command("migrate", verbosity=0)
                self.stdout.write(json.dumps(run(cases, fusion=Fusion(options["fusion"]), watch=progress)))
            return
        chosen = [f"--{name}={options[name]}" for name in ("format", "conversations", "fusion")]
        printed = measure([str(file), *chosen])
        self.stdout.write(printed if options["json"] else rendered(_table(json.loads(printed))))


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
