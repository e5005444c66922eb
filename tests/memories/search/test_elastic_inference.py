"""The cluster's own models: requests in Elastic's published form, to a server on a socket that answers as a cluster."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from pytest_django import Settings

from memories.search.elasticsearch import indices
from memories.search.elasticsearch.mappings import mapping_of, stamp
from memories.search.elasticsearch.plane import ElasticsearchPlane
from memories.search.elasticsearch.queries import RANK_WINDOW
from memories.types import ALL_KINDS, CandidateRequest, Kind
from memoryhub.env.values import INDEX_NAMES
from tenants.search_keys import SearchKey
from tests.memories.search.library import somebody

ADA = somebody()
PAIR = ("embedder", "reader")


def _of(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """An object of exactly these properties, as the classes of the specification are."""
    properties = required | optional
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


# Of elastic/elasticsearch-specification: _types/Retriever.ts and _types/query_dsl/SemanticQuery.ts.
_ANY: dict[str, Any] = {"type": ["object", "array"]}
_BASE: dict[str, Any] = {"filter": _ANY, "min_score": {"type": "number"}, "_name": {"type": "string"}}
_WHOLE, _TEXT = {"type": "integer"}, {"type": "string"}
_RETRIEVER = {"$ref": "#/$defs/retriever"}
SEARCH = {
    "$defs": {
        "retriever": {
            **_of(
                {},
                standard=_of({}, **_BASE, query={"$ref": "#/$defs/query"}, sort=_ANY, terminate_after=_WHOLE),
                rrf=_of(
                    {"retrievers": {"type": "array", "items": _RETRIEVER, "minItems": 2}},
                    **_BASE, rank_constant=_WHOLE, rank_window_size=_WHOLE, query=_TEXT, fields=_ANY,
                ),
                text_similarity_reranker=_of(
                    {"retriever": _RETRIEVER, "inference_text": _TEXT, "field": _TEXT},
                    **_BASE, rank_window_size=_WHOLE, inference_id=_TEXT, chunk_rescorer=_ANY,
                ),
            ),
            "minProperties": 1,
            "maxProperties": 1,
        },
        "query": _of({}, bool=_ANY, semantic=_of({"field": _TEXT, "query": _TEXT}, boost={"type": "number"})),
    },
    **_of({"retriever": _RETRIEVER}, size=_WHOLE, _source={"type": "boolean"}, track_total_hits={"type": "boolean"}),
}  # fmt: skip


class _Cluster(BaseHTTPRequestHandler):
    """Answers each search of an `_msearch` with one hit, and says what its indices were made with."""

    protocol_version = "HTTP/1.1"
    made_with: dict[str, Any]
    searches: list[Any]
    keys: list[str]
    hit = str(uuid4())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the framework's signature
        """Say nothing."""

    def do_GET(self) -> None:
        names = [f"memoryhub-{name}" for name in INDEX_NAMES]
        if "_alias" in self.path:
            self._answer({f"{name}-1": {"aliases": {f"{name}-writing": {}}} for name in names})
        else:
            self._answer({f"{name}-1": {"mappings": {"_meta": self.made_with}} for name in names})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        lines = [json.loads(line) for line in body.splitlines() if line]
        self.searches.extend(lines[1::2])
        self.keys.append(self.headers["Authorization"])
        found = {"status": 200, "hits": {"hits": [{"_id": self.hit, "_score": 1.75}]}}
        self._answer({"responses": [found] * (len(lines) // 2)})

    def _answer(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def cluster(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[_Cluster]]:
    settings.MEMORYHUB_ELASTIC_INFERENCE = PAIR
    made = type("Handler", (_Cluster,), {"made_with": stamp(), "searches": [], "keys": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), made)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings.ELASTICSEARCH_URLS = (f"http://127.0.0.1:{server.server_port}",)
    settings.ELASTICSEARCH_PREFIX = "memoryhub"
    settings.ELASTICSEARCH_CREDENTIALS = {"indexer": "indexer:word"}
    monkeypatch.setattr(indices, "_stamps", {})
    yield made
    server.shutdown()
    server.server_close()


def asked(**changes: Any) -> CandidateRequest:
    plain: dict[str, Any] = {"kinds": ALL_KINDS, "terms": ("harbour",), "vector": lambda: np.ones(384, np.float32)}
    return CandidateRequest(**plain | {"per_sub_query": 80, "text": "Where is the harbour?"} | changes)


def plane() -> ElasticsearchPlane:
    return ElasticsearchPlane(lambda _principal: SearchKey("id", "key-of-ada"))


def test_the_mapping_copies_the_text_to_a_field_of_the_clusters_model(settings: Settings) -> None:
    assert "semantic" not in mapping_of(Kind.SEMANTIC)["properties"] and "inference" not in stamp()
    settings.MEMORYHUB_ELASTIC_INFERENCE = PAIR
    properties = mapping_of(Kind.SEMANTIC)["properties"]
    assert properties["semantic"] == {"type": "semantic_text", "inference_id": "embedder"}
    assert properties["text"]["copy_to"] == ["semantic"] and stamp()["inference"] == "embedder"


def test_each_search_is_the_reference_design_in_the_published_form(cluster: type[_Cluster]) -> None:
    plane().candidates(ADA, asked())
    assert cluster.searches and set(cluster.keys) == {"ApiKey key-of-ada"}
    for body in cluster.searches:
        Draft202012Validator(SEARCH).validate(body)
        reranked = body["retriever"]["text_similarity_reranker"]
        fused = reranked["retriever"]["rrf"]
        assert (fused["rank_constant"], fused["rank_window_size"], body["size"]) == (30, RANK_WINDOW, 80)
        assert (reranked["inference_id"], reranked["inference_text"]) == ("reader", "Where is the harbour?")
        assert str(ADA.tenant_id) in json.dumps(fused["filter"]) and "visibility" in json.dumps(fused["filter"])


def test_a_question_without_words_to_search_for_is_searched_by_meaning_alone(cluster: type[_Cluster]) -> None:
    plane().candidates(ADA, asked(terms=(), kinds=(Kind.EPISODIC,)))
    (body,) = cluster.searches
    Draft202012Validator(SEARCH).validate(body)
    inner = body["retriever"]["text_similarity_reranker"]["retriever"]["standard"]
    assert "semantic" in inner["query"] and str(ADA.user_id) in json.dumps(inner["filter"])


def test_hits_carry_the_relevance_of_the_clusters_reranker(cluster: type[_Cluster]) -> None:
    (hit,) = plane().candidates(ADA, asked(kinds=(Kind.EPISODIC,))).hits
    assert (hit.relevance, hit.lexical, hit.dense) == (0.75, None, None)


def test_indices_without_the_field_are_searched_as_before_until_they_are_rebuilt(cluster: type[_Cluster]) -> None:
    del cluster.made_with["inference"]
    hits = plane().candidates(ADA, asked(kinds=(Kind.EPISODIC,))).hits
    assert ["knn" in body for body in cluster.searches] == [False, True] and hits[0].relevance is None
