"""`python -m benchmarks.contradictions`: verdicts of the rules on 200 contradicting and 200 compatible pairs of facts.

The pairs were written for this project (tests/memories/english/contradictions). A third of them was written first and
is held out: the rules were never tuned on it. Precision is the share of contradicting pairs among all pairs found;
facts found so are superseded without asking a person.
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
    """Two facts, the expected verdict on the newer one, and the kind of difference."""

    part: str
    kind: str
    verdict: Verdict
    older: str
    newer: str


@dataclass(frozen=True, slots=True)
class Found:
    """A pair and the rules' verdict."""

    pair: Pair
    verdict: Verdict

    @property
    def fires(self) -> bool:
        """Whether the rules would supersede one of the two."""
        return self.verdict in (Verdict.CONTRADICTION, Verdict.UPDATE)


@dataclass(frozen=True, slots=True)
class Score:
    """Counts: contradicting pairs `found`, compatible pairs `wrong`ly found, and `hasty`: wrongly called an update."""

    contradicting: int
    compatible: int
    found: int
    wrong: int
    hasty: int

    @property
    def precision(self) -> float:
        """The share of contradicting pairs among all found."""
        return self.found / (self.found + self.wrong) if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of contradicting pairs that are found."""
        return self.found / self.contradicting


def read_pairs(name: str) -> list[Pair]:
    """The pairs of `contradicting` or `compatible`."""
    rows = [line.split("\t") for line in (PAIRS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()]
    return [Pair(part, kind, Verdict(verdict), older, newer) for part, kind, verdict, older, newer in rows]


def judged(pairs: Iterable[Pair]) -> list[Found]:
    """The rules' verdict on each pair, the older fact first."""
    rows = list(pairs)
    judgements = judge((JudgedFact(each.older), JudgedFact(each.newer)) for each in rows)
    return [Found(each, judgement.verdict) for each, judgement in zip(rows, judgements, strict=True)]


def score(contradicting: Sequence[Found], compatible: Sequence[Found]) -> Score:
    """Count the verdicts on both kinds of pairs."""
    return Score(
        len(contradicting),
        len(compatible),
        sum(each.fires for each in contradicting),
        sum(each.fires for each in compatible),
        sum(each.verdict is Verdict.UPDATE and each.pair.verdict is not Verdict.UPDATE for each in contradicting),
    )


def scores() -> dict[str, Score]:
    """The score of each part, and of all pairs."""
    found, spared = judged(read_pairs("contradicting")), judged(read_pairs("compatible"))
    parts = {
        name: score(
            [each for each in found if each.pair.part == part], [each for each in spared if each.pair.part == part]
        )
        for name, part in (("tuned on", "tuning"), (HELD_OUT, HELD_OUT))
    }
    return parts | {"all": score(found, spared)}


def main() -> None:
    """Measure and print; --missed also lists tuned pairs that the rules do not find."""
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
    """A table of the cosines of pairs; only near pairs are given to a model to judge."""
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
