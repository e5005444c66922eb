"""Raw searches with a member's own key: hits, scores, totals and buckets must come from the holder's documents only.

The documents of a watcher and those shared in its tenant are known, so the correct counts are known, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from memories.constants import EMBEDDING_DIMENSIONS
from memories.types import Kind
from memoryhub.elasticsearch import reading_alias, reading_aliases
from memoryhub.env.values import ARCHIVE, INDEX_NAMES
from proof.attack import NOBODY, Aim, Attempt, Target, attack
from proof.baseline import Scores, has_moved
from proof.cluster import PLANE, ClusterReply, ask, key_of, search
from proof.marks import Exposure
from proof.world import Persona, Resident

HOLDERS = (Persona.RESIDENT, Persona.WATCHER, Persona.WANDERER)
Body = dict[str, Any]
_ALL: Body = {"match_all": {}}
_THEIR_USER: Body = {"term": {"user": "{user}"}}
_THEIRS: Body = {"bool": {"filter": [{"term": {"tenant": "{tenant}"}}, _THEIR_USER]}}

# Queries that match only the victim's documents.
AIMED: tuple[Body, ...] = (
    _THEIRS,
    {"bool": {"must": [_ALL], "filter": [_THEIRS]}},
    {"constant_score": {"filter": _THEIRS}},
    {"bool": {"filter": [{"term": {"text": "{secret}"}}]}},
    {"match": {"text": "{rare}"}},
    {"match_phrase": {"text": "{rare} {secret}"}},
    {"match_bool_prefix": {"text": "{beginning}"}},
    {"ids": {"values": ["{memory}"]}},
    {"term": {"_id": "{memory}"}},
    {"terms": {"id": ["{memory}"]}},
    {"prefix": {"text": "{beginning}"}},
    {"wildcard": {"text": "{beginning}*"}},
    {"regexp": {"text": "{beginning}.*"}},
    {"fuzzy": {"text": {"value": "{misspelt}", "fuzziness": 2, "prefix_length": 5}}},
    {"range": {"id": {"gte": "{memory}", "lte": "{memory}"}}},
    {"query_string": {"query": '+tenant:"{tenant}" +user:"{user}"'}},
    {"query_string": {"query": "text:{secret}"}},
    {"simple_query_string": {"query": "{secret}", "fields": ["*"]}},
    {"multi_match": {"query": "{secret}", "fields": ["*"], "lenient": True}},
    {"intervals": {"text": {"match": {"query": "{rare}"}}}},
    {"span_term": {"text": "{rare}"}},
    {"more_like_this": {"fields": ["text"], "like": [{"_id": "{memory}"}], "min_term_freq": 1, "min_doc_freq": 1}},
    {"terms": {"text": {"index": "{alias}", "id": "{memory}", "path": "text"}}},
    {"function_score": {"query": _THEIRS, "random_score": {}}},
    {"boosting": {"positive": _THEIRS, "negative": _ALL, "negative_boost": 0.5}},
    {"dis_max": {"queries": [_THEIRS]}},
    {"script": {"script": "true"}},
    {"bool": {"must_not": [{"exists": {"field": "visibility"}}]}},
    {"bool": {"must_not": [{"terms": {"visibility": ["user", "tenant", "global"]}}]}},
)
# Searches that match everybody's documents.
LOOSE: tuple[Body, ...] = (
    {"query": _ALL},
    {"query": {"match": {"text": "{words}"}}},
    {"query": {"bool": {"should": [_ALL, {"term": {"text": "{secret}"}}]}}},
    {"query": {"bool": {"must_not": [{"term": {"status": "nothing"}}]}}},
    {"query": {"exists": {"field": "user"}}},
    {"query": {"more_like_this": {"fields": ["text"], "like": "{words}", "min_term_freq": 1}}},
    {"query": {"fuzzy": {"text": {"value": "locked", "rewrite": "top_terms_boost_50"}}}},
    {"query": _ALL, "post_filter": {"exists": {"field": "user"}}},
    {"query": _ALL, "sort": [{"id": "asc"}], "search_after": ["0"]},
    {"query": _ALL, "sort": [{"user": "desc"}, "_doc"]},
    {"query": _ALL, "collapse": {"field": "user", "inner_hits": {"name": "all", "size": 50}}},
    {"query": _ALL, "rescore": {"window_size": 50, "query": {"rescore_query": _ALL}}},
    {"query": _ALL, "terminate_after": 1000},
    {"retriever": {"standard": {"query": _ALL}}},
)
_HIGHLIGHT = {"highlight_query": {"match": {"text": "{words}"}}, "no_match_size": 200}
# Fetches other documents at search time by a value that the attacker's documents have, too.
_LOOKUP = {
    "type": "lookup",
    "target_index": "{alias}",
    "input_field": "status",
    "target_field": "status",
    "fetch_fields": ["*"],
}
# Parts of a search that return more about each hit.
EXTRAS: tuple[Body, ...] = (
    {},
    {"explain": True, "version": True, "seq_no_primary_term": True},
    {"fields": ["*", "_id", "_routing", "_ignored"], "stored_fields": ["_routing", "_id"]},
    {"docvalue_fields": ["user", "tenant", "id", "visibility"], "_source": True},
    {"highlight": {"require_field_match": False, "fields": {"*": {"number_of_fragments": 0}}}},
    {"highlight": {"fields": {"text": _HIGHLIGHT}}},
    {"profile": True},
    {"suggest": {"s": {"text": "{misspelt}", "term": {"field": "text", "suggest_mode": "always"}}}},
    {"suggest": {"s": {"text": "{rare}", "phrase": {"field": "text", "max_errors": 2}}}},
    {"suggest": {"s": {"prefix": "{rare}", "completion": {"field": "text"}}}},
    {"runtime_mappings": {"theirs": _LOOKUP}, "fields": ["theirs"]},
    {"runtime_mappings": {"all": {"type": "keyword", "script": "emit(doc['text'].value)"}}, "fields": ["all"]},
    {"script_fields": {"all": {"script": "params._source"}}},
    {"rescore": {"window_size": 50, "query": {"rescore_query": _ALL}}},
    {"indices_boost": [{"{facts}": 2.0}]},
)
_TOP, _IDS = {"top_hits": {"size": 100}}, {"terms": {"field": "id", "size": 1000, "min_doc_count": 0}}
# Aggregations that look beyond the query: global, sampled, nested and filtered buckets, and their hits.
BEYOND: tuple[Body, ...] = (
    {"global": {}, "aggs": {"in": _TOP}},
    {"global": {}, "aggs": {"in": _IDS}},
    {"filters": {"other_bucket": True, "filters": {"a": _THEIR_USER}}, "aggs": {"in": _TOP}},
    {"filter": _THEIR_USER, "aggs": {"in": _TOP, "ids": _IDS}},
    {"filter": _THEIRS, "aggs": {"in": _TOP, "ids": _IDS}},
    {"adjacency_matrix": {"filters": {"a": _THEIR_USER, "b": {"match": {"text": "{rare}"}}}}},
    {"sampler": {"shard_size": 1000}, "aggs": {"in": _IDS}},
    {"diversified_sampler": {"shard_size": 1000, "field": "user"}, "aggs": {"in": _IDS}},
    {"significant_text": {"field": "text", "min_doc_count": 1, "size": 1000}},
    {"significant_terms": {"field": "id", "min_doc_count": 1, "size": 1000}},
    {"rare_terms": {"field": "user", "max_doc_count": 100}},
    {"rare_terms": {"field": "id", "max_doc_count": 100}},
    {"categorize_text": {"field": "text"}},
    {"frequent_item_sets": {"fields": [{"field": "user"}], "minimum_support": 0.0001}},
    {"random_sampler": {"probability": 0.5}, "aggs": {"in": _IDS}},
)
# Buckets by user or tenant must hold only the holder's value; another's would be a finding even with count zero.
BUCKETS: tuple[tuple[str, Body], ...] = (
    ("user", {"terms": {"field": "user", "min_doc_count": 0, "size": 1000}}),
    ("tenant", {"terms": {"field": "tenant", "min_doc_count": 0, "size": 1000}}),
    ("user", {"terms": {"field": "user", "size": 1000, "execution_hint": "map"}}),
    ("tenant", {"composite": {"size": 1000, "sources": [{"of": {"terms": {"field": "tenant"}}}]}}),
    ("user", {"composite": {"size": 1000, "sources": [{"of": {"terms": {"field": "user"}}}]}}),
    ("tenant", {"multi_terms": {"size": 1000, "terms": [{"field": "tenant"}, {"field": "tenant"}]}}),
)
# Global memories are excluded, because their number is not known here.
_COUNTED: Body = {"bool": {"filter": [{"terms": {"visibility": ["user", "tenant"]}}]}}
_WITHIN: Body = {"size": 0, "track_total_hits": True, "query": _COUNTED}


def _own(own: int, _: int) -> int:
    return own


def _both(own: int, shared: int) -> int:
    return own + shared


def _having(query: Body) -> Body:
    return {"size": 0, "query": query}


def _aggregated(aggregation: Body) -> Body:
    return _WITHIN | {"aggs": {"all": aggregation}}


_HITS, _VALUE, _DOCUMENTS = "hits total value", "aggregations all value", "aggregations all doc_count"
# The correct number for given counts of own and shared documents, the request, and the path of the number in the
# response.
TOTALS: tuple[tuple[Callable[[int, int], int], str, Body, str], ...] = (
    (_both, "_search", _WITHIN, _HITS),
    (_both, "_count", {"query": _COUNTED}, "count"),
    (_own, "_search", _having({"term": {"visibility": "user"}}), _HITS),
    (_own, "_search", _having({"exists": {"field": "user"}}), _HITS),
    (_both, "_search", _having({"exists": {"field": "tenant"}}), _HITS),
    (lambda _, __: 0, "_search", _having({"exists": {"field": "gone_at"}}), _HITS),
    (_both, "_search", _aggregated({"value_count": {"field": "tenant"}}), _VALUE),
    (_both, "_search", _aggregated({"cardinality": {"field": "id"}}), _VALUE),
    (lambda own, _: min(own, 1), "_search", _aggregated({"cardinality": {"field": "user"}}), _VALUE),
    (lambda own, shared: min(own + shared, 1), "_search", _aggregated({"cardinality": {"field": "tenant"}}), _VALUE),
    (lambda _, shared: shared, "_search", _aggregated({"missing": {"field": "user"}}), _DOCUMENTS),
)  # fmt: skip
_LIKE: Body = {"fields": ["text"], "like": "locker alarm", "min_term_freq": 1}
_STEADY = ("words", "vector", "both", "prefix")


def _guard(name: str, weight: int) -> Callable[[Callable[[Attempt], None]], Callable[[Attempt], None]]:
    return attack(f"cluster: {name}", weight=weight, tests=Target.SEARCH_GUARD, only_on=PLANE)


@_guard("a query for another's documents", 16)
def aimed(attempt: Attempt) -> None:
    """Query for the victim's documents; nothing may match. Watchers attack, since their own texts never match."""
    aim, pick = attempt.aim(Persona.WATCHER), attempt.chance.choice
    body, _ = aim.fill({"query": pick(AIMED), "size": 50, "track_total_hits": True} | pick(EXTRAS))
    reply = search(key_of(aim.attacker), aim.target.index, body)
    attempt.scan(aim.attacker, reply.text, sent=body)
    if reply.total or reply.hits:
        attempt.found(aim.attacker, aim.victim.number, Exposure.COUNT)


