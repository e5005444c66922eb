"""Misspelt words and the words that they may stand for."""

from __future__ import annotations

import pytest

from memories.embedding.spelling import Spelling, one_slip

WORDS = {"work": 1, "where": 2, "city": 3, "neighbors": 4, "volunteer": 5, "mite": 6, "they": 7}


@pytest.mark.parametrize(
    ("word", "meant"),
    [("wrok", [1]), ("wher", [2]), ("citty", [3]), ("nieghbors", [4]), ("voluntear", [5]), ("thuy", []), ("wok", [])],
)
def test_a_word_stands_for_those_one_slip_away(word: str, meant: list[int]) -> None:
    assert Spelling(WORDS).meant_by(word).tolist() == meant


@pytest.mark.parametrize("other", ["works", "wor", "wokr"])
def test_a_short_word_differs_by_a_letter_more_or_less_or_two_swapped(other: str) -> None:
    assert one_slip("work", other)
    assert not one_slip("work", "word")
