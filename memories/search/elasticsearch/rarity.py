"""What a word is worth in a lexical match: from how rare it is in general English and how long the text is.

Invariant: nothing here looks at a stored memory, so no weight moves when anybody stores one (ADR 8). Rarity comes from
the bundled token vectors, whose length carries the frequency of a piece.
"""

from __future__ import annotations

import math
import re

from memories.embedding import token_vectors

# The share of BM25 that is left when a word counts once in a text: k1 and b as on the embedded plane, and a length that
# stands for an average memory (words).
K1, B = 1.2, 0.3
AVERAGE_WORDS = 14.0
_WORD = re.compile(r"\w+")
# Lengths of the token vectors: "the" 66, "work" 87, "dog" 118, "harbour" 193; at most 254.
_USUAL_LENGTH = 100.0
_UNKNOWN_WORD = 3.0


def rarity(term: str) -> float:
    """A positive weight, growing with how seldom the word is used."""
    pieces = token_vectors().piece_ids(term)
    if not len(pieces):
        return _UNKNOWN_WORD
    # A word of several pieces is rarer than each of them.
    return float(token_vectors().weights[pieces].sum()) / _USUAL_LENGTH / math.sqrt(len(pieces))


def brevity(text: str) -> float:
    """The factor by which a match in `text` counts, above 1 for texts that are shorter than the average."""
    words = len(_WORD.findall(text))
    return (K1 + 1.0) / (1.0 + K1 * (1.0 - B + B * words / AVERAGE_WORDS))
