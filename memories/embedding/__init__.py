"""Text embeddings: a contextual encoder for meaning, and static token vectors for late interaction.

A process loads each model on first use and keeps it.
"""

from __future__ import annotations

import functools

from django.conf import settings

from memories.embedding.base import (
    Encoder,
    Floats,
    TokenVectors,
    dequantize,
    dequantize_many,
    pack_pieces,
    quantize,
)
from memories.embedding.encoders import MiniLM, StaticVectors


@functools.cache
def encoder() -> Encoder:
    """Return the process's encoder. `MEMORYHUB_ENCODER_THREADS` sets the threads for encoding many texts at once."""
    return MiniLM(threads=settings.MEMORYHUB_ENCODER_THREADS)


def encoder_name() -> str:
    """Return the name of the process's encoder without loading it."""
    return MiniLM.name


@functools.cache
def token_vectors() -> TokenVectors:
    """Return the process's static token vectors."""
    return StaticVectors()


__all__ = [
    "Encoder",
    "Floats",
    "TokenVectors",
    "dequantize",
    "dequantize_many",
    "encoder",
    "encoder_name",
    "pack_pieces",
    "quantize",
    "token_vectors",
]
