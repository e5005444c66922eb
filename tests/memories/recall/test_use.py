"""Whether an answer took a memory up: by its own names, numbers and words, never by those of the question."""

from __future__ import annotations

import pytest

from memories.recall.use import takes_up

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
