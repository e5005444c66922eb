"""Word pieces that mark a memory as a question, as speaking of its speaker, or as saying when. Pure.

Recall sees thousands of texts for each question and loads none of them: their stored pieces say all it needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memories.embedding.base import TokenVectors
from memories.recall.words_en import FIRST_PERSON, TIME_WORDS

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Markers:
    """For each piece id, whether it marks a question, the first person, or a time."""

    question: Flags
    first_person: Flags
    time: Flags


def markers(vectors: TokenVectors) -> Markers:
    """The markers in this vocabulary."""
    size = len(vectors.weights)

    def flags(pieces: Iterable[str]) -> Flags:
        marked = np.zeros(size, np.bool_)
        marked[[found for piece in pieces if (found := vectors.id_of(piece)) is not None]] = True
        return marked

    return Markers(flags(["?"]), flags(FIRST_PERSON), flags(TIME_WORDS))
