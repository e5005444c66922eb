"""Which threshold recorded use supports."""

from __future__ import annotations

import random

import pytest

from memories.recall.tuning import LEAST_IGNORED, LEAST_USED, propose


def recorded(used: list[float], ignored: list[float]) -> list[tuple[float, bool]]:
    pairs = [*((score, True) for score in used), *((score, False) for score in ignored)]
    random.Random(1).shuffle(pairs)
    return pairs


def spread(low: float, high: float, count: int) -> list[float]:
    return [low + (high - low) * place / (count - 1) for place in range(count)]


def test_the_highest_value_that_keeps_the_used_and_cuts_the_ignored() -> None:
    verdict = propose(recorded(spread(1.0, 2.0, 200), spread(0.0, 1.2, 100)))
    assert verdict.value == 1.0
    assert verdict.reason.startswith("1 had kept 200 of 200 used memories (100.0%) and left out 83 of 100")
    higher = next(each for each in verdict.values if each.value > 1.0)
    assert higher.kept < 196


def test_two_in_a_hundred_may_go() -> None:
    used = [*spread(1.0, 2.0, 98), 0.1, 0.2]
    assert propose(recorded(used, spread(0.0, 0.9, 100))).value == 1.0
    assert propose(recorded([*used[1:], 0.1, 0.1], spread(0.0, 0.9, 100))).value is None


def test_what_scores_alike_speaks_for_no_value() -> None:
    verdict = propose(recorded(spread(0.0, 2.0, 100), spread(0.0, 2.0, 100)))
    assert verdict.value is None
    assert "Scores do not tell them apart" in verdict.reason


@pytest.mark.parametrize(("used", "ignored"), [(LEAST_USED - 1, 900), (900, LEAST_IGNORED - 1), (0, 0)])
def test_too_little_speaks_for_none(used: int, ignored: int) -> None:
    verdict = propose([*[(2.0, True)] * used, *[(0.5, False)] * ignored])
    assert verdict.value is None
    assert "Too little is recorded" in verdict.reason
    assert propose([*[(2.0, True)] * LEAST_USED, *[(0.5, False)] * LEAST_IGNORED]).value == 2.0
