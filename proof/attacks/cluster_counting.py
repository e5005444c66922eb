"""Counting with a member's own key: no total, frequency or bucket may count a document of anybody else.

A watcher's documents and those that their tenant shares are known one by one, so the right numbers are known, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memoryhub.elasticsearch import reading_alias
from memoryhub.env import SHELVES
from proof.attacks.cluster_searching import scores, unrescored
from proof.attempt import NOBODY, Attempt, Target, attack
from proof.baseline import moved as has_moved
from proof.cluster import PLANE, ask, key_of, search
from proof.marks import Told
from proof.residents import Part, Resident

# Global memories are everybody's, and their number is not known here.
_COUNTED: dict[str, Any] = {"terms": {"visibility": ["user", "tenant"]}}
_WITHIN: dict[str, Any] = {"size": 0, "track_total_hits": True, "query": {"bool": {"filter": [_COUNTED]}}}
Buckets = dict[str, int]


@attack("cluster: totals", weight=8, tests=Target.SEARCH_GUARD, only_on=PLANE)
def totals(attempt: Attempt) -> None:
    """However documents are counted, the total is that of one's own and shared ones."""
    watcher, shelf, own, shared = _chosen(attempt)
    key, alias = key_of(watcher), reading_alias(shelf)
    right = own + shared
    counts: list[tuple[int, Callable[[], object]]] = [
        (right, lambda: search(key, shelf, _WITHIN).total),
        (right, lambda: ask(key, "POST", f"/{alias}/_count", {"query": _WITHIN["query"]}).body["count"]),
        (own, lambda: search(key, shelf, {"size": 0, "query": {"term": {"visibility": "user"}}}).total),
        (own, lambda: search(key, shelf, {"size": 0, "query": {"exists": {"field": "user"}}}).total),
        (right, lambda: search(key, shelf, {"size": 0, "query": {"exists": {"field": "tenant"}}}).total),
        (0, lambda: search(key, shelf, {"size": 0, "query": {"exists": {"field": "gone_at"}}}).total),
        (right, lambda: _aggregated(key, shelf, {"value_count": {"field": "tenant"}})["value"]),
        (right, lambda: _aggregated(key, shelf, {"cardinality": {"field": "id"}})["value"]),
        (min(own, 1), lambda: _aggregated(key, shelf, {"cardinality": {"field": "user"}})["value"]),
        (min(right, 1), lambda: _aggregated(key, shelf, {"cardinality": {"field": "tenant"}})["value"]),
        (shared, lambda: _aggregated(key, shelf, {"missing": {"field": "user"}})["doc_count"]),
    ]
    wanted, count = attempt.chance.choice(counts)
    if count() != wanted:
        attempt.found(watcher, NOBODY, Told.COUNT)


@attack("cluster: aggregations", weight=10, tests=Target.SEARCH_GUARD, only_on=PLANE)
def aggregations(attempt: Attempt) -> None:
    """Buckets hold the attacker's own user and tenant, and nobody else's, not even with a count of zero."""
    watcher, shelf, own, shared = _chosen(attempt)
    user, tenant = str(watcher.principal.user_id), str(watcher.principal.tenant_id)
    users: Buckets = {user: own} if own else {}
    tenants: Buckets = {tenant: own + shared} if own + shared else {}
    options: list[tuple[Buckets, dict[str, Any]]] = [
        (users, {"terms": {"field": "user", "min_doc_count": 0, "size": 1000}}),
        (tenants, {"terms": {"field": "tenant", "min_doc_count": 0, "size": 1000}}),
        (users, {"terms": {"field": "user", "size": 1000, "execution_hint": "map"}}),
        (tenants, {"composite": {"size": 1000, "sources": [{"of": {"terms": {"field": "tenant"}}}]}}),
        (users, {"composite": {"size": 1000, "sources": [{"of": {"terms": {"field": "user"}}}]}}),
        (tenants, {"multi_terms": {"size": 1000, "terms": [{"field": "tenant"}, {"field": "tenant"}]}}),
    ]
    right, asked = attempt.chance.choice(options)
    encoded = key_of(watcher)
    answer = search(encoded, shelf, _WITHIN | {"aggs": {"all": asked}})
    attempt.shows(watcher, answer.text)
    if not answer.refused and _buckets(answer.body["aggregations"]["all"]) != right:
        attempt.found(watcher, NOBODY, Told.COUNT)


