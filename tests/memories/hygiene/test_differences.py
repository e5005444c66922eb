"""Two wordings side by side: what differs is marked, and nothing is lost."""

from __future__ import annotations

import pytest

from memories.hygiene.differences import MAX_WORDS, differences


def marked(left: str, right: str) -> tuple[list[str], list[str]]:
    one, other = differences(left, right)
    assert "".join(piece.text for piece in one) == left
    assert "".join(piece.text for piece in other) == right
    return [piece.text for piece in one if piece.differs], [piece.text for piece in other if piece.differs]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        pytest.param("The shed is three wide", "The shed is four wide", (["three"], ["four"]), id="a word"),
        pytest.param("Likes tea.", "likes tea", ([], []), id="case and punctuation"),
        pytest.param("Drinks tea", "Never drinks tea", ([], ["Never"]), id="a word more"),
        pytest.param("  two  spaces ", "two lines\n", (["spaces"], ["lines"]), id="space around"),
        pytest.param("", "something", ([], ["something"]), id="nothing"),
    ],
)
def test_what_differs_is_marked(left: str, right: str, expected: tuple[list[str], list[str]]) -> None:
    assert marked(left, right) == expected


def test_what_is_very_long_is_not_compared() -> None:
    long = "word " * (MAX_WORDS + 1)
    assert marked(long, "word") == ([], [])