@_guard("everything that a search can return", 10)
def at_large(attempt: Attempt) -> None:
    """Search for all documents with extra parts: only own and shared ones may come back."""
    aim, pick = attempt.aim(*HOLDERS), attempt.chance.choice
    body, _ = aim.fill({"size": 100, **pick(LOOSE)} | pick(EXTRAS))
    reply = search(key_of(aim.attacker), pick(INDEX_NAMES), body)
    attempt.scan(aim.attacker, reply.text, sent=body)
    _all_own(attempt, aim.attacker, reply)


@_guard("nearest vectors", 8)
def nearest(attempt: Attempt) -> None:
    """Search with the vector of another's memory, with and without filters on its owner."""
    aim, pick = attempt.aim(*HOLDERS), attempt.chance.choice
    vector = [float(each) for each in aim.target.vector]
    knn: Body = {"field": "vector", "query_vector": vector, "k": 50, "num_candidates": 100}
    owner, _ = aim.fill(pick([None, _THEIR_USER, _THEIRS, {"ids": {"values": ["{memory}"]}}]))
    if owner:
        knn["filter"] = owner
    as_query = {"query": {"knn": {key: value for key, value in knn.items() if key != "k"}}}
    body = {"size": 50, **pick([{"knn": knn}, as_query, {"knn": {**knn, "similarity": -1.0}}])}
    reply = search(key_of(aim.attacker), aim.target.index, body)
    attempt.scan(aim.attacker, reply.text, sent=owner)
    _all_own(attempt, aim.attacker, reply)
    if owner and reply.total and not _names_oneself(aim, owner):
        attempt.found(aim.attacker, aim.victim.number, Exposure.COUNT)


