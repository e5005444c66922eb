"""The bundled encoder: what it promises of a vector, whoever asks and whatever else is encoded."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest

from memories.embedding.minilm import MiniLM

encoder = cache(MiniLM)  # that of the process remembers what other tests said
TEXTS = ["Peanuts make my throat swell.", "I moved to Edinburgh in March", "ok", "the hub " * 200]


def test_vectors_have_the_promised_length() -> None:
    vectors = encoder().encode(TEXTS)
    assert vectors.shape == (4, encoder().dimensions)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(4), abs=1e-5)


def test_a_text_that_means_the_same_is_nearer() -> None:
    asked, same, other = encoder().encode(
        ["am I allergic to anything?", "Peanuts make my throat swell.", "The bus leaves at nine."]
    )
    assert asked @ same > asked @ other + 0.1


def test_the_vector_of_a_text_depends_on_that_text_alone() -> None:
    alone = encoder().encode(TEXTS[:1])[0]
    among_others = encoder().encode(TEXTS)[0]
    assert np.array_equal(alone, among_others)


def test_threads_change_no_vector() -> None:
    many = [f"{number} {text}" for number in range(4) for text in TEXTS]
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(lambda text: encoder().encode([text])[0], many))
    assert np.array_equal(np.array(at_once), MiniLM(threads=2).encode(many))


@pytest.mark.parametrize(
    "text", ["", " ", "🦆🦆🦆", "\u202e", "a" * 100_000], ids=["empty", "space", "emoji", "mark", "long"]
)
def test_any_text_has_a_vector(text: str) -> None:
    assert np.linalg.norm(encoder().encode([text])[0]) == pytest.approx(1.0, abs=1e-5)


def test_no_texts_give_no_vectors() -> None:
    assert encoder().encode([]).shape == (0, encoder().dimensions)
