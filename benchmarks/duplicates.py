"""`python -m benchmarks.duplicates`: what the third gate merges of 200 pairs that differ and of 200 that do not.

The pairs are the project's own (tests/memories/hygiene/pairs). The rules were written and tuned against two thirds of
them; the rest is marked as held out and counted by itself.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from memories.constants import DUPLICATE_COSINE, KNOWN_COSINE
from memories.embedding import Encoder
from memories.embedding.minilm import MiniLM
from memories.hygiene.dedup import differs_in_detail

PAIRS = Path(__file__).resolve().parent.parent / "tests" / "memories" / "hygiene" / "pairs"
HELD_OUT = "held out"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two wordings; `kind` is the detail in which they differ, or "paraphrase"."""

    kind: str
    held_out: bool
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A pair, how alike the encoder finds it, and what the rules say keeps it apart (empty: nothing)."""

    pair: Pair
    cosine: float
    difference: str

    def merges(self, threshold: float) -> bool:
        """Whether a gate with `threshold` takes both for one statement."""
        return self.cosine >= threshold and not self.difference


def read_pairs(name: str) -> list[Pair]:
    """The pairs of `different` or `same`."""
    lines = (PAIRS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    return [Pair(kind, part == HELD_OUT, left, right) for part, kind, left, right in rows]


def judged(pairs: Sequence[Pair], encoder: Encoder) -> list[Judged]:
    """What the encoder and the rules say of each pair."""
    left = encoder.encode([pair.left for pair in pairs])
    right = encoder.encode([pair.right for pair in pairs])
    cosines = np.sum(left * right, axis=1)
    return [
        Judged(pair, float(cosine), differs_in_detail(pair.left, pair.right))
        for pair, cosine in zip(pairs, cosines, strict=True)
    ]


def main() -> None:
    """Measure and print; with --missed also the paraphrases that only the rules keep apart."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.duplicates", description=__doc__)
    parser.add_argument("--missed", action="store_true", help="list the tuned paraphrases that are not merged")
    options = parser.parse_args()
    encoder = MiniLM(threads=2)
    different, same = (judged(read_pairs(name), encoder) for name in ("different", "same"))
    console = Console()
    console.print(_table("Pairs that differ: wrong merges", [*_by_kind(different), *_by_part(different)]))
    console.print(_table("Paraphrases: merged", list(_by_part(same))))
    if options.missed:
        for each in same:
            if each.difference and not each.pair.held_out:
                console.print(f"{each.cosine:.2f}  {each.pair.left}  |  {each.pair.right}", style="dim")


def _by_kind(rows: Sequence[Judged]) -> Iterable[tuple[str, list[Judged]]]:
    for kind in dict.fromkeys(row.pair.kind for row in rows):
        yield kind, [row for row in rows if row.pair.kind == kind]


def _by_part(rows: Sequence[Judged]) -> Iterable[tuple[str, list[Judged]]]:
    yield "tuned on", [row for row in rows if not row.pair.held_out]
    yield HELD_OUT, [row for row in rows if row.pair.held_out]
    yield "all", list(rows)


def _table(title: str, groups: Sequence[tuple[str, list[Judged]]]) -> Table:
    """For each group how many merge: by the cosine alone, and by the gate."""
    table = Table(title=title)
    table.add_column("pairs")
    table.add_column("of", justify="right")
    for threshold in (DUPLICATE_COSINE, KNOWN_COSINE):
        table.add_column(f"cosine {threshold:.2f} alone", justify="right")
        table.add_column(f"gate {threshold:.2f}", justify="right")
    for name, rows in groups:
        cells = [name, str(len(rows))]
        for threshold in (DUPLICATE_COSINE, KNOWN_COSINE):
            cells.append(str(sum(row.cosine >= threshold for row in rows)))
            cells.append(str(sum(row.merges(threshold) for row in rows)))
        table.add_row(*cells)
    return table


if __name__ == "__main__":
    main()
