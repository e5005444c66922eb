"""`python -m benchmarks.sensitivity`: recall and false blocks of the detection of sensitive texts.

The texts were written for this project (tests/memories/hygiene/sensitivity). The rules were developed on two thirds of
them; the rest is held out and counted separately. --missed lists mistakes, with the sensitive value replaced by its
kind.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table

from memories.hygiene.sensitivity.detecting import load, scan
from memories.hygiene.sensitivity.findings import Finding, label
from memories.types import HIGH_SEVERITY, SensitiveKind
from tests.memories.hygiene.sensitivity.labelled import LABELLED, Labelled

Spot = tuple[SensitiveKind, int, int]
Scan = Callable[[str], tuple[Finding, ...]]


@dataclass(frozen=True, slots=True)
class Measured:
    """A labelled text, its findings, and the scan's milliseconds."""

    labelled: Labelled
    found: tuple[Finding, ...]
    milliseconds: float

    @property
    def missed(self) -> tuple[Spot, ...]:
        """Labelled values that no finding of the same severity covers fully (low severity: of the same kind)."""
        return tuple(spot for spot in self.labelled.spots if not any(_covers(each, spot) for each in self.found))

    @property
    def wrongly_blocked(self) -> tuple[Finding, ...]:
        """Findings that would refuse a text without values of high severity."""
        if self.labelled.kinds & HIGH_SEVERITY:
            return ()
        return tuple(each for each in self.found if each.kind in HIGH_SEVERITY)

    @property
    def wrongly_flagged(self) -> tuple[Finding, ...]:
        """Findings that would flag a harmless text."""
        return () if self.labelled.kinds else tuple(each for each in self.found if each.kind not in HIGH_SEVERITY)


def measured(texts: Iterable[Labelled], scan: Scan = scan) -> list[Measured]:
    """Scan each text."""
    rows = []
    for labelled in texts:
        start = perf_counter()
        found = scan(labelled.text)
        rows.append(Measured(labelled, found, (perf_counter() - start) * 1000))
    return rows


def recall(rows: Sequence[Measured], kinds: Iterable[SensitiveKind] = HIGH_SEVERITY) -> float:
    """The share of the values of these kinds that are found."""
    wanted = frozenset(kinds)
    missed = sum(kind in wanted for row in rows for kind, _, _ in row.missed)
    count = sum(kind in wanted for row in rows for kind, _, _ in row.labelled.spots)
    return 1 - missed / count if count else 1.0


def false_blocks(rows: Sequence[Measured]) -> float:
    """The share of texts without values of high severity that would be refused."""
    clean = [row for row in rows if not row.labelled.kinds & HIGH_SEVERITY]
    return sum(bool(row.wrongly_blocked) for row in clean) / len(clean) if clean else 0.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sensitivity", description=__doc__)
    parser.add_argument("--missed", action="store_true", help="list what was missed or wrongly blocked or flagged")
    options = parser.parse_args()
    console = Console()
    start = perf_counter()
    load()
    console.print(f"loaded in {perf_counter() - start:.1f} s")
    rows = measured(LABELLED)
    parts = {
        "developed on": [row for row in rows if not row.labelled.held_out],
        "held out": [row for row in rows if row.labelled.held_out],
        "all": rows,
    }
    console.print(_by_part(parts), _by_kind(parts))
    if options.missed:
        for line in _mistakes(parts["developed on"]):
            console.print(line, markup=False, highlight=False)


def _covers(finding: Finding, spot: Spot) -> bool:
    kind, start, end = spot
    alike = finding.kind in HIGH_SEVERITY if kind in HIGH_SEVERITY else finding.kind is kind
    return alike and finding.start <= start and finding.end >= end


def _by_part(parts: dict[str, list[Measured]]) -> Table:
    table = Table(title="What is found and what is blocked without reason")
    for name in ("part", "texts", "recall, high", "recall, low", "false blocks", "false flags", "p50 ms", "p95 ms"):
        table.add_column(name, justify="left" if name == "part" else "right")
    low = frozenset(SensitiveKind) - HIGH_SEVERITY
    for name, rows in parts.items():
        p50, p95 = np.percentile([row.milliseconds for row in rows], (50, 95))
        harmless = [row for row in rows if not row.labelled.kinds]
        flagged = sum(bool(row.wrongly_flagged) for row in harmless) / len(harmless)
        shares = (recall(rows), recall(rows, low), false_blocks(rows), flagged)
        table.add_row(name, str(len(rows)), *(f"{share:.3f}" for share in shares), f"{p50:.2f}", f"{p95:.2f}")
    return table


def _by_kind(parts: dict[str, list[Measured]]) -> Table:
    table = Table(title="Found, by kind")
    table.add_column("kind")
    for name in parts:
        table.add_column(name, justify="right")
    for kind in SensitiveKind:
        cells = []
        for rows in parts.values():
            count = sum(found is kind for row in rows for found, _, _ in row.labelled.spots)
            missed = sum(found is kind for row in rows for found, _, _ in row.missed)
            cells.append(f"{count - missed} of {count}")
        table.add_row(kind.value, *cells)
    return table


def _mistakes(rows: Sequence[Measured]) -> Iterable[str]:
    for row in rows:
        for kind, start, end in row.missed:
            text = row.labelled.text
            yield f"missed {kind.value}: {text[:start]}{label(kind)}{text[end:]}"
        for finding in (*row.wrongly_blocked, *row.wrongly_flagged):
            yield f"wrongly {finding.kind.value} ({finding.rule}): {row.labelled.text}"


if __name__ == "__main__":
    main()
