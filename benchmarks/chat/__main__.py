"""`python -m benchmarks.chat`: grades the offline responder's answers to everyday messages, on a temporary database.

Exits with 1 if fewer than 75 % of the tuned or held-out answers are right, or more than 2 % are wrong.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks.chat.examination import Grade

if TYPE_CHECKING:
    from benchmarks.chat.running import Result

RIGHT_FLOOR, WRONG_CEILING = 0.75, 0.02


def _configure(folder: Path) -> None:
    """Set the environment to an empty database and index, before Django reads its settings."""
    for name in [name for name in os.environ if name.startswith(("MEMORYHUB_", "DATABASE_"))]:
        del os.environ[name]
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "memoryhub.settings",
        "DATABASE_URL": f"sqlite:///{folder / 'chat.sqlite3'}",
        "MEMORYHUB_DATA_DIR": str(folder),
        "MEMORYHUB_JOBS": "off",
        "MEMORYHUB_LIMITS": "off",
        "MEMORYHUB_RECORDING": "inline",
    }


def main() -> int:
    """Run the examination and print the table; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chat", description="Examine the offline chat.")
    parser.add_argument("--verbose", action="store_true", help="print each answer that is not right (tuned part)")
    parser.add_argument("--held-out", action="store_true", help="with --verbose: those of the held-out part, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memoryhub-chat-") as folder:
        _configure(Path(folder))
        import django  # noqa: PLC0415 - after the environment is set

        django.setup()
        from benchmarks.chat.running import examine  # noqa: PLC0415 - needs Django

        results = examine()
    _print(results, verbose=options.verbose, held_out=options.held_out)
    return 0 if _holds(results) else 1


def _print(results: Sequence[Result], *, verbose: bool, held_out: bool) -> None:
    console = Console()
    table = Table("part", "messages", "right", "useless", "wrong", "median ms of one core")
    for part, some in (
        ("tuned", _part(results, held_out=False)),
        ("held out", _part(results, held_out=True)),
        ("all", results),
    ):
        counts = Counter(each.grade for each in some)
        shares = [f"{counts[grade]} ({counts[grade] / len(some):.0%})" for grade in Grade]
        table.add_row(part, str(len(some)), *shares, f"{statistics.median(each.cpu_ms for each in some):.0f}")
    console.print(table)
    for each in results:
        if verbose and each.grade is not Grade.RIGHT and (held_out or not each.held_out):
            console.print(f"[{each.who}] {each.grade}: {each.expected.said}", markup=False, style="bold")
            console.print(f"  {each.answer}\n  facts: {sorted(each.facts)}", markup=False)


def _part(results: Sequence[Result], *, held_out: bool) -> list[Result]:
    return [each for each in results if each.held_out is held_out]


def _holds(results: Sequence[Result]) -> bool:
    """Whether both parts meet the limits."""
    for held_out in (False, True):
        counts = Counter(each.grade for each in _part(results, held_out=held_out))
        if counts[Grade.RIGHT] < RIGHT_FLOOR * counts.total() or counts[Grade.WRONG] > WRONG_CEILING * counts.total():
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
