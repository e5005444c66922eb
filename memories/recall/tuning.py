"""Whether an answer used a memory, and the recall threshold that recorded use supports. Pure.

Words of the question prove no use, because an answer repeats them whatever it was given. A threshold is proposed only
if it would have kept nearly all used memories and cut a good part of the others, on enough of both. Questions without
an answer score as high as others, so in doubt none is proposed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from memories.consolidation.rules import content_words

# A name or a number is taken up by itself; of ordinary words a part has to be there, for some are in every answer.
_SHARE = 0.25
# Each half begins at the beginning of a run and never gives back: a long memory is read once.
_VALUE = re.compile(r"(?<=[^.!?:\s])\s+([^\W\d_][^\W_]+)|(?<![^\W_])([^\W\d_]*+\d[^\W_]*)")


def takes_up(answer: str, question: str, memory: str) -> bool | None:
    """Whether `answer` says what `memory` holds beyond `question`; None where that cannot be decided."""
    asked = content_words(question)
    distinctive = content_words(memory) - asked
    if not distinctive:
        return None
    said = content_words(answer)
    if (_values(memory) - asked) & said:
        return True
    return len(distinctive & said) >= max(1, math.ceil(_SHARE * len(distinctive)))


def _values(text: str) -> set[str]:
    """Names, as far as a capital inside a sentence shows them, and what has a digit."""
    found: set[str] = set()
    for name, number in _VALUE.findall(text):
        word = name or number
        if number or name[0].isupper():
            found |= content_words(word)
    return found & content_words(text)


KEPT_OF_USED = 0.98
CUT_OF_IGNORED = 0.30
# Fewer than these say nothing about a share of two in a hundred.
LEAST_USED = 50
LEAST_IGNORED = 50
_MOST_VALUES = 40
_STEPS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


@dataclass(frozen=True, slots=True)
class ConsideredThreshold:
    """A threshold, how many used memories it would have kept, and how many ignored ones it would have cut."""

    value: float
    kept: int
    cut: int


@dataclass(frozen=True, slots=True)
class ThresholdVerdict:
    """What the data speak for: a value or none, why in words, and every value that was considered."""

    value: float | None
    reason: str
    used: int
    ignored: int
    values: tuple[ConsideredThreshold, ...]

    @property
    def hit_rate(self) -> float:
        """The share of recalled memories that answers made use of."""
        return self.used / (self.used + self.ignored) if self.used + self.ignored else 0.0

    @property
    def ignored_rate(self) -> float:
        """The share of those that they did not."""
        return self.ignored / (self.used + self.ignored) if self.used + self.ignored else 0.0


def propose(recorded: Sequence[tuple[float, bool]]) -> ThresholdVerdict:
    """The highest threshold that `recorded`, the score and use of each recalled memory, speaks for."""
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
    """Round values from the lowest score to the highest, ascending, a bounded number of them."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    step = next((step for step in _STEPS if (high - low) / step < _MOST_VALUES - 1), _STEPS[-1])
    first = math.floor(low / step)
    count = min(math.ceil(high / step) - first + 1, _MOST_VALUES)
    return [round((first + place) * step, 4) for place in range(count)]
