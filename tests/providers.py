"""Answers of providers' endpoints, for `openai_server`: vectors of texts, and relevance of documents."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pytest_django import Settings

from tests.openai_server import KEY, Made, OpenAIServer, Raw

DIMENSIONS = 24
MODEL = "vectors-of-a-provider"
NAME = f"{MODEL}:{DIMENSIONS}"


def vector_of(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A vector that is near those of texts with the same words."""
    vector = np.zeros(dimensions)
    for word in re.findall(r"\w+", text.lower()):
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4])
        vector += np.random.default_rng(seed).standard_normal(dimensions)
    return [float(value) for value in vector] if vector.any() else [1.0] * dimensions


def as_json(value: Any) -> Raw:
    return Raw(json.dumps(value).encode(), "application/json")


def vectors(dimensions: int = DIMENSIONS, *, backwards: bool = False) -> Made:
    """The vectors of the texts of a request."""

    def make(request: dict[str, Any]) -> Raw:
        data = [
            {"object": "embedding", "index": index, "embedding": vector_of(text, dimensions)}
            for index, text in enumerate(request["input"])
        ]
        used = {"prompt_tokens": 7 * len(data), "total_tokens": 7 * len(data)}
        return as_json({"object": "list", "data": data[::-1] if backwards else data, "model": MODEL, "usage": used})

    return Made(make)


def embed_with(settings: Settings, server: OpenAIServer, model: str = MODEL, dimensions: int = DIMENSIONS) -> None:
    """Make the server's model the encoder of this installation."""
    settings.MEMORYHUB_EMBEDDING_MODEL = model
    settings.MEMORYHUB_EMBEDDING_DIMENSIONS = dimensions
    settings.MEMORYHUB_EMBEDDING_URL = server.base_url
    settings.MEMORYHUB_EMBEDDING_KEY = KEY


def inputs(server: OpenAIServer) -> Sequence[list[str]]:
    """The texts of each request."""
    return [request["input"] for request in server.requests]


def relevance(of: Callable[[str], float]) -> Made:
    """The relevance of the documents of a request, most relevant first, as Jina and Cohere answer."""

    def make(request: dict[str, Any]) -> Raw:
        results = [{"index": place, "relevance_score": of(text)} for place, text in enumerate(request["documents"])]
        results.sort(key=lambda each: -each["relevance_score"])
        return as_json({"model": request["model"], "results": results, "usage": {"total_tokens": 11}})

    return Made(make)
