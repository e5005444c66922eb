"""`python -m benchmarks.duplicates`: merges among 200 pairs that differ in a detail, and among 200 paraphrases.

The pairs were written for this project (tests/memories/english/duplicates). The rules were tuned on two thirds of them;
the rest is held out and counted separately. Without a judge only equal texts merge.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from memories.english.wording import likeness
from memories.hygiene.text import normalised

PAIRS = Path(__file__).resolve().parent.parent / "tests" / "memories" / "english" / "duplicates"
HELD_OUT = "held out"


@dataclass(frozen=True, slots=True)
class WordingPair:
    """Two texts; `kind` is the detail in which they differ, or "paraphrase"."""

    kind: str
    held_out: bool
    left: str
    right: str

    @property
    def merges(self) -> bool:
        """Whether the rules treat both as the same."""
        return bool(likeness(self.left)) and likeness(self.left) == likeness(self.right)

    @property
    def equal(self) -> bool:
        """Whether the normalised texts are equal, so that no judge is needed."""
        return normalised(self.left) == normalised(self.right)


def read_pairs(name: str) -> list[WordingPair]:
    """The pairs of `different` or `same`."""
    rows = [line.split("\t") for line in (PAIRS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()]
    return [WordingPair(kind, part == HELD_OUT, left, right) for part, kind, left, right in rows]


def main() -> None:
    """Measure and print; --missed also lists tuned paraphrases that do not merge."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.duplicates", description=__doc__)
    parser.add_argument("--missed", action="store_true", help="list the tuned paraphrases that are not merged")
    options = parser.parse_args()
    console = Console()
    different, same = read_pairs("different"), read_pairs("same")
    console.print(_table("Pairs that differ: wrong merges", [*_by_kind(different), *_by_part(different)]))
    console.print(_table("Paraphrases: merged", list(_by_part(same))))
    if options.missed:
        for each in same:
            if not each.merges and not each.held_out:
                console.print(f"{each.left}  |  {each.right}", style="dim")


def _by_kind(pairs: Sequence[WordingPair]) -> Iterable[tuple[str, list[WordingPair]]]:
    for kind in dict.fromkeys(pair.kind for pair in pairs):
        yield kind, [pair for pair in pairs if pair.kind == kind]


def _by_part(pairs: Sequence[WordingPair]) -> Iterable[tuple[str, list[WordingPair]]]:
    yield "tuned on", [pair for pair in pairs if not pair.held_out]
    yield HELD_OUT, [pair for pair in pairs if pair.held_out]
    yield "all", list(pairs)


def _table(title: str, groups: Sequence[tuple[str, list[WordingPair]]]) -> Table:
    """For each group, the pairs that merge without a judge and by the rules."""
    table = Table("pairs", "of", "without a judge", "by the rules", title=title)
    for name, pairs in groups:
        counts = (len(pairs), sum(pair.equal for pair in pairs), sum(pair.merges for pair in pairs))
        table.add_row(name, *map(str, counts))
    return table


if __name__ == "__main__":
    main()
