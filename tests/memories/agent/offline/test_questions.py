"""Questions taken apart: at what joins two of them, in a time that grows as the text does."""

from __future__ import annotations

from time import process_time

import pytest

from memories.agent.offline.questions import parts


@pytest.mark.parametrize(
    ("question", "halves"),
    [
        ("Where do I live, and also  what do I eat?", ["Where do I live?", "What do I eat?"]),
        ("Who is Petra;\twhen is my exam", ["Who is Petra?", "When is my exam?"]),
        ("Where do I live  or  what do I eat?", ["Where do I live?", "What do I eat?"]),
        ("Where do I live and work?", ["Where do I live?", "Where do I work?"]),
        ("What are salt and pepper?", ["What are salt and pepper?"]),
    ],
    ids=["and also", "a semicolon", "or", "one beginning", "one question"],
)
def test_each_question_stands_by_itself(question: str, halves: list[str]) -> None:
    assert parts(question) == halves


@pytest.mark.parametrize("middle", [" ", " and", " and  also ", "; "], ids=["spaces", "and", "and also", "semicolons"])
def test_its_time_grows_as_the_text_does(middle: str) -> None:
    def seconds(length: int) -> float:
        text = f"Where{middle * (length // len(middle))}do I live?"
        began = process_time()
        parts(text)
        return process_time() - began

    # Ten times as long: a hundred times the time if each place were read to the end again.
    assert seconds(40_000) < 40 * max(seconds(4_000), 0.001)
