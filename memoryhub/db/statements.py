"""Splits lists of ids into statements: SQLite limits the variables of one, in some builds to 999."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

IDS_PER_STATEMENT = 500

Item = TypeVar("Item")


def in_statements(ids: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Slices of `ids` that fit into one statement."""
    for start in range(0, len(ids), IDS_PER_STATEMENT):
        yield ids[start : start + IDS_PER_STATEMENT]
