"""An answer is made from the memories that it says, as a careful reader of forty conversations sees it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from memories import evaluation
from memories.recall.made_from import made_from

ANSWERS = Path(evaluation.__file__).parent / "answers"


def read(part: str) -> list[dict[str, Any]]:
    conversations: list[dict[str, Any]] = json.loads((ANSWERS / f"{part}.json").read_text())
    return conversations


def judged(answer: str, question: str, memory: str) -> bool | None:
    return made_from(answer, question, {"it": memory})["it"]


@pytest.mark.parametrize("rules", ["", pytest.param("memories.english", marks=pytest.mark.english)])
@pytest.mark.parametrize("part", ["tuned", "held_out"])
def test_a_careful_reader_agrees_in_nine_of_ten_cases(part: str, rules: str, settings: Settings) -> None:
    settings.MEMORYHUB_RULES = rules
    found: Counter[str] = Counter()
    for conversation in read(part):
        for turn in conversation["turns"]:
            verdicts = made_from(turn["a"], turn["q"], conversation["memories"])
            named = {name for name, verdict in verdicts.items() if verdict} - {*turn.get("either", ())}
            found["right"] += len(named & {*turn["from"]})
            found["named"] += len(named)
            found["labelled"] += len(turn["from"])
    assert found["labelled"] >= 60
    assert found["right"] >= 0.9 * found["named"], f"precision {found['right']} of {found['named']}"
    assert found["right"] >= 0.9 * found["labelled"], f"recall {found['right']} of {found['labelled']}"


@pytest.mark.parametrize("greeting", ["Hello Noor! What can I do for you today?", "You're welcome!", "Merhaba!", "👋"])
def test_small_talk_is_made_from_nothing(greeting: str) -> None:
    memories = {"home": "Lives in Leeds", "dog": "Dog is called Biscuit", "said": "Can you remember what I like?"}
    assert not any(made_from(greeting, "Hi there!", memories).values())


def test_the_memory_that_explains_more_of_the_answer_takes_the_words_of_both() -> None:
    memories = {"home": "Lives in Leeds", "work": "Works near the station in Leeds", "gear": "Gear is 46/18"}
    assert made_from("You live in Leeds.", "Where do I live?", memories) == {"home": True, "work": False, "gear": False}


def test_many_long_memories_are_judged_at_once() -> None:
    memories = {number: " ".join(f"w{number}x{place}z" for place in range(3000)) for number in range(20)}
    assert [name for name, used in made_from("w7x1z w7x2z w7x3z", "Which?", memories).items() if used] == [7]


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
    assert judged(answer, question, memory) is True


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
    assert judged(answer, question, memory) is False


def test_a_memory_of_the_questions_words_tells_nothing() -> None:
    assert judged("Yes.", "Do I like green tea from Uji?", "Green tea from Uji") is None
    assert judged("Yes.", "Anything?", "") is None
