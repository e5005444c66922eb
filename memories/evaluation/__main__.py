"""The measuring process; `manage.py eval_recall` starts it with an environment of its own."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import django
from django.core.management import call_command
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

django.setup()

from memories.errors import MemoriesError  # noqa: E402 - after the set-up
from memories.evaluation.cases import Case, Form, parse_cases  # noqa: E402
from memories.evaluation.runner import run  # noqa: E402
from memories.importing.conversations import read_json  # noqa: E402
from memories.recall.scoring import Fusion  # noqa: E402


def main() -> None:
    """Measure, and print the result as JSON."""
    parser = argparse.ArgumentParser(prog="python -m memories.evaluation")
    parser.add_argument("file", type=Path)
    parser.add_argument("--format", type=Form, required=True)
    parser.add_argument("--conversations", type=int, nargs="*")
    parser.add_argument("--fusion", type=Fusion, default=Fusion.SUM)
    options = parser.parse_args()
    try:
        cases = parse_cases(read_json(options.file), options.format, options.conversations)
        call_command("migrate", verbosity=0)
        measured = _measured(cases, options.fusion)
    except MemoriesError as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"{error.filename or 'The file'}: {error.strerror or error}.")
    sys.stdout.write(json.dumps(measured))


def _measured(cases: tuple[Case, ...], fusion: Fusion) -> dict[str, object]:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:

        def advance(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done)

        return run(cases, fusion=fusion, advance=advance)


if __name__ == "__main__":
    main()
