"""What a recall leaves behind to explain it: stages with counts and times, and candidates with their signals. Pure.

Invariant: a trace holds ids and numbers, never the text of a memory.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from memories.recall.boundary import Cut
from memories.types import Kind

# Candidates that a trace lists: what was given out and what was near it.
MAX_CANDIDATES = 40
_DIGITS = 4


@dataclass(slots=True)
class Stages:
    """The stages of one recall in order, with how many memories each left and how long it took."""

    _clock: float = field(default_factory=time.perf_counter)
    _began: float = field(default_factory=time.perf_counter)
    stages: dict[str, dict[str, float]] = field(default_factory=dict)

    def passed(self, name: str, count: int | None = None) -> None:
        """Note that the stage `name` ended now."""
        now = time.perf_counter()
        stage: dict[str, float] = {"ms": round((now - self._clock) * 1000, 2)}
        if count is not None:
            stage["count"] = count
        self.stages[name] = stage
        self._clock = now

    @property
    def took_ms(self) -> float:
        """Since the first stage began."""
        return round((time.perf_counter() - self._began) * 1000, 2)


@dataclass(frozen=True, slots=True)
class TracedCandidate:
    """One line of a trace; `id` is the hex of a UUID."""

    kind: Kind
    id: str
    rank: int
    score: float
    signals: Mapping[str, float]
    cut: Cut

    def as_json(self) -> dict[str, Any]:
        """The line as stored."""
        return {
            "kind": self.kind.value,
            "id": str(UUID(self.id)),
            "rank": self.rank,
            "score": round(self.score, _DIGITS),
            "signals": {name: round(value, _DIGITS) for name, value in self.signals.items()},
            "selected": self.cut is Cut.NO,
            "cut": self.cut.value,
        }