@_guard("several searches at once", 6)
def several(attempt: Attempt) -> None:
    """One `_msearch` over indices that the key allows and others that it does not."""
    aim = attempt.aim(*HOLDERS)
    key = key_of(aim.attacker)
    lines: list[Any] = []
    for name in [*attempt.chance.sample(_names(key), 3), reading_alias(aim.target.index)]:
        lines += [{"index": name}, {"query": {"match": {"text": aim.target.rare}}, "track_total_hits": True}]
        lines += [{"index": name}, {"query": _ALL, "size": 100}]
    reply = ask(key, "POST", "/_msearch", lines)
    attempt.scan(aim.attacker, reply.text)
    for each in [] if reply.refused else reply.body["responses"]:
        _all_own(attempt, aim.attacker, ClusterReply(int(each["status"]), each))


@_guard("other names", 6)
def other_names(attempt: Attempt) -> None:
    """Search indices behind the aliases, writing aliases, patterns, and Elasticsearch's own indices."""
    attacker = attempt.attacker(*HOLDERS)
    key = key_of(attacker)
    name = attempt.chance.choice(_names(key))
    reply = ask(key, "POST", f"/{name}/_search", {"size": 100, "track_total_hits": True})
    attempt.scan(attacker, reply.text)
    _all_own(attempt, attacker, reply)
    # A pattern expands to the indices that the key allows, perhaps none.
    opened = set(name.split(",")) <= {*reading_aliases(), "_all"} or "*" in name
    if not opened and not reply.refused:
        attempt.found(attacker, NOBODY, Exposure.DONE)


