"""`python -m benchmarks.contradictions`: what the rules find of 200 pairs that contradict, and of 200 that do not.

The pairs are the project's own (tests/memories/english/contradictions). A third of them was written first,
is marked as held out, and the rules were never tuned on it. Precision is the share of pairs rightly found among all
that are: only those can be superseded without a person being asked.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from memories.consolidation.rules import JudgedFact, Verdict
from memories.constants import NEIGHBOUR_COSINE
from memories.embedding import Encoder
from memories.embedding.encoders import MiniLM
from memories.english.judge import judge

PAIRS = Path(__file__).resolve().parent.parent / "tests/memories/english/contradictions"
HELD_OUT = "held out"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two facts, what the newer one does to the older, and in what they differ."""

    part: str
    kind: str
    verdict: Verdict
    older: str
    newer: str


@dataclass(frozen=True, slots=True)
class Found:
    """A pair with the verdict of the rules."""

    pair: Pair
    verdict: Verdict

    @property
    def fires(self) -> bool:
        """Whether the rules would have one of the two superseded."""
        return self.verdict in (Verdict.CONTRADICTION, Verdict.UPDATE)


@dataclass(frozen=True, slots=True)
class Score:
    """`found` of the contradicting pairs, `wrong` of the compatible ones; `hasty`: called an update without a word."""

    contradicting: int
    compatible: int
    found: int
    wrong: int
    hasty: int

    @property
    def precision(self) -> float:
        """The share of what is found that is right."""
        return self.found / (self.found + self.wrong) if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of the contradicting pairs that is found."""
        return self.found / self.contradicting


def read_pairs(name: str) -> list[Pair]:
    """The pairs of `contradicting` or `compatible`."""
    rows = [line.split("\t") for line in (PAIRS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()]
    return [Pair(part, kind, Verdict(verdict), older, newer) for part, kind, verdict, older, newer in rows]


def judged(pairs: Iterable[Pair]) -> list[Found]:
    """What the rules say of each pair, the older fact first."""
    rows = list(pairs)
    judgements = judge((JudgedFact(each.older), JudgedFact(each.newer)) for each in rows)
    return [Found(each, judgement.verdict) for each, judgement in zip(rows, judgements, strict=True)]


def score(contradicting: Sequence[Found], compatible: Sequence[Found]) -> Score:
    """Counts over both kinds of pairs."""
    return Score(
        len(contradicting),
        len(compatible),
        sum(each.fires for each in contradicting),
        sum(each.fires for each in compatible),
        sum(each.verdict is Verdict.UPDATE and each.pair.verdict is not Verdict.UPDATE for each in contradicting),
    )


def scores() -> dict[str, Score]:
    """By part, and of all."""
    found, spared = judged(read_pairs("contradicting")), judged(read_pairs("compatible"))
    parts = {
        name: score(
            [each for each in found if each.pair.part == part], [each for each in spared if each.pair.part == part]
        )
        for name, part in (("tuned on", "tuning"), (HELD_OUT, HELD_OUT))
    }
    return parts | {"all": score(found, spared)}


def main() -> None:
    """Measure and print; with --missed also the tuned pairs that the rules leave to a model or a person."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contradictions", description=__doc__)
    parser.add_argument("--missed", action="store_true", help="list the tuned pairs that are not found")
    options = parser.parse_args()
    console = Console()
    table = Table("pairs", "contradicting", "found", "compatible", "wrongly found", "precision", "recall", "hasty")
    for part, each in scores().items():
        counts = (each.contradicting, each.found, each.compatible, each.wrong)
        table.add_row(part, *map(str, counts), f"{each.precision:.3f}", f"{each.recall:.3f}", str(each.hasty))
    console.print(table)
    console.print(_neighbours(MiniLM(threads=2)))
    if options.missed:
        for found in judged(read_pairs("contradicting")):
            if not found.fires and found.pair.part != HELD_OUT:
                console.print(f"{found.pair.older}  |  {found.pair.newer}", style="dim")


def _neighbours(encoder: Encoder) -> Table:
    """How near the facts of a pair are to the encoder, which decides what a model is asked about."""
    table = Table("pairs", "median cosine", "5th percentile", f"at least {NEIGHBOUR_COSINE:.2f}")
    for name in ("contradicting", "compatible"):
        pairs = read_pairs(name)
        older, newer = (encoder.encode([getattr(pair, side) for pair in pairs]) for side in ("older", "newer"))
        cosines = np.sum(older * newer, axis=1)
        near = float(np.mean(cosines >= NEIGHBOUR_COSINE))
        table.add_row(name, f"{np.median(cosines):.2f}", f"{np.percentile(cosines, 5):.2f}", f"{near:.0%}")
    return table


if __name__ == "__main__":
    main()
