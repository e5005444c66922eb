"""The bundled static token vectors: 29.5 thousand word pieces x 256 dimensions, for late interaction.

The length of a piece's vector carries its SIF weight a / (a + p), p its frequency in general English, so late
interaction needs no statistics of anybody's documents (models/static-minilm-256-int8/README.md).
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from memories.embedding.base import STATIC, Floats, PieceIds

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from tokenizers import Tokenizer

MAX_PIECES = 512


# A piece and the same without -s count as forms of one word from this cosine on: "works" and "work" have .50, "likes"
# and "like" .39, but "does" and "doe" .36, "customs" and "custom" .22, "news" and "new" .16.
FORM_COSINE = 0.38
_SHORTEST_FORM = 3


def plain_forms(vocabulary: Mapping[str, int], directions: Floats) -> NDArray[np.intp]:
    """By piece id the id of its form without -s, -es or -ies, its own where the vocabulary holds none near it."""
    forms = np.arange(len(directions), dtype=np.intp)
    for piece, id_ in vocabulary.items():
        if not piece.isalpha() or not piece.endswith("s") or piece.endswith("ss"):
            continue
        for plain in (piece[:-1], piece.removesuffix("es"), f"{piece.removesuffix('ies')}y"):
            other = vocabulary.get(plain)
            if other is None or len(plain) < _SHORTEST_FORM:
                continue
            if float(directions[id_] @ directions[other]) >= FORM_COSINE:
                forms[id_] = other
                break
    return forms


class StaticVectors:
    """Loads on construction (about 0.1 s, 30 MB); everything may then be called from any thread."""

    def __init__(self) -> None:
        stored = load_file(STATIC.file("model.safetensors"))["embeddings"].astype(np.float32)
        self.weights: Floats = np.linalg.norm(stored, axis=1)
        self.directions: Floats = stored / np.maximum(self.weights, 1e-6)[:, None]
        self._tokenizer = Tokenizer.from_file(str(STATIC.file("tokenizer.json")))
        self._tokenizer.enable_truncation(MAX_PIECES)
        self._tokenizer.no_padding()
        self.plain_forms = plain_forms(self._tokenizer.get_vocab(), self.directions)
        self._unknown = self._tokenizer.token_to_id("[UNK]")

    def piece_ids(self, text: str) -> PieceIds:
        """The first 512 pieces of `text`, unknown ones left out."""
        ids = np.array(self._tokenizer.encode(text, add_special_tokens=False).ids, np.uint16)
        known: PieceIds = ids[ids != self._unknown]
        return known

    def id_of(self, piece: str) -> int | None:
        """The id of one piece, None if the vocabulary does not hold it."""
        found: int | None = self._tokenizer.token_to_id(piece)
        return found
