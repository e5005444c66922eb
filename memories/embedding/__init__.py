"""Text embeddings: a contextual encoder for meaning, and static token vectors for late interaction.

The encoder of this installation is the bundled one, or a model at an endpoint (`MEMORYHUB_EMBEDDING_MODEL`); the
bundled one takes its place where that does not answer. A process loads each model on first use and keeps it.
"""

from __future__ import annotations

import functools

from django.conf import settings

from memories.constants import EMBEDDING_DIMENSIONS
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
from memories.embedding.endpoint import EmbeddingEndpoint

# Of an endpoint that OPENAI_BASE_URL leaves open.
_OPENAI = "https://api.openai.com/v1"


def encoder() -> Encoder:
    """Return the encoder of this installation."""
    return embedding_endpoint() or bundled_encoder()


def encoder_name() -> str:
    """Return the name of the installation's encoder without loading it."""
    remote = embedding_endpoint()
    return bundled_encoder_name() if remote is None else remote.name


def bundled_encoder_name() -> str:
    """Return the name of the bundled encoder without loading it."""
    return MiniLM.name


def encoder_dimensions() -> int:
    """Return the length of the vectors of the installation's encoder without loading it."""
    remote = embedding_endpoint()
    return EMBEDDING_DIMENSIONS if remote is None else remote.dimensions


@functools.cache
def bundled_encoder() -> Encoder:
    """Return the bundled encoder. `MEMORYHUB_ENCODER_THREADS` sets the threads for encoding many texts at once."""
    return MiniLM(threads=settings.MEMORYHUB_ENCODER_THREADS)


def embedding_endpoint() -> EmbeddingEndpoint | None:
    """Return the client of the configured model, or None if the bundled encoder is used."""
    if not settings.MEMORYHUB_EMBEDDING_MODEL:
        return None
    # The key of one endpoint must not be sent to another.
    elsewhere = bool(settings.MEMORYHUB_EMBEDDING_URL)
    return _endpoint(
        settings.MEMORYHUB_EMBEDDING_MODEL,
        settings.MEMORYHUB_EMBEDDING_URL or settings.OPENAI_BASE_URL or _OPENAI,
        settings.MEMORYHUB_EMBEDDING_KEY or ("" if elsewhere else settings.OPENAI_API_KEY),
        settings.MEMORYHUB_EMBEDDING_DIMENSIONS,
    )


@functools.lru_cache(maxsize=4)
def _endpoint(model: str, url: str, key: str, dimensions: int) -> EmbeddingEndpoint:
    return EmbeddingEndpoint(model=model, url=url, key=key, dimensions=dimensions)


@functools.cache
def token_vectors() -> TokenVectors:
    """Return the process's static token vectors."""
    return StaticVectors()


__all__ = [
    "EmbeddingEndpoint",
    "Encoder",
    "Floats",
    "TokenVectors",
    "bundled_encoder",
    "bundled_encoder_name",
    "dequantize",
    "dequantize_many",
    "embedding_endpoint",
    "encoder",
    "encoder_dimensions",
    "encoder_name",
    "pack_pieces",
    "quantize",
    "token_vectors",
]
