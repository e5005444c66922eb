"""The project's own pairs: none that differs in a detail is merged, and most paraphrases are."""

from collections import Counter

import pytest

from benchmarks.duplicates import Judged, judged, read_pairs
from memories.constants import DUPLICATE_COSINE, KNOWN_COSINE
from memories.embedding import encoder


@pytest.fixture(scope="module")
def different() -> list[Judged]:
    return judged(read_pairs("different"), encoder())


@pytest.fixture(scope="module")
def same() -> list[Judged]:
    return judged(read_pairs("same"), encoder())


def test_there_are_forty_pairs_of_each_detail_and_as_many_paraphrases() -> None:
    kinds = Counter(pair.kind for pair in read_pairs("different"))
    assert kinds == dict.fromkeys(("number", "negation", "name", "date", "place"), 40)
    assert len(read_pairs("same")) == 200
    assert sum(pair.held_out for pair in read_pairs("same")) == 66


@pytest.mark.parametrize("threshold", [DUPLICATE_COSINE, KNOWN_COSINE])
def test_no_pair_that_differs_in_a_detail_is_merged(different: list[Judged], threshold: float) -> None:
    assert [row.pair for row in different if row.merges(threshold)] == []


def test_the_cosine_alone_would_merge_many_of_them(different: list[Judged]) -> None:
    assert sum(row.cosine >= DUPLICATE_COSINE for row in different) > 25


def test_the_rules_keep_them_apart_whatever_the_encoder_says(different: list[Judged]) -> None:
    assert [row.pair for row in different if not row.difference] == []


def test_most_paraphrases_that_the_encoder_finds_alike_are_merged(same: list[Judged]) -> None:
    alike = [row for row in same if row.cosine >= DUPLICATE_COSINE]
    assert sum(row.merges(DUPLICATE_COSINE) for row in alike) >= 0.75 * len(alike)
    assert sum(row.merges(KNOWN_COSINE) for row in same) >= 95
