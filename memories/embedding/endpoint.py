"""The encoder at an OpenAI-compatible `/embeddings` endpoint.

A text that the endpoint refuses is sent again by itself, then in halves of its length, because the context of models
differs. The queries of one member are cached for that member alone: a query answered faster because somebody else
asked it would tell what others ask.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memories.embedding.base import Floats
from memoryhub.json_endpoint import EndpointFault, JsonEndpoint, RequestRefused
from memoryhub.observability import tracing

# Texts and characters of one request. OpenAI takes 8,192 tokens of a text and 300,000 of a request.
MAX_TEXTS, MAX_REQUEST_CHARACTERS = 64, 120_000
MAX_CHARACTERS = 6_000
_SHORTEST = 200
# Seconds: a recall waits for a query and the few texts that were just written, a job for a batch.
QUERY_SECONDS, BATCH_SECONDS = 2.0, 60.0
BATCH_RETRIES = 3
CACHED_QUERIES = 2_048
_MAX_NAME = 80  # characters of MemoryRow.embedding_model


@dataclass(frozen=True, slots=True)
class Embedded:
    """Unit vectors, shape (n, dimensions), and the tokens that the endpoint counted."""

    vectors: Floats
    tokens: int


class EmbeddingEndpoint:
    """An Encoder whose model answers over HTTP. Thread-safe. Its methods raise EndpointFault.

    `encode` takes its time and retries; `embed_now` is for those who wait.
    """

    def __init__(self, *, model: str, url: str, key: str, dimensions: int) -> None:
        self.name = _name_of(model, dimensions)
        self.dimensions = dimensions
        self._model = model
        self._endpoint = JsonEndpoint("embeddings", url, key)
        self._takes_dimensions = True
        self._cached: OrderedDict[Hashable, Floats] = OrderedDict()
        self._caching = threading.Lock()

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return unit vectors of `texts`, shape (n, dimensions). Raises EndpointFault or RequestRefused."""
        return self.embed(texts).vectors

    def embed(self, texts: Sequence[str], *, seconds: float = BATCH_SECONDS, retries: int = BATCH_RETRIES) -> Embedded:
        """Encode in as few requests as the limits allow. Raises EndpointFault or RequestRefused."""
        with tracing.span("encode", texts=len(texts)) as span:
            parts = [self._part(part, seconds, retries) for part in _parts([text[:MAX_CHARACTERS] for text in texts])]
            tokens = sum(part.tokens for part in parts)
            span.note(tokens=tokens)
            empty = np.zeros((0, self.dimensions), np.float32)
            return Embedded(np.concatenate([empty, *(part.vectors for part in parts)]), tokens)

    def embed_now(self, texts: Sequence[str]) -> Embedded:
        """Encode for somebody who waits: quickly or not at all."""
        return self.embed(texts, seconds=QUERY_SECONDS, retries=0)

    def query(self, text: str, asker: Hashable) -> Embedded:
        """The vector of a query, shape (1, dimensions); cached for `asker`."""
        known = self._cached.get((asker, text))
        if known is not None:
            return Embedded(known, 0)
        made = self.embed_now([text])
        with self._caching:
            self._cached[asker, text] = made.vectors
            while len(self._cached) > CACHED_QUERIES:
                self._cached.popitem(last=False)
        return made

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def _part(self, texts: Sequence[str], seconds: float, retries: int) -> Embedded:
        try:
            return self._asked(texts, seconds, retries)
        except RequestRefused:
            if len(texts) > 1:
                halves = texts[: len(texts) // 2], texts[len(texts) // 2 :]
            elif len(texts[0]) > _SHORTEST:
                return self._part([texts[0][: len(texts[0]) // 2]], seconds, retries)
            else:
                raise
        first, second = (self._part(half, seconds, retries) for half in halves)
        return Embedded(np.concatenate([first.vectors, second.vectors]), first.tokens + second.tokens)

    def _asked(self, texts: Sequence[str], seconds: float, retries: int) -> Embedded:
        # An empty input is refused by some endpoints.
        body = {"model": self._model, "input": [text.strip() or "-" for text in texts], "encoding_format": "float"}
        if self._takes_dimensions:
            try:
                answer = self._endpoint.post(
                    "embeddings", body | {"dimensions": self.dimensions}, seconds=seconds, retries=retries
                )
                return self._checked(answer, len(texts))
            except RequestRefused as refused:
                # Models whose vectors have one length refuse the parameter and name it.
                if not any(word in refused.said.lower() for word in ("dimension", "matryoshka")):
                    raise
                self._takes_dimensions = False
        return self._checked(self._endpoint.post("embeddings", body, seconds=seconds, retries=retries), len(texts))

    def _checked(self, answer: Any, count: int) -> Embedded:
        """The vectors in the order of the texts. Raises EndpointFault for any other shape."""
        try:
            data = sorted(answer["data"], key=lambda each: each["index"])
            if [each["index"] for each in data] != list(range(count)):
                raise EndpointFault("another number of vectors")
            lengths = {len(each["embedding"]) for each in data}
            if lengths != {self.dimensions}:
                length = next(iter(lengths - {self.dimensions}))
                raise EndpointFault(
                    f"vectors of {length} numbers, where MEMORYHUB_EMBEDDING_DIMENSIONS says {self.dimensions}",
                    may_pass=False,
                )
            vectors = np.array([each["embedding"] for each in data], np.float32)
            norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        except (KeyError, TypeError, ValueError, IndexError):
            raise EndpointFault("no vectors") from None
        if not np.isfinite(norms).all() or not norms.all():
            raise EndpointFault("vectors without a direction")
        return Embedded(vectors / norms, tokens_of(answer))


def tokens_of(answer: Mapping[str, Any]) -> int:
    """The tokens that an answer's `usage` counts, or 0."""
    usage = answer.get("usage")
    told = usage.get("total_tokens", usage.get("prompt_tokens")) if isinstance(usage, dict) else 0
    return told if isinstance(told, int) and told > 0 else 0


def _name_of(model: str, dimensions: int) -> str:
    """The name that is stored with each vector; vectors of another length are those of another model."""
    name = f"{model}:{dimensions}"
    if len(name) <= _MAX_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{name[: _MAX_NAME - len(digest) - 1]}-{digest}"


def _parts(texts: Sequence[str]) -> list[list[str]]:
    parts: list[list[str]] = []
    characters = 0
    for text in texts:
        if not parts or len(parts[-1]) == MAX_TEXTS or characters + len(text) > MAX_REQUEST_CHARACTERS:
            parts.append([])
            characters = 0
        parts[-1].append(text)
        characters += len(text)
    return parts
