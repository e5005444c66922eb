"""Texts to vectors: a contextual encoder for meaning, static token vectors for late interaction.

A process loads each model on first use and keeps it.
"""

from __future__ import annotations

import functools

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


@functools.cache
def encoder() -> Encoder:
    """The encoder of this process. `MEMORYHUB_ENCODER_THREADS` sets the cores for many texts at once."""
    return MiniLM(threads=settings.MEMORYHUB_ENCODER_THREADS)


def encoder_name() -> str:
    """The name of the encoder of this process, without loading it."""
    return MiniLM.name


@functools.cache
def token_vectors() -> TokenVectors:
    """The static token vectors of this process."""
    return StaticVectors()


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
