"""Reranking by a model at a Jina- or Cohere-style `/rerank` endpoint (`MEMORYHUB_RERANK_MODEL`).

The endpoint reads the query and the texts of the best candidates, which passed `visible_rows` like all that a recall
loads. Their relevance is added to the sum, weighted, so that a candidate that the endpoint did not read keeps its
score. An endpoint that does not answer in time changes nothing, and the trace says so.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from django.conf import settings

from memories.embedding import Floats
from memories.embedding.endpoint import tokens_of
from memories.recall import adjust
from memories.recall.loading import texts
from memories.recall.pool import Pool
from memories.recall.request import Request
from memories.recall.scoring import Scores
from memoryhub.json_endpoint import EndpointFault, JsonEndpoint, RequestRefused
from tenants.principal import Principal

# The best of the recipe that are read, and the characters of each text; a recall waits this many seconds.
CANDIDATES = 40
MAX_CHARACTERS = 2_000
SECONDS = 2.0
# The greatest relevance counts as much as a cosine of 1 (RECIPE.meaning).
WEIGHT = 1.5
# The name in the trace of a model that the search plane asks.
OF_PLANE = "search plane"


@dataclass(frozen=True, slots=True)
class Relevance:
    """The relevance of each document, 0 to 1, and the tokens that the endpoint counted."""

    values: tuple[float, ...]
    tokens: int


class Reranker(Protocol):
    """Tells how relevant texts are to a query."""

    @property
    def name(self) -> str:
        """The model's name, for the trace."""
        ...

    def relevance(self, query: str, documents: Sequence[str]) -> Relevance:
        """Return the relevance of each document. Raises EndpointFault or RequestRefused."""
        ...


class RerankEndpoint:
    """A model at a `/rerank` endpoint as Jina, Cohere, vLLM and others offer it. Thread-safe."""

    def __init__(self, *, model: str, url: str, key: str) -> None:
        self.name = model
        self._endpoint = JsonEndpoint("rerank", url, key)

    def relevance(self, query: str, documents: Sequence[str]) -> Relevance:
        """Return the relevance of each document. Raises EndpointFault or RequestRefused."""
        body = {"model": self.name, "query": query, "documents": [*documents], "top_n": len(documents)}
        answer = self._endpoint.post("rerank", body, seconds=SECONDS)
        return Relevance(_values(answer, len(documents)), tokens_of(answer))


@dataclass(frozen=True, slots=True)
class Reranked:
    """Scores after reranking. `model` is empty if none is configured; `answered`: it gave an answer."""

    scores: Scores
    model: str = ""
    answered: bool = False
    tokens: int = 0


def reranker() -> Reranker | None:
    """Return the configured reranker, or None."""
    if not settings.MEMORYHUB_RERANK_MODEL:
        return None
    return _endpoint(settings.MEMORYHUB_RERANK_MODEL, settings.MEMORYHUB_RERANK_URL, settings.MEMORYHUB_RERANK_KEY)


def rerank(
    principal: Principal, request: Request, pool: Pool, scores: Scores, by_plane: Mapping[str, float]
) -> Reranked:
    """Add the relevance of the best candidates of the wanted kinds to their scores. Raises nothing of the endpoint.

    `by_plane` is the relevance that the search plane's own reranker gave, by hex id; then no endpoint is asked.
    """
    if by_plane:
        values = np.array([by_plane.get(row.id, 0.0) for row in pool.rows], np.float32)
        return Reranked(_with(scores, values), OF_PLANE, answered=True)
    model = reranker()
    if model is None:
        return Reranked(scores)
    best = [index for index in np.argsort(-scores.final, kind="stable") if pool.rows[index].kind in request.kinds]
    best = best[:CANDIDATES]
    rows = texts(principal, request, [(pool.rows[index].kind, pool.rows[index].id) for index in best])
    read = [index for index in best if pool.rows[index].id in rows]
    if not read:
        return Reranked(scores, model.name)
    documents = [rows[pool.rows[index].id].searchable_text[:MAX_CHARACTERS] for index in read]
    try:
        found = model.relevance(request.query[:MAX_CHARACTERS], documents)
    except (EndpointFault, RequestRefused):
        return Reranked(scores, model.name)
    relevance = np.zeros(len(pool), np.float32)
    relevance[read] = found.values
    return Reranked(_with(scores, relevance), model.name, answered=True, tokens=found.tokens)


def _with(scores: Scores, relevance: Floats) -> Scores:
    part = np.asarray(WEIGHT * relevance, np.float32)
    fused = scores.fused + part
    return replace(
        scores,
        fused=fused,
        final=adjust.apply(fused, scores.factor),
        signals=scores.signals | {"relevance": part},
        added=scores.added | {"relevance": part},
    )


@functools.lru_cache(maxsize=4)
def _endpoint(model: str, url: str, key: str) -> RerankEndpoint:
    return RerankEndpoint(model=model, url=url, key=key)


def _values(answer: Any, count: int) -> tuple[float, ...]:
    """The relevance by document; 0 where the endpoint left one out. Raises EndpointFault for any other shape."""
    values = [0.0] * count
    try:
        for each in answer["results"]:
            index, value = each["index"], float(each["relevance_score"])
            if not (isinstance(index, int) and 0 <= index < count and math.isfinite(value)):
                raise EndpointFault("no relevance")
            values[index] = min(max(value, 0.0), 1.0)
    except (KeyError, TypeError, ValueError):
        raise EndpointFault("no relevance") from None
    return tuple(values)
