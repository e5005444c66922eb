"""`manage.py eval_recall`: measure recall on a file or folder of questions, with a throwaway database and index.

The configured database and index files are neither read nor written. On Elasticsearch the indices are shared, so the
measured members are new there and their documents are removed afterwards.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from rich.table import Column, Table

from memories.evaluation.cases import Case, Form, Half, of_half, parse_cases
from memories.evaluation.runner import run
from memories.evaluation.scoring import METRICS
from memories.importing.conversations import at_place, read_json
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


# The models that are measured, and what belongs to the installation.
_MODELS, _OWN = ("MEMORYHUB_EMBEDDING_", "MEMORYHUB_RERANK_"), ("MEMORYHUB_", "DATABASE_")


def _environment(folder: Path) -> dict[str, str]:
    inherited = {
        name: value for name, value in os.environ.items() if name.startswith(_MODELS) or not name.startswith(_OWN)
    }
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
        parser.add_argument("path", type=Path, help="a file of cases, or a folder whose *.json files are read together")
        parser.add_argument("--format", required=True, choices=[form.value for form in Form], help="its form")
        parser.add_argument("--conversations", default="", metavar="0,1", help="only these of the file, from 0")
        parser.add_argument(
            "--half", default=_BOTH, choices=[*map(str, Half), _BOTH], help="the half of a set (default: both)"
        )
        parser.add_argument(
            "--fusion",
            default=Fusion.SUM.value,
            choices=[fusion.value for fusion in Fusion],
            help="sum: the recipe (default); rrf: reciprocal rank fusion",
        )
        parser.add_argument(
            "--ablation", action="store_true", help="measure again without each stage and signal, one at a time"
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")
        parser.add_argument("--here", action="store_true", help=SUPPRESS)

    def handle(self, **options: Any) -> None:
        path, listed = options["path"].absolute(), options["conversations"]
        numbers = [number.strip() for number in listed.split(",")] if listed else []
        if not all(number.isdecimal() for number in numbers):
            raise CommandError("--conversations takes numbers from 0, separated by commas.")
        if numbers and path.is_dir():
            raise CommandError("--conversations needs one file, not a folder.")
        if options["here"]:
            with sentences():
                cases = read(path, Form(options["format"]), list(map(int, numbers)) or None)
                if options["half"] != _BOTH:
                    cases = of_half(cases, Half(options["half"]))
                call_command("migrate", verbosity=0)
                fusion, ablation = Fusion(options["fusion"]), options["ablation"]
                self.stdout.write(json.dumps(run(cases, fusion=fusion, ablation=ablation, watch=progress)))
            return
        chosen = [f"--{name}={options[name]}" for name in ("format", "conversations", "half", "fusion")]
        printed = measure([str(path), *chosen, *(["--ablation"] if options["ablation"] else [])])
        self.stdout.write(printed if options["json"] else rendered(*_tables(json.loads(printed))), ending="")


_BOTH = "both"
_SHOWN = tuple(metric for metric in METRICS if metric != "recall@20")  # a table of more is too wide to read


def read(path: Path, form: Form, numbers: Sequence[int] | None) -> tuple[Case, ...]:
    """Read the cases of a file or folder. Raises CommandError and InvalidInput."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise CommandError(f"{path} holds no *.json file.")
    cases: list[Case] = []
    for file in files:
        with at_place(file.name):
            cases += parse_cases(read_json(file), form, numbers)
    return tuple(cases)


def _tables(measured: Mapping[str, Any]) -> Iterator[str | Table]:
    yield _scores(measured)
    if without := measured.get("without"):
        yield _ablation(without)
    if unanswerable := measured.get("unanswerable"):
        yield (
            f"Unanswerable: {unanswerable['questions']} questions; a chat turn is given a memory for "
            f"{unanswerable['injected']:.0%} of them (threshold: {unanswerable['threshold'] or 'none'})."
        )
        for other in unanswerable["thresholds"]:
            yield f"  at {other['threshold']:.4f}: {other['injected']:.0%}; recall@10 {other['gain'][0]:+.3f}."
    leaks = measured["leaks"]
    yield (
        f"Leaks: another member's memory in {leaks['leaked']} of {leaks['questions']} answers "
        f"({leaks['probes']} of them to probes)."
    )


def _scores(measured: Mapping[str, Any]) -> Table:
    latency = measured["latency_ms"]
    title = f"Recall (95 % interval); p50 {latency['p50']:.1f} ms, p95 {latency['p95']:.1f} ms"
    table = Table(Column("questions", no_wrap=True), *map(number, ("asked", *_SHOWN)), title=title)
    for name, scores in (*measured["by_category"].items(), ("all", measured)):
        figures = (f"{mean:.3f} ({low:.2f} {high:.2f})" for mean, low, high in (scores[metric] for metric in _SHOWN))
        table.add_row(name, f"{scores['questions']}", *figures)
    return table


def _ablation(without: Mapping[str, Any]) -> Table:
    table = Table(
        Column("without", no_wrap=True),
        *map(number, _SHOWN),
        title="Gain without it (95 % interval of the paired difference)",
    )
    for name, gains in without.items():
        figures = (f"{gain:+.3f} ({low:+.2f} {high:+.2f})" for gain, low, high in (gains[metric] for metric in _SHOWN))
        table.add_row(name, *figures)
    return table
