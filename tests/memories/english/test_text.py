"""Taking a message apart: at what begins another clause, in a time that grows as the text does."""

from __future__ import annotations

from time import process_time

import pytest

from memories.english.text import clauses


@pytest.mark.parametrize(
    ("sentence", "parts"),
    [
        ("I like tea, and  I hate coffee", ["I like tea", "I hate coffee"]),
        ("I like tea but since then I hate coffee", ["I like tea", "since then I hate coffee"]),
        ("I like tea;\tno coffee", ["I like tea", "no coffee"]),
        ("I like tea and coffee", ["I like tea and coffee"]),
    ],
    ids=["and", "a time first", "a semicolon", "one clause"],
)
def test_each_clause_says_something_of_the_speaker(sentence: str, parts: list[str]) -> None:
    assert list(clauses(sentence)) == parts


@pytest.mark.parametrize("middle", [" ", " and", "; ", " and today"], ids=["spaces", "and", "semicolons", "times"])
def test_its_time_grows_as_the_sentence_does(middle: str) -> None:
    def seconds(length: int) -> float:
        sentence = f"I like tea{middle * (length // len(middle))} I hate coffee"
        began = process_time()
        list(clauses(sentence))
        return process_time() - began

    # Ten times as long: a hundred times the time if each place were read to the end again.
    assert seconds(40_000) < 40 * max(seconds(4_000), 0.001)
