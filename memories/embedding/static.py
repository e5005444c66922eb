"""The bundled static token vectors: 29.5 thousand word pieces x 256 dimensions, for late interaction.

The length of a piece's vector carries its SIF weight a / (a + p), p its frequency in general English, so late
interaction needs no statistics of anybody's documents (models/static-minilm-256-int8/README.md).
"""

from __future__ import annotations

import os

import numpy as np
from safetensors.numpy import load_file

from memories.embedding.base import Floats, PieceIds
from memories.embedding.bundled import STATIC

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from tokenizers import Tokenizer

MAX_PIECES = 512


class StaticVectors:
    """Loads on construction (about 0.1 s, 30 MB); everything may then be called from any thread."""

    def __init__(self) -> None:
        stored = load_file(STATIC.file("model.safetensors"))["embeddings"].astype(np.float32)
        self.weights: Floats = np.linalg.norm(stored, axis=1)
        self.directions: Floats = stored / np.maximum(self.weights, 1e-6)[:, None]
        self._tokenizer = Tokenizer.from_file(str(STATIC.file("tokenizer.json")))
        self._tokenizer.enable_truncation(MAX_PIECES)
        self._tokenizer.no_padding()
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
