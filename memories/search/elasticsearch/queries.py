"""The sub-queries of a recall as bodies of one `_msearch`, and the logical index (`index_name`) of a memory. Pure.

A memory is in the index of its kind or in the archive. If its kind can be archived, the other of the two holds a
tombstone with the version in which it left, so a late delivery of an older state is rejected there as well.

Own and shared memories are searched by separate sub-queries, because shared memories could otherwise crowd out the
member's own. No order depends on other owners' documents: scores come from the query and the document, vectors are
compared exactly, and ties are broken by id. A word is weighted by its rarity in general English, from the lengths of
the bundled token vectors, times a factor for short texts (ADR 8).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.conf import settings

from memories.attributes.evaluation import exact_tokens, token_range
from memories.attributes.filters import RANGES
from memories.embedding import bundled_encoder_name, encoder_name, token_vectors
from memories.search.base import Tombstone
from memories.types import CURRENT, CandidateRequest, Filter, Junction, Kind, Negation, Scope, SearchDocument, Status
from memories.words import is_unspaced
from memoryhub.elasticsearch import reading_alias
from memoryhub.env.values import ARCHIVE, INDEX_NAMES
from tenants.principal import Principal

__all__ = ["ARCHIVABLE", "ARCHIVE", "INDEX_NAMES", "index_name_of", "index_names_of", "leaving"]


ARCHIVABLE = (Kind.SEMANTIC, Kind.PROCEDURAL)
# A new memory cannot be in any other index.
_FIRST_VERSION = 1


def index_name_of(document: SearchDocument) -> str:
    """Return the logical index of a document."""
    return ARCHIVE if document.archived else document.kind.value


def index_names_of(kind: Kind) -> tuple[str, ...]:
    """Return the logical indices that may contain a memory of this kind."""
    return (kind.value, ARCHIVE) if kind in ARCHIVABLE else (kind.value,)


def leaving(document: SearchDocument) -> list[tuple[str, Tombstone]]:
    """Return the tombstones for the index that the document may have been in before."""
    if document.version <= _FIRST_VERSION and not document.archived:
        return []
    tombstone = Tombstone(document.kind, document.id, document.version)
    return [
        (index_name, tombstone) for index_name in index_names_of(document.kind) if index_name != index_name_of(document)
    ]


# Parameters of BM25's factor for a term that occurs once: k1 and b as on the embedded plane, and the average length of
# a memory in words.
K1, B = 1.2, 0.3
AVERAGE_WORDS = 14.0
_WORD = re.compile(r"\w+")
# Lengths of token vectors: "the" 66, "work" 87, "dog" 118, "harbour" 193; at most 254.
_USUAL_LENGTH = 100.0
_UNKNOWN_WORD = 3.0


def rarity(term: str) -> float:
    """Return a positive weight that grows with the rarity of the word."""
    pieces = token_vectors().piece_ids(term)
    if not len(pieces):
        return _UNKNOWN_WORD
    # A word of several pieces is rarer than each of them.
    return float(token_vectors().weights[pieces].sum()) / _USUAL_LENGTH / math.sqrt(len(pieces))


def brevity(text: str) -> float:
    """Return the BM25 length factor of a text, above 1 if it is shorter than average."""
    words = len(_WORD.findall(text))
    return (K1 + 1.0) / (1.0 + K1 * (1.0 - B + B * words / AVERAGE_WORDS))


VECTOR = "vector"
# The field that the cluster fills with vectors of its own model (`semantic_text`), if one is configured.
SEMANTIC = "semantic"
# Of the reference design: reciprocal rank fusion of the best 80 by words and by meaning.
RANK_CONSTANT, RANK_WINDOW = 30, 80
MAX_INFERENCE_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class ElasticInference:
    """The ids of two inference endpoints of the cluster: of embeddings, and of a reranker."""

    embedding: str
    reranker: str


def elastic_inference() -> ElasticInference | None:
    """Return the configured endpoints, or None."""
    named = settings.MEMORYHUB_ELASTIC_INFERENCE
    return ElasticInference(*named) if named else None


def vector_field(encoder: str) -> str:
    """Return the field of an encoder's vectors, so that a vector is never compared with one of another model."""
    if encoder == bundled_encoder_name():
        return VECTOR
    return f"{VECTOR}_{hashlib.sha256(encoder.encode()).hexdigest()[:12]}"


