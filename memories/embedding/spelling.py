"""Finds the words that a misspelt word may stand for among the whole words of a vocabulary of word pieces. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

# A shorter word has too many words beside it; in words of LONG letters any letter may be wrong, in shorter ones two may
# be swapped, one be missing, or one be too many.
SHORTEST = 4
LONG = 6
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Spelling:
    """The whole words of a vocabulary with the letters they are made of."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._words = [piece for piece in vocabulary if len(piece) >= SHORTEST and set(piece) <= set(_LETTERS)]
        self._ids = np.array([vocabulary[word] for word in self._words], np.intp)
        self._counts = np.array([_counts(word) for word in self._words], np.int8).reshape(-1, len(_LETTERS))

    def meant_by(self, word: str) -> NDArray[np.intp]:
        """Return the ids of the words that are one slip away from `word`."""
        if len(word) < SHORTEST or not set(word) <= set(_LETTERS):
            return np.array([], np.intp)
        apart = np.abs(self._counts - _counts(word)).sum(axis=1)
        near = np.flatnonzero(apart <= 1 + (len(word) >= LONG))
        return self._ids[[place for place in near.tolist() if one_slip(word, self._words[place])]]


def one_slip(word: str, other: str) -> bool:
    """True if one letter was added, left out or (in long words) replaced, or two neighbours were swapped."""
    shared = min(len(word), len(other))
    start = next((place for place in range(shared) if word[place] != other[place]), shared)
    rest, meant = word[start:], other[start:]
    if rest and meant and rest[1:] == meant[1:]:
        return len(word) >= LONG
    swapped = rest[:2] == meant[1::-1] and rest[2:] == meant[2:]
    return rest[1:] == meant or rest == meant[1:] or swapped


def _counts(word: str) -> NDArray[np.int8]:
    return np.array([word.count(letter) for letter in _LETTERS], np.int8)