@_guard("scrolls", 1)
def scrolls(attempt: Attempt) -> None:
    """Continue one's own scroll, and another's scroll with one's own key."""
    aim = attempt.aim(*HOLDERS)
    path = f"/{reading_alias(attempt.chance.choice([Kind.SEMANTIC.value, ARCHIVE]))}/_search?scroll=5s"
    own = key_of(aim.attacker)
    for holder in [own] + ([] if aim.victim.persona is Persona.GHOST else [key_of(aim.victim)]):
        begun = ask(holder, "POST", path, {"size": 5})
        if begun.refused:
            continue
        more = ask(own, "POST", "/_search/scroll", {"scroll": "5s", "scroll_id": begun.body["_scroll_id"]})
        attempt.scan(aim.attacker, more.text)
        if holder is not own and not more.refused:
            attempt.found(aim.attacker, aim.victim.number, Exposure.DONE)


@_guard("scores moved by what others write", 8)
def moved(attempt: Attempt) -> None:
    """A watcher's raw search must return the same documents with the same scores as the first time."""
    watcher, pick = attempt.attacker(Persona.WATCHER), attempt.chance.choice
    name, index = pick(_STEADY), pick([Kind.EPISODIC.value, Kind.SEMANTIC.value, Kind.PROCEDURAL.value, ARCHIVE])
    words = {"match": {"text": "locker alarm doctor key office word guard"}}
    knn = {"knn": {**_by_vector()["knn"], "rescore_vector": {"oversample": 2.0}}}
    prefix = {"prefix": {"text": {"value": "lo", "rewrite": "scoring_boolean"}}}
    query = {"words": words, "vector": knn, "both": {"bool": {"should": [words, knn]}}, "prefix": prefix}[name]
    own = {"term": {"user": str(watcher.principal.user_id)}}
    scores = _scores(watcher, index, {"bool": {"filter": [own], "must": [query]}})
    if has_moved(attempt.baseline.first(("raw", watcher.number, name, index), scores), scores):
        attempt.found(watcher, NOBODY, Exposure.MOVED)


