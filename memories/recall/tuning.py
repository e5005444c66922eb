"""Proposes a recall threshold from the recorded use of recalled memories. Pure.

A threshold is proposed only if it would have kept nearly all used memories and cut a substantial share of the others,
with enough data on both. Memories for unanswerable queries score as high as others, so in doubt none is proposed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

KEPT_OF_USED = 0.98
CUT_OF_IGNORED = 0.30
# Fewer than these cannot support a statement about 2%.
LEAST_USED = 50
LEAST_IGNORED = 50
_MOST_VALUES = 40
_STEPS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


@dataclass(frozen=True, slots=True)
class ConsideredThreshold:
    """A threshold, the number of used memories it would have kept, and the number of ignored ones it would have cut."""

    value: float
    kept: int
    cut: int


@dataclass(frozen=True, slots=True)
class ThresholdVerdict:
    """The proposed threshold, if any, the reason as a sentence, and every value considered."""

    value: float | None
    reason: str
    used: int
    ignored: int
    values: tuple[ConsideredThreshold, ...]

    @property
    def hit_rate(self) -> float:
        """The share of recalled memories that answers used."""
        return self.used / (self.used + self.ignored) if self.used + self.ignored else 0.0

    @property
    def ignored_rate(self) -> float:
        """The share of recalled memories that answers did not use."""
        return self.ignored / (self.used + self.ignored) if self.used + self.ignored else 0.0


def propose(recorded: Sequence[tuple[float, bool]]) -> ThresholdVerdict:
    """Propose the highest threshold that `recorded`, the (score, used) of each recalled memory, supports."""
    used = [score for score, taken in recorded if taken]
    ignored = [score for score, taken in recorded if not taken]
    values = tuple(
        ConsideredThreshold(value, sum(score >= value for score in used), sum(score < value for score in ignored))
        for value in _grid([score for score, _ in recorded])
    )
    value, reason = _chosen(values, len(used), len(ignored))
    return ThresholdVerdict(value, reason, len(used), len(ignored), values)


def _chosen(values: Sequence[ConsideredThreshold], used: int, ignored: int) -> tuple[float | None, str]:
    if used < LEAST_USED or ignored < LEAST_IGNORED:
        return None, (
            f"Too little is recorded: {used:,} memories that answers used and {ignored:,} that they did not; "
            f"{LEAST_USED} and {LEAST_IGNORED} are needed."
        )
    safe = [each for each in values if each.kept >= KEPT_OF_USED * used]
    worth = [each for each in safe if each.cut >= CUT_OF_IGNORED * ignored]
    if worth:
        best = worth[-1]
        return best.value, (
            f"{best.value:g} had kept {best.kept:,} of {used:,} used memories ({best.kept / used:.1%}) and left out "
            f"{best.cut:,} of {ignored:,} that no answer used ({best.cut / ignored:.1%})."
        )
    most = max((each.cut for each in safe), default=0)
    return None, (
        f"No value keeps {KEPT_OF_USED:.0%} of the {used:,} used memories and leaves out {CUT_OF_IGNORED:.0%} of the "
        f"{ignored:,} others: the best leaves out {most / ignored:.1%}. Scores do not tell them apart."
    )


def _grid(scores: Sequence[float]) -> list[float]:
    """Return evenly spaced round values from the lowest score to the highest, at most 40."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    step = next((step for step in _STEPS if (high - low) / step < _MOST_VALUES - 1), _STEPS[-1])
    first = math.floor(low / step)
    count = min(math.ceil(high / step) - first + 1, _MOST_VALUES)
    return [round((first + place) * step, 4) for place in range(count)]