# Twice as many vectors as are returned are rescored in full precision.
OVERSAMPLE = 2.0
# The rarest terms of a query are searched; the query parser limits them, too.
MAX_TERMS = 64


class By(StrEnum):
    """The method of a sub-query."""

    RELEVANCE = "relevance"
    WORDS = "words"
    MEANING = "meaning"
    ID = "id"


@dataclass(frozen=True, slots=True)
class SubQuery:
    """One search: kind, logical index, method, and its two lines of the `_msearch`."""

    kind: Kind
    index_name: str
    by: By
    header: dict[str, Any]
    body: dict[str, Any]


def sub_queries(
    principal: Principal, request: CandidateRequest, inference: ElasticInference | None = None
) -> list[SubQuery]:
    """Return all sub-queries of a request, omitting those that cannot match anything.

    With `inference`, words and meaning are one sub-query each of the cluster's own models.
    """
    words = _words(request.terms)
    vector = request.vector() if request.vector is not None and inference is None else None
    field = vector_field(request.encoder() if vector is not None and request.encoder else encoder_name())
    made: list[SubQuery] = []
    for kind, index_name in _searched(request):
        header = _header(index_name)
        for whose in _owners(principal, kind):
            filters = [*whose, *_states(request), *([matching(request.filters)] if request.filters else [])]
            if index_name == ARCHIVE:
                filters.append({"term": {"kind": kind.value}})
            if inference is not None and request.text.strip():
                body = _by_relevance(inference, request.text, words, filters, request.per_sub_query)
                made.append(SubQuery(kind, index_name, By.RELEVANCE, header, body))
                continue
            if words:
                body = _by_words(words, filters, request.per_sub_query)
                made.append(SubQuery(kind, index_name, By.WORDS, header, body))
            if vector is not None:
                body = _by_meaning(field, vector, filters, request.per_sub_query)
                made.append(SubQuery(kind, index_name, By.MEANING, header, body))
    return made


def sub_queries_for_one(principal: Principal, kind: Kind, memory_id: UUID) -> list[SubQuery]:
    """Return the sub-queries that find one memory by id, one per index that may contain it."""
    whose = [{"bool": {"filter": filters}} for filters in _owners(principal, kind)]
    one = {"ids": {"values": [str(memory_id)]}}
    made: list[SubQuery] = []
    for index_name in index_names_of(kind):
        filters = [one, {"bool": {"should": whose, "minimum_should_match": 1}}]
        if index_name == ARCHIVE:
            filters.append({"term": {"kind": kind.value}})
        body = {
            "size": 1,
            "version": True,
            "_source": ["status", "task", "text"],
            "track_total_hits": False,
            "query": {"bool": {"filter": filters}},
        }
        made.append(SubQuery(kind, index_name, By.ID, _header(index_name), body))
    return made


def _header(index_name: str) -> dict[str, Any]:
    """Return the header of a sub-query, which fails as a whole if one shard fails."""
    return {"index": reading_alias(index_name), "request_cache": False, "allow_partial_search_results": False}


def _searched(request: CandidateRequest) -> Iterator[tuple[Kind, str]]:
    """Yield the logical indices of each kind; the archive holds superseded memories only."""
    for kind in request.kinds:
        yield kind, kind.value
        if request.include_superseded and kind in ARCHIVABLE:
            yield kind, ARCHIVE


def _owners(principal: Principal, kind: Kind) -> Iterator[list[dict[str, Any]]]:
    """Yield the owner filters for this kind: catalog entries are always shared, episodes and items never."""
    tenant = {"term": {"tenant": str(principal.tenant_id)}}
    if kind is not Kind.CATALOG:
        yield [_visible(Scope.USER), tenant, {"term": {"user": str(principal.user_id)}}]
    if kind not in (Kind.EPISODIC, Kind.ITEM):
        ours = {"bool": {"filter": [_visible(Scope.TENANT), tenant]}}
        yield [{"bool": {"should": [ours, _visible(Scope.GLOBAL)], "minimum_should_match": 1}}]