@_guard("totals", 8)
def totals(attempt: Attempt) -> None:
    """Totals must count own and shared documents only."""
    watcher, index, own, shared = _counted(attempt)
    right, endpoint, body, place = attempt.chance.choice(TOTALS)
    reply = ask(key_of(watcher), "POST", f"/{reading_alias(index)}/{endpoint}", body)
    if reduce(lambda value, key: value[key], place.split(), reply.body) != right(own, shared):
        attempt.found(watcher, NOBODY, Exposure.COUNT)


@_guard("aggregations", 10)
def aggregations(attempt: Attempt) -> None:
    """Buckets by user and by tenant must have the correct counts."""
    watcher, index, own, shared = _counted(attempt)
    field, aggregation = attempt.chance.choice(BUCKETS)
    name, count = (watcher.principal.user_id, own) if field == "user" else (watcher.principal.tenant_id, own + shared)
    reply = search(key_of(watcher), index, _aggregated(aggregation))
    attempt.scan(watcher, reply.text)
    if not reply.refused and _buckets(reply.body["aggregations"]["all"]) != ({str(name): count} if count else {}):
        attempt.found(watcher, NOBODY, Exposure.COUNT)


@_guard("aggregations that look beyond the query", 6)
def beyond(attempt: Attempt) -> None:
    """Aggregate beyond the query: no bucket and no hit in one may be the victim's."""
    aim = attempt.aim(*HOLDERS)
    body, _ = aim.fill(attempt.chance.choice(BEYOND))
    reply = search(key_of(aim.attacker), aim.target.index, {"size": 0, "aggs": {"all": body}})
    attempt.scan(aim.attacker, reply.text, sent=body)
    counted = not reply.refused and reply.body["aggregations"]["all"].get("doc_count")
    if counted and body.get("filter") and not _names_oneself(aim, body["filter"]):
        attempt.found(aim.attacker, aim.victim.number, Exposure.COUNT)


def _limit(
    name: str, body: Callable[[int], Body], discloses: Callable[[ClusterReply, int], bool]
) -> None:  # fmt: skip
    """Register a known limit of Elasticsearch: a search that reveals more than counts of own and shared documents."""

    @attack(f"limit of the cluster: {name}", weight=1, tests=Target.LIMIT, only_on=PLANE)
    def run(attempt: Attempt) -> None:
        watcher, index, own, shared = _counted(attempt)
        reply = search(key_of(watcher), index, {"size": 0} | body(own + shared))
        if not reply.refused and discloses(reply, own + shared):
            attempt.found(watcher, NOBODY, Exposure.COUNT)


