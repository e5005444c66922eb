"""The static token vectors: pieces, directions, and weights that tell rare from frequent."""

from __future__ import annotations

import numpy as np
import pytest

from memories.embedding import pack_pieces, token_vectors, unpack_pieces


def test_a_text_becomes_its_known_pieces_in_order() -> None:
    vectors = token_vectors()
    pieces = vectors.piece_ids("Garden hub, garden!")
    assert [vectors.id_of(piece) for piece in ("garden", "hub", ",", "garden", "!")] == pieces.tolist()
    assert pieces.dtype == np.uint16


def test_unknown_characters_are_left_out() -> None:
    assert len(token_vectors().piece_ids("🦆")) == 0


def test_a_rare_piece_weighs_more_than_a_frequent_one() -> None:
    vectors = token_vectors()
    rare, frequent = vectors.id_of("trombone"), vectors.id_of("the")
    assert rare is not None and frequent is not None
    assert vectors.weights[rare] > 1.5 * vectors.weights[frequent]


def test_directions_are_of_length_one_but_for_nothing() -> None:
    lengths = np.linalg.norm(token_vectors().directions, axis=1)
    assert lengths[0] == 0.0
    assert all(length == pytest.approx(1.0, abs=1e-4) or length == 0.0 for length in lengths)
    assert np.mean(lengths == 0.0) < 0.001


def test_related_words_point_the_same_way() -> None:
    vectors = token_vectors()
    car, automobile, banana = (
        vectors.directions[vectors.piece_ids(word)[0]] for word in ("car", "automobile", "banana")
    )
    assert car @ automobile > car @ banana + 0.2


def test_stored_pieces_come_back_equal() -> None:
    pieces = token_vectors().piece_ids("reset the hub by holding both buttons")
    assert np.array_equal(unpack_pieces(pack_pieces(pieces)), pieces)


@pytest.mark.parametrize(
    ("piece", "plain"),
    [("works", "work"), ("likes", "like"), ("cities", "city"), ("boxes", "box"), ("news", "news"), ("was", "was")],
)
def test_a_piece_knows_its_form_without_an_ending(piece: str, plain: str) -> None:
    vectors = token_vectors()
    assert vectors.plain_forms[vectors.id_of(piece)] == vectors.id_of(plain)
