"""`python -m benchmarks.talks`: facts that the rules extract from three scripted conversations.

Extracted facts are compared with the expected ones. Conversations and expectations were written for this project
(tests/memories/english/script). The rules were developed with the first; the others were new to them at first.
"""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")

from rich.console import Console
from rich.table import Table

from tests.memories.english.script import load
from tests.memories.english.script.measure import Score, measure
from tests.memories.english.script.played import held, played

TALKS = ("statements", "jonas", "priya")
BATCH = 20


def main() -> None:
    """Print the scores, and the missed facts."""
    console = Console()
    table = Table("talk", "facts", "invented", "endings", "wrong", "times in words")
    scores = {talk: measure(load(talk), held(*played(load(talk), BATCH))) for talk in TALKS}
    for talk, score in scores.items():
        table.add_row(talk, *_columns(score))
    console.print(table)
    for talk, score in scores.items():
        console.print(f"Missed of {talk}: " + "; ".join(score.missed))


def _columns(score: Score) -> tuple[str, ...]:
    return (
        f"{score.facts} of {score.expected_facts}",
        str(len(score.invented)),
        f"{score.ends} of {score.expected_ends}",
        str(len(score.wrong_ends)),
        f"{score.times} of {score.expected_times}",
    )


if __name__ == "__main__":
    main()