@attack("cluster: aggregations that look beyond the query", weight=6, tests=Target.SEARCH_GUARD, only_on=PLANE)
def beyond(attempt: Attempt) -> None:
    """Global, sampled, nested and filtered buckets, and the hits inside them."""
    attacker = attempt.attacker(Part.RESIDENT, Part.WATCHER, Part.WANDERER)
    victim = attempt.victim(attacker)
    target = attempt.target(victim)
    hits = {"top_hits": {"size": 100}}
    ids = {"terms": {"field": "id", "size": 1000, "min_doc_count": 0}}
    theirs = {"term": {"user": str(victim.principal.user_id)}}
    options: list[dict[str, Any]] = [
        {"global": {}, "aggs": {"in": hits}},
        {"global": {}, "aggs": {"in": ids}},
        {"filters": {"other_bucket": True, "filters": {"a": theirs}}, "aggs": {"in": hits}},
        {"filter": theirs, "aggs": {"in": hits, "ids": ids}},
        {"adjacency_matrix": {"filters": {"a": theirs, "b": {"match": {"text": target.rare}}}}},
        {"sampler": {"shard_size": 1000}, "aggs": {"in": ids}},
        {"diversified_sampler": {"shard_size": 1000, "field": "user"}, "aggs": {"in": ids}},
        {"significant_text": {"field": "text", "min_doc_count": 1, "size": 1000}},
        {"significant_terms": {"field": "id", "min_doc_count": 1, "size": 1000}},
        {"rare_terms": {"field": "user", "max_doc_count": 100}},
        {"rare_terms": {"field": "id", "max_doc_count": 100}},
        {"categorize_text": {"field": "text"}},
        {"frequent_item_sets": {"fields": [{"field": "user"}], "minimum_support": 0.0001}},
        {"random_sampler": {"probability": 0.5}, "aggs": {"in": ids}},
    ]
    asked = attempt.chance.choice(options)
    answer = search(key_of(attacker), target.shelf, {"size": 0, "aggs": {"all": asked}})
    attempt.shows(attacker, answer.text, sent=[str(asked)])
    inside = {} if answer.refused else answer.body["aggregations"]["all"]
    if asked.get("filter") and inside.get("doc_count"):
        attempt.found(attacker, victim.number, Told.COUNT)


@attack(
    "limit of the cluster: how many documents there are (significant terms)",
    weight=1,
    tests=Target.LIMIT,
    only_on=PLANE,
)
def background(attempt: Attempt) -> None:
    """`bg_count` is the number of all documents of the index, whoever's they are."""
    watcher, shelf, own, shared = _chosen(attempt)
    answer = search(key_of(watcher), shelf, {"size": 0, "aggs": {"all": {"significant_terms": {"field": "status"}}}})
    if not answer.refused and answer.body["aggregations"]["all"]["bg_count"] > own + shared:
        attempt.found(watcher, NOBODY, Told.COUNT)


@attack(
    "limit of the cluster: how often a word of one's own occurs (more like this)",
    weight=1,
    tests=Target.LIMIT,
    only_on=PLANE,
)
def frequency(attempt: Attempt) -> None:
    """`min_doc_freq` counts all documents: a word that one's own document holds matches if others hold it, too."""
    watcher, shelf, own, shared = _chosen(attempt)
    like = {"fields": ["text"], "like": "locker alarm", "min_term_freq": 1, "min_doc_freq": own + shared + 1}
    answer = search(key_of(watcher), shelf, {"size": 0, "query": {"more_like_this": like}})
    if answer.total:
        attempt.found(watcher, NOBODY, Told.COUNT)


@attack(
    "limit of the cluster: how many documents were stored before one's own", weight=1, tests=Target.LIMIT, only_on=PLANE
)
def places(attempt: Attempt) -> None:
    """The places of one's own documents in the index have gaps where those of others are."""
    watcher, shelf, own, shared = _chosen(attempt)
    answer = search(key_of(watcher), shelf, {"size": 100, "seq_no_primary_term": True, "_source": False})
    hits = [] if answer.refused else answer.body["hits"]["hits"]
    if any(hit["_seq_no"] > own + shared for hit in hits):
        attempt.found(watcher, NOBODY, Told.COUNT)


@attack(
    "limit of the cluster: that others store vectors (scores of rounded ones)",
    weight=1,
    tests=Target.LIMIT,
    only_on=PLANE,
)
def rounded(attempt: Attempt) -> None:
    """Vectors are rounded by ranges that all vectors of a segment decide; recall compares the exact ones again."""
    watcher, shelf, _, _ = _chosen(attempt)
    got = scores(watcher, shelf, unrescored())
    if has_moved(attempt.baseline.first(("rounded", watcher.number, shelf), got), got):
        attempt.found(watcher, NOBODY, Told.MOVED)


def _chosen(attempt: Attempt) -> tuple[Resident, str, int, int]:
    """A watcher, a shelf, and how many documents there are their own and how many their tenant shares."""
    watcher = attempt.attacker(Part.WATCHER)
    shelf = attempt.chance.choice(SHELVES)
    own = sum(each.shelf == shelf for each in watcher.planted)
    return watcher, shelf, own, sum(each.shelf == shelf for each in watcher.company.shared)


def _aggregated(key: str, shelf: str, asked: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = search(key, shelf, _WITHIN | {"aggs": {"all": asked}}).body["aggregations"]["all"]
    return found


def _buckets(found: dict[str, Any]) -> Buckets:
    """Counts by key."""
    counted: Buckets = {}
    for bucket in found["buckets"]:
        key = bucket["key"]
        name = next(iter(key.values())) if isinstance(key, dict) else key[0] if isinstance(key, list) else key
        counted[str(name)] = int(bucket["doc_count"])
    return counted