def _visible(scope: Scope) -> dict[str, Any]:
    return {"term": {"visibility": scope.value}}


def _states(request: CandidateRequest) -> list[dict[str, Any]]:
    states = [*CURRENT, Status.SUPERSEDED] if request.include_superseded else [*CURRENT]
    tasks = ["", request.task] if request.task else [""]
    return [{"terms": {"status": [state.value for state in states]}}, {"terms": {"task": tasks}}]


def matching(filters: Filter) -> dict[str, Any]:
    """Return the query for what a filter matches. It is only added to the filters of the owner."""
    match filters:
        case Negation():
            return {"bool": {"must_not": [matching(filters.part)]}}
        case Junction(every=True):
            return {"bool": {"filter": [matching(part) for part in filters.parts]}}
        case Junction():
            return {"bool": {"should": [matching(part) for part in filters.parts], "minimum_should_match": 1}}
    if filters.operator in RANGES:
        lower, first, upper, last = token_range(filters)
        return {"range": {"tokens": {lower: first, upper: last}}}
    return {"terms": {"tokens": list(exact_tokens(filters))}}


def _words(terms: Sequence[str]) -> list[dict[str, Any]]:
    """Return a clause per word. With the mapping's similarity its score equals the boost, whatever else is stored."""
    weighed = sorted(((rarity(term), term) for term in terms if term.strip()), reverse=True)
    return [
        {"match": {"pairs" if is_unspaced(term) else "text": {"query": term, "boost": weight, **_whole(term)}}}
        for weight, term in weighed[:MAX_TERMS]
    ]


def _whole(term: str) -> dict[str, str]:
    """A term that the analyzer splits, such as a path or a quoted string, is found if all of its parts are."""
    return {} if term.isalnum() else {"operator": "and"}


def _by_words(words: list[dict[str, Any]], filters: list[dict[str, Any]], count: int) -> dict[str, Any]:
    matching = {"bool": {"should": words, "minimum_should_match": 1, "filter": filters}}
    shorter_first = {"field_value_factor": {"field": "brevity"}, "boost_mode": "multiply"}
    return _listing(count) | {"query": {"function_score": {"query": matching, **shorter_first}}}


def _by_meaning(field: str, vector: Any, filters: list[dict[str, Any]], count: int) -> dict[str, Any]:
    nearest = {
        "field": field,
        "query_vector": vector,
        "k": count,
        "num_candidates": count,
        "filter": filters,
        "rescore_vector": {"oversample": OVERSAMPLE},
    }
    return _listing(count) | {"knn": nearest}


def _by_relevance(
    inference: ElasticInference, text: str, words: list[dict[str, Any]], filters: list[dict[str, Any]], count: int
) -> dict[str, Any]:
    """The reference design: words and meaning by reciprocal rank fusion, the best of both reranked."""
    text = text[:MAX_INFERENCE_CHARACTERS]
    window = max(count, RANK_WINDOW)
    legs: list[dict[str, Any]] = [{"semantic": {"field": SEMANTIC, "query": text}}]
    if words:
        legs.insert(0, {"bool": {"should": words, "minimum_should_match": 1}})
    standard: list[dict[str, Any]] = [{"standard": {"query": leg}} for leg in legs]
    fused: dict[str, Any] = {
        "retrievers": standard,
        "rank_constant": RANK_CONSTANT,
        "rank_window_size": window,
        "filter": filters,
    }
    found = {"rrf": fused} if words else {"standard": standard[0]["standard"] | {"filter": filters}}
    reranked: dict[str, Any] = {
        "retriever": found,
        "field": "text",
        "inference_id": inference.reranker,
        "inference_text": text,
        "rank_window_size": window,
    }
    listed = {"size": count, "_source": False, "track_total_hits": False}
    return listed | {"retriever": {"text_similarity_reranker": reranked}}


def _listing(count: int) -> dict[str, Any]:
    return {"size": count, "_source": False, "track_total_hits": False, "sort": ["_score", {"id": "asc"}]}
