"""Late interaction on a vocabulary of six pieces: coverage by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from memories.recall.late_interaction import MAX_QUERY_PIECES, SAME_WORD, Coverage, coverage, pack

# Piece 0 is no piece; 1, 2, 3 stand at right angles; 4 is near 1 (cosine .8); 5 points away from 1.
DIRECTIONS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.8, 0.6, 0], [-1, 0, 0]], np.float32)
WEIGHTS = np.array([0, 1, 1, 4, 1, 1], np.float32)
ALONE = [-1, -1, -1, -1, 0, -1, -1, -1, -1]


def covered(texts: Sequence[Sequence[int]], neighbours: Sequence[Sequence[int]], query: Sequence[int]) -> Coverage:
    stored = [np.array(text, "<u2").tobytes() for text in texts]
    return coverage(pack(stored), np.array(neighbours), pieces(query), DIRECTIONS, WEIGHTS)


def pieces(ids: Sequence[int]) -> NDArray[np.uint16]:
    return np.array(ids, np.uint16)


def test_windows_add_what_the_turns_around_say() -> None:
    texts = [[1], [2], [3], [5]]
    # Item 2 has text 1 just before it, text 0 two before, and text 3 three after.
    neighbours = [[-1, -1, 0, 1, 2, -1, -1, 3, -1]]
    window = covered(texts, neighbours, [1, 2, 3])
    assert window.own == pytest.approx([0.5])
    assert window.before == pytest.approx([1.0])
    assert window.previous == pytest.approx([0.25])
    assert covered(texts, [[-1, -1, -1, -1, 2, -1, -1, 0, -1]], [1, 3]).around == pytest.approx([1.0])


def test_a_long_query_is_cut_to_its_first_pieces() -> None:
    directions = np.eye(200, dtype=np.float32)
    texts = pack([np.arange(MAX_QUERY_PIECES, dtype="<u2").tobytes()])
    query = np.arange(200, dtype=np.uint16)
    found = coverage(texts, np.array([ALONE]), query, directions, np.ones(200, np.float32))
    assert found.own == pytest.approx([1.0])


def test_two_forms_of_a_word_match_although_their_vectors_stand_apart() -> None:
    texts, query = pack([np.array([2], "<u2").tobytes()]), pieces([1])
    forms = np.array([0, 1, 1, 3, 4, 5])
    apart = coverage(texts, np.array([ALONE]), query, DIRECTIONS, WEIGHTS)
    kin = coverage(texts, np.array([ALONE]), query, DIRECTIONS, WEIGHTS, forms)
    assert (apart.own[0], kin.own[0]) == (0.0, pytest.approx(SAME_WORD**2))


def test_a_misspelt_word_matches_the_words_it_may_stand_for() -> None:
    texts, query = pack([np.array([2], "<u2").tobytes()]), pieces([1])
    slips = [(pieces([1]), np.array([2, 3]))]
    found = coverage(texts, np.array([ALONE]), query, DIRECTIONS, WEIGHTS, slips=slips)
    assert found.own == pytest.approx([SAME_WORD**2])


def test_a_label_is_what_stands_before_a_colon() -> None:
    colon = 5
    found = coverage(
        pack([np.array([1, colon, 2], "<u2").tobytes()]),
        np.array([ALONE]),
        pieces([1, 3]),
        DIRECTIONS,
        WEIGHTS,
        colon=colon,
    )
    assert (found.label[0], found.named[0]) == (pytest.approx(1 / 3), pytest.approx(1.0))
    assert found.explained[0] == pytest.approx(1 / 3)


def test_a_word_matches_the_words_of_the_keys_that_it_asks_for_in_labels_alone() -> None:
    colon = 5
    texts = pack([np.array(each, "<u2").tobytes() for each in ([3, colon, 2], [2, 3])])
    alone = np.array([ALONE, [*ALONE[:4], 1, *ALONE[5:]]])
    keys = [(pieces([1]), np.array([3]))]
    found = coverage(texts, alone, pieces([1]), DIRECTIONS, WEIGHTS, colon=colon, keys=keys)
    assert found.slot == pytest.approx([SAME_WORD**2, 0.0]) and found.slot_named == pytest.approx([SAME_WORD**2, 0.0])
    assert found.label == pytest.approx([0.0, 0.0]) and found.own == pytest.approx([0.0, 0.0])
