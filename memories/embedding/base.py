"""Protocols of the two encoders, storage of their vectors, and the bundled model files.

A stored vector is L2-normalised, with one signed byte per dimension (x 127). A model file
is used only if its SHA-256 matches the committed one, so a truncated or replaced file raises an error instead of
producing other vectors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memories.constants import EMBEDDING_DIMENSIONS, VECTOR_SCALE

Floats = NDArray[np.float32]
PieceIds = NDArray[np.uint16]

# Little endian on every machine, because an index folder or database may be moved.
_STORED_VECTOR = np.dtype("int8")
_STORED_PIECES = np.dtype("<u2")


class Encoder(Protocol):
    """Maps texts to vectors whose dot product measures similarity of meaning."""

    @property
    def name(self) -> str:
        """The model's name, stored with each vector; vectors of another model are re-encoded."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        ...

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return unit vectors of `texts`, shape (n, dimensions). Thread-safe."""
        ...


class TokenVectors(Protocol):
    """Word pieces with one context-independent vector each."""

    @property
    def directions(self) -> Floats:
        """Unit vectors by piece id, shape (pieces, dimensions); zero for a piece without meaning."""
        ...

    @property
    def weights(self) -> Floats:
        """The length of each piece's vector by piece id; small for frequent pieces."""
        ...

    @property
    def plain_forms(self) -> NDArray[np.intp]:
        """By piece id, the id of its plain form ("works", "working": "work"), or its own id."""
        ...

    @property
    def continues(self) -> NDArray[np.bool_]:
        """By piece id, whether the piece goes on with the word of the piece before it ("##ing")."""
        ...

    def piece_ids(self, text: str) -> PieceIds:
        """Return the piece ids of `text` in order, omitting unknown pieces."""
        ...

    def id_of(self, piece: str) -> int | None:
        """Return the id of a piece, or None if it is unknown."""
        ...

    def meant_by(self, word: str) -> NDArray[np.intp]:
        """Return the ids of the whole words that a misspelt word may stand for."""
        ...


def quantize(vector: Floats) -> bytes:
    """Encode one vector, or several row by row, as signed bytes."""
    stored: bytes = np.rint(np.clip(vector, -1.0, 1.0) * VECTOR_SCALE).astype(_STORED_VECTOR).tobytes()
    return stored


def dequantize(stored: bytes) -> Floats:
    """Decode one stored vector to float32, shape (dimensions,)."""
    vector: Floats = dequantize_many([stored])[0]
    return vector


def dequantize_many(stored: Sequence[bytes]) -> Floats:
    """Decode stored vectors of one encoder, and thus of one length, to float32, shape (n, dimensions)."""
    dimensions = len(stored[0]) if stored else EMBEDDING_DIMENSIONS
    matrix = np.frombuffer(b"".join(stored), _STORED_VECTOR).reshape(len(stored), dimensions)
    return matrix * np.float32(1.0 / VECTOR_SCALE)


def pack_pieces(ids: PieceIds) -> bytes:
    """Encode piece ids with two bytes each."""
    return ids.astype(_STORED_PIECES).tobytes()


MODELS_DIR = Path(__file__).resolve().parent / "models"


class ModelDamaged(RuntimeError):
    """A bundled model file is missing or differs from the committed one."""


@dataclass(frozen=True, slots=True)
class BundledModel:
    """A folder under `models/` with the SHA-256 of each file loaded from it."""

    name: str
    digests: tuple[tuple[str, str], ...]

    @property
    def folder(self) -> Path:
        """The folder of the files."""
        return MODELS_DIR / self.name

    def file(self, name: str) -> Path:
        """Return the path of a file after verifying its digest. Raises ModelDamaged."""
        path = self.folder / name
        try:
            with path.open("rb") as opened:
                found = hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError as error:
            raise ModelDamaged(f"{self.name}/{name} cannot be read; check out the repository again.") from error
        if found != dict(self.digests)[name]:
            raise ModelDamaged(f"{self.name}/{name} is not whole; check out the repository again.")
        return path


MINILM = BundledModel(
    "minilm-l6-memory-int8-onnx",
    (
        ("model.onnx", "d69cc4419105f312e0eb8200cdfa0b0b35b126c9090348b15e4f43adae531a7e"),
        ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
    ),
)
STATIC = BundledModel(
    "static-minilm-256-int8",
    (
        ("model.safetensors", "3743a021379a3c56f39938deac6fe306b130db06f5fec5842efdbc42a74482e2"),
        ("tokenizer.json", "dd33465341c98889c3338356b6200c8b232b89af5f1b7aa8e6ee1d4d7a699631"),
    ),
)
