"""The Protocols of the two encoders, and how their vectors are stored.

Invariant: a stored vector is L2-normalised, `EMBEDDING_DIMENSIONS` long, one signed byte for each dimension (x 127).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memories.constants import EMBEDDING_DIMENSIONS, VECTOR_SCALE

Floats = NDArray[np.float32]
PieceIds = NDArray[np.uint16]

# Little endian on every machine: an index folder or a database may move.
_STORED_VECTOR = np.dtype("int8")
_STORED_PIECES = np.dtype("<u2")


class Encoder(Protocol):
    """Texts to vectors whose dot product is a similarity of meaning."""

    @property
    def name(self) -> str:
        """The model, as stored beside each vector: vectors of another model are encoded again."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        ...

    def encode(self, texts: Sequence[str]) -> Floats:
        """Vectors of `texts`, (n, dimensions), each of length 1. Safe to call from several threads."""
        ...


class TokenVectors(Protocol):
    """Word pieces, each with one vector whatever stands around it."""

    @property
    def directions(self) -> Floats:
        """The vectors by piece id, (pieces, dimensions), each of length 1 (or 0 for a piece without meaning)."""
        ...

    @property
    def weights(self) -> Floats:
        """How much a piece says by itself, by piece id: the length of its vector, small for frequent pieces."""
        ...

    @property
    def plain_forms(self) -> NDArray[np.intp]:
        """By piece id the id of its form without -s ("works": "work"), its own where there is none."""
        ...

    def piece_ids(self, text: str) -> PieceIds:
        """The pieces of `text` in order, unknown ones left out."""
        ...

    def id_of(self, piece: str) -> int | None:
        """The id of one piece, None if there is none."""
        ...


def quantize(vector: Floats) -> bytes:
    """A vector (or several, row after row) as signed bytes."""
    stored: bytes = np.rint(np.clip(vector, -1.0, 1.0) * VECTOR_SCALE).astype(_STORED_VECTOR).tobytes()
    return stored


def dequantize(stored: bytes) -> Floats:
    """One stored vector as float32, (dimensions,)."""
    vector: Floats = dequantize_many([stored])[0]
    return vector


def dequantize_many(stored: Sequence[bytes], dimensions: int = EMBEDDING_DIMENSIONS) -> Floats:
    """Stored vectors as float32, (n, dimensions)."""
    matrix = np.frombuffer(b"".join(stored), _STORED_VECTOR).reshape(len(stored), dimensions)
    return matrix * np.float32(1.0 / VECTOR_SCALE)


def pack_pieces(ids: PieceIds) -> bytes:
    """Piece ids as stored: two bytes each."""
    return ids.astype(_STORED_PIECES).tobytes()


def unpack_pieces(stored: bytes) -> PieceIds:
    """Stored piece ids."""
    return np.frombuffer(stored, _STORED_PIECES)