_limit(
    "how many documents there are (significant terms)",
    lambda _: {"aggs": {"all": {"significant_terms": {"field": "status"}}}},
    lambda reply, known: bool(reply.body["aggregations"]["all"]["bg_count"] > known),
)
_limit(
    "how often a word of one's own occurs (more like this)",
    lambda known: {"query": {"more_like_this": _LIKE | {"min_doc_freq": known + 1}}},
    lambda reply, _: bool(reply.total),
)
_limit(
    "how many documents were stored before one's own",
    lambda _: {"size": 100, "seq_no_primary_term": True, "_source": False},
    lambda reply, known: any(hit["_seq_no"] > known for hit in reply.hits),
)


@attack(
    "limit of the cluster: that others store vectors (scores of rounded ones)",
    weight=1,
    tests=Target.LIMIT,
    only_on=PLANE,
)
def rounded(attempt: Attempt) -> None:
    """A segment's vectors decide how each is quantised, so scores reveal others' writes. Recall rescores exactly."""
    watcher, index, _, _ = _counted(attempt)
    scores = _scores(watcher, index, _by_vector())
    if has_moved(attempt.baseline.first(("rounded", watcher.number, index), scores), scores):
        attempt.found(watcher, NOBODY, Exposure.MOVED)


def _names(key: str) -> list[str]:
    """Names that an index could have: those behind the aliases (hits reveal them), writing aliases and patterns."""
    found = ask(key, "POST", f"/{reading_alias(Kind.SEMANTIC)},{reading_alias(ARCHIVE)}/_search", {"size": 100})
    behind = sorted({hit["_index"] for hit in found.hits})
    writing = [f"{alias}-writing" for alias in reading_aliases()]
    patterns = ["*", "_all", f"{reading_alias(Kind.SEMANTIC)}*", "*-semantic", ",".join(reading_aliases())]
    return [*behind, *writing, *patterns, ".security", ".security-7", "no-such-index"]


def _all_own(attempt: Attempt, attacker: Resident, reply: ClusterReply) -> None:
    """Record every hit that names another user or tenant than the attacker's."""
    whose = str(attacker.principal.user_id), str(attacker.principal.tenant_id)
    for hit in reply.hits:
        source = hit.get("_source") or {}
        if (source.get("user", whose[0]), source.get("tenant", whose[1])) != whose:
            owner = attempt.world.marks.owner_of(hit["_id"])
            attempt.found(attacker, NOBODY if owner is None else owner, Exposure.TEXT)


def _names_oneself(aim: Aim, filter_: Body) -> bool:
    """Whether a filter by user alone matches the attacker's own documents: they and the victim are one user."""
    return "term" in filter_ and aim.attacker.principal.user_id == aim.victim.principal.user_id


def _by_vector() -> Body:
    """A vector search that scores with the quantised vectors."""
    vector = [1.0, *[0.01] * (EMBEDDING_DIMENSIONS - 1)]
    return {"knn": {"field": "vector", "query_vector": vector, "k": 100, "num_candidates": 100}}


def _scores(resident: Resident, index: str, query: Body) -> Scores:
    reply = search(key_of(resident), index, {"size": 100, "_source": False, "query": query})
    return tuple(sorted((hit["_id"], (hit["_score"],)) for hit in reply.body["hits"]["hits"]))


def _counted(attempt: Attempt) -> tuple[Resident, str, int, int]:
    """A watcher, an index, and the counts of own and shared documents in it."""
    watcher = attempt.attacker(Persona.WATCHER)
    index = attempt.chance.choice(INDEX_NAMES)
    own, shared = (sum(each.index == index for each in of) for of in (watcher.planted, watcher.company.shared))
    return watcher, index, own + len(watcher.items) * (index == Kind.ITEM), shared


def _buckets(found: Body) -> dict[str, int]:
    """The document counts by bucket key."""
    counted: dict[str, int] = {}
    for bucket in found["buckets"]:
        key = bucket["key"]
        name = next(iter(key.values())) if isinstance(key, dict) else key[0] if isinstance(key, list) else key
        counted[str(name)] = int(bucket["doc_count"])
    return counted
