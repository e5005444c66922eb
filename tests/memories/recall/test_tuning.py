"""When an answer used a memory, and which threshold recorded use supports."""

from __future__ import annotations

import random

import pytest

from memories.recall.tuning import LEAST_IGNORED, LEAST_USED, propose, takes_up


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


LONG = (
    "Yesterday we walked along the canal with both dogs, then Petra cooked lentils while I repaired the bicycle, and"
    " later everybody played cards until midnight"
)


@pytest.mark.parametrize(
    ("answer", "question", "memory"),
    [
        ("You live in Edinburgh.", "Where do I live?", "Lives in Edinburgh"),
        ("It was in 2019.", "When did I move?", "Moved in 2019"),
        ("Petra did.", "Who cooked?", LONG),
        ("Peanuts; so no satay.", "What am I allergic to?", "Is allergic to peanuts"),
        ("Descale it first, then rinse.", "The kettle smells", "Descale the kettle. Fill it with vinegar. Rinse"),
    ],
    ids=["a name", "a number", "a name in a long sentence", "a word", "a part of the words"],
)
def test_what_it_alone_says_shows_that_it_was_used(answer: str, question: str, memory: str) -> None:
    assert takes_up(answer, question, memory) is True


@pytest.mark.english
@pytest.mark.parametrize(
    ("answer", "question", "memory"),
    [
        ("I do not know where you live.", "Where do I live?", "Has two cats called Miso and Pixel"),
        ("You moved to Leeds.", "Where did I move from Leeds?", "Moved from Hull to Leeds"),
        ("You played well.", "How was the concert?", LONG),
        ("", "Where do I live?", "Lives in Edinburgh"),
    ],
    ids=["nothing of it", "only the question's words", "one word of many", "no words"],
)
def test_what_it_does_not_say_was_ignored(answer: str, question: str, memory: str) -> None:
    assert takes_up(answer, question, memory) is False


def test_a_memory_of_the_questions_words_tells_nothing() -> None:
    assert takes_up("Yes.", "Do I like green tea from Uji?", "Green tea from Uji") is None
    assert takes_up("Yes.", "Anything?", "") is None
