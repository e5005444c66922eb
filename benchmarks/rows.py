"""What was measured, in rows, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.table import Table

from benchmarks.clock import Times


@dataclass(frozen=True, slots=True)
class Row:
    """One operation, and the floor that it stands on."""

    operation: str
    times: Times
    floor: Times

    @property
    def ratio(self) -> float:
        """How many times the floor, at the median."""
        return self.times.p50 / self.floor.p50


@dataclass(frozen=True, slots=True)
class Rate:
    """How fast many are done, beside the floor of the same run; per second."""

    operation: str
    count: int
    per_second: float
    floor: float

    @property
    def ratio(self) -> float:
        """The share of the floor's rate that is reached."""
        return self.per_second / self.floor


def table_of(title: str, rows: Sequence[Row]) -> Table:
    """Rows as a table."""
    table = Table(title=title)
    table.add_column("operation")
    for heading in ("p50", "p95", "floor p50", "floor p95", "times the floor"):
        table.add_column(heading, justify="right")
    for row in rows:
        figures = (row.times.p50, row.times.p95, row.floor.p50, row.floor.p95)
        table.add_row(row.operation, *(f"{figure:.1f}" for figure in figures), f"{row.ratio:.1f}")
    return table


def rates_of(title: str, rates: Sequence[Rate]) -> Table:
    """Rates as a table."""
    table = Table(title=title)
    table.add_column("operation")
    for heading in ("count", "a second", "floor", "share of the floor"):
        table.add_column(heading, justify="right")
    for rate in rates:
        figures = (f"{rate.count:,}", f"{rate.per_second:,.0f}", f"{rate.floor:,.0f}", f"{rate.ratio:.2f}")
        table.add_row(rate.operation, *figures)
    return table


def as_json(rows: Sequence[Row]) -> dict[str, object]:
    """Rows by operation."""
    return {row.operation: {**asdict(row), "ratio": row.ratio} for row in rows}
