"""What an import did, in numbers, and where each thing of the source is now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from memories.services.importing.screening import LeftOut
from memories.types import Kind

# Told how many more things are done, for a progress bar.
Advance = Callable[[int], None]


def unwatched(_done: int) -> None:
    """Nobody watches the progress."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """`added` counts new memories by kind; `merged` were equal to one that the owner has; `known` were imported before.

    `forgotten` were left out because their owner had them erased, those of `left_out` because they hold what is not
    stored; `masked` counts the messages that were stored without a value. `ids` leads from the source's id to the
    memory that now holds it.
    """

    sessions: int = 0
    messages: int = 0
    added: Mapping[Kind, int] = field(default_factory=dict)
    merged: int = 0
    known: int = 0
    forgotten: int = 0
    masked: int = 0
    left_out: tuple[LeftOut, ...] = ()
    ids: Mapping[str, UUID] = field(default_factory=dict)

    @property
    def total_added(self) -> int:
        """New memories of all kinds."""
        return sum(self.added.values())
