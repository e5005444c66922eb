"""The project's own pairs: none that differs in a detail is merged, and nearly half of the paraphrases are."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.duplicates import read_pairs
from memories.english.wording import likeness


def test_there_are_forty_pairs_of_each_detail_and_as_many_paraphrases() -> None:
    kinds = Counter(pair.kind for pair in read_pairs("different"))
    assert kinds == dict.fromkeys(("number", "negation", "name", "date", "place"), 40)
    assert len(read_pairs("same")) == 200
    assert sum(pair.held_out for pair in read_pairs("same")) == 66


def test_no_pair_that_differs_in_a_detail_is_merged() -> None:
    assert [pair for pair in read_pairs("different") if pair.merges] == []


def test_nearly_half_of_the_paraphrases_are_merged() -> None:
    assert sum(pair.merges for pair in read_pairs("same")) >= 95
    assert sum(pair.merges for pair in read_pairs("same") if pair.held_out) >= 28


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Paul manages Judith", "Judith manages Paul"),
        ("Has a cat", "Has cats"),
        ("Takes vitamin A", "Takes vitamin B"),
        ("Lives in Bristol", "Sister lives in Bristol"),
        ("Likes tea", "Does not like tea"),
        ("Owes 1,200 euros", "Owes 1200 dollars"),
    ],
)
def test_another_detail_is_another_statement(left: str, right: str) -> None:
    assert likeness(left) != likeness(right)


def test_a_text_without_a_word_has_no_likeness() -> None:
    assert likeness("…") == likeness("", "") == ""
