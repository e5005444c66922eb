"""Texts to vectors: a contextual encoder for meaning, static token vectors for late interaction.

A process loads each model once, on first use.
"""

from __future__ import annotations

import threading

from django.conf import settings

from memories.embedding.base import (
    Encoder,
    Floats,
    PieceIds,
    TokenVectors,
    dequantize,
    dequantize_many,
    pack_pieces,
    quantize,
    unpack_pieces,
)
from memories.embedding.encoders import MiniLM, StaticVectors

_loading = threading.Lock()
_encoder: Encoder | None = None
_token_vectors: TokenVectors | None = None


def encoder() -> Encoder:
    """The encoder of this process. `MEMORYHUB_ENCODER_THREADS` sets the cores for many texts at once."""
    global _encoder  # noqa: PLW0603 - one model for each process
    if _encoder is None:
        with _loading:
            if _encoder is None:
                _encoder = MiniLM(threads=settings.MEMORYHUB_ENCODER_THREADS)
    return _encoder


def encoder_name() -> str:
    """The name of the encoder of this process, without loading it."""
    return MiniLM.name


def token_vectors() -> TokenVectors:
    """The static token vectors of this process."""
    global _token_vectors  # noqa: PLW0603 - one model for each process
    if _token_vectors is None:
        with _loading:
            if _token_vectors is None:
                _token_vectors = StaticVectors()
    return _token_vectors


__all__ = [
    "Encoder",
    "Floats",
    "PieceIds",
    "TokenVectors",
    "dequantize",
    "dequantize_many",
    "encoder",
    "encoder_name",
    "pack_pieces",
    "quantize",
    "token_vectors",
    "unpack_pieces",
]
