"""The weights of the recall recipe, frozen.

They were tuned once on four LoCoMo conversations and one persona, then run once on others
(docs/adr/0003-the-recall-recipe.md). The optimum is flat: any of them times 0.6 to 1.5 moves recall@10 by less than .01
on conversations. Do not tune them on a benchmark.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """One weight for each signal, all on absolute scales. `coverage_power` mutes weak coverage and keeps strong."""

    meaning: float = 1.5
    words: float = 0.8
    words_before: float = 1.0
    words_around: float = 0.8
    session: float = 0.5
    alone: float = 0.08
    speaker: float = 0.6
    answers: float = 1.0
    first_person: float = 0.15
    date: float = 0.5
    when: float = 0.4
    coverage_power: float = 3.0


RECIPE = Weights()

# Late interaction looks at the item, at the turns up to it, and at those around it: first and last offset.
WINDOW_BEFORE = (-2, 0)
WINDOW_AROUND = (-4, 4)
# Answers follow questions: a hit brings these neighbours in its session along as candidates.
NEIGHBOURS = (-1, 0, 1, 2)
# A year that is named counts for half a month that is named.
YEAR_SHARE = 0.5

# Reciprocal rank fusion, selectable: the constant of the reference design.
RRF_K = 30
