"""Raw searches with a member's own key: every way to ask the cluster for documents, aimed at those of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memories.constants import EMBEDDING_DIMENSIONS
from memories.types import Kind
from memoryhub.elasticsearch import reading_alias, reading_aliases
from memoryhub.env import ARCHIVE, SHELVES
from proof.attempt import NOBODY, Attempt, Target, attack
from proof.baseline import Answer as Scores
from proof.baseline import moved as has_moved
from proof.cluster import PLANE, Answer, ask, key_of, search
from proof.marks import Told
from proof.residents import Part, Planted, Resident
from tenants.principal import Principal

_EVERYTHING: dict[str, Any] = {"match_all": {}}
_HOLDERS = (Part.RESIDENT, Part.WATCHER, Part.WANDERER)


@attack("cluster: a query for another's documents", weight=16, tests=Target.SEARCH_GUARD, only_on=PLANE)
def aimed(attempt: Attempt) -> None:
    """Queries that only documents of the victim match: nothing may match. Watchers never said what others said."""
    attacker = attempt.attacker(Part.WATCHER)
    victim = attempt.victim(attacker)
    target = attempt.target(victim)
    query = attempt.chance.choice(_aimed_at(victim.principal, target))
    body = {"query": query, "size": 50, "track_total_hits": True} | attempt.chance.choice(_EXTRAS)(target)
    answer = search(key_of(attacker), target.shelf, body)
    attempt.shows(attacker, answer.text, sent=[str(body)])
    if answer.total or (not answer.refused and answer.body["hits"]["hits"]):
        attempt.found(attacker, victim.number, Told.COUNT)


@attack("cluster: everything that a search can return", weight=10, tests=Target.SEARCH_GUARD, only_on=PLANE)
def at_large(attempt: Attempt) -> None:
    """All documents, with whatever can be asked about each: only one's own and shared ones may come."""
    attacker = attempt.attacker(*_HOLDERS)
    target = attempt.target(attempt.victim(attacker))
    shelf = attempt.chance.choice(SHELVES)
    query = attempt.chance.choice(_loose(target))
    body = {"size": 100, **query} | attempt.chance.choice(_EXTRAS)(target)
    answer = search(key_of(attacker), shelf, body)
    attempt.shows(attacker, answer.text, sent=[str(body)])
    _all_own(attempt, attacker, answer)


@attack("cluster: nearest vectors", weight=8, tests=Target.SEARCH_GUARD, only_on=PLANE)
def nearest(attempt: Attempt) -> None:
    """The vector of another's memory itself, with filters that name its owner, and without."""
    attacker, chance = attempt.attacker(*_HOLDERS), attempt.chance
    victim = attempt.victim(attacker)
    target = attempt.target(victim)
    theirs = {"term": {"user": str(victim.principal.user_id)}}
    vector = [float(each) for each in target.vector]
    knn: dict[str, Any] = {"field": "vector", "query_vector": vector, "k": 50, "num_candidates": 100}
    aimed_at = chance.choice([None, theirs, {"ids": {"values": [str(target.id)]}}])
    if aimed_at:
        knn["filter"] = aimed_at
    as_query = {"query": {"knn": {key: value for key, value in knn.items() if key != "k"}}}
    body: dict[str, Any] = chance.choice([{"knn": knn}, as_query, {"knn": {**knn, "similarity": -1.0}}])
    answer = search(key_of(attacker), target.shelf, {"size": 50, **body})
    attempt.shows(attacker, answer.text, sent=[str(aimed_at)])
    _all_own(attempt, attacker, answer)
    if aimed_at and answer.total:
        attempt.found(attacker, victim.number, Told.COUNT)


@attack("cluster: several searches at once", weight=6, tests=Target.SEARCH_GUARD, only_on=PLANE)
def several(attempt: Attempt) -> None:
    """One `_msearch` with names that the key does not open beside those that it does."""
    attacker, chance = attempt.attacker(*_HOLDERS), attempt.chance
    key = key_of(attacker)
    target = attempt.target(attempt.victim(attacker))
    names = [*chance.sample(_names(key), 3), reading_alias(target.shelf)]
    lines: list[Any] = []
    for name in names:
        lines += [{"index": name}, {"query": {"match": {"text": target.rare}}, "track_total_hits": True}]
        lines += [{"index": name}, {"query": _EVERYTHING, "size": 100}]
    answer = ask(key, "POST", "/_msearch", lines)
    attempt.shows(attacker, answer.text)
    for each in [] if answer.refused else answer.body["responses"]:
        one = Answer(int(each["status"]), each)
        _all_own(attempt, attacker, one)


@attack("cluster: other names", weight=6, tests=Target.SEARCH_GUARD, only_on=PLANE)
def other_names(attempt: Attempt) -> None:
    """Indices behind the aliases, the aliases that changes go to, patterns, and indices of the cluster itself."""
    attacker = attempt.attacker(*_HOLDERS)
    key = key_of(attacker)
    name = attempt.chance.choice(_names(key))
    answer = ask(key, "POST", f"/{name}/_search", {"size": 100, "track_total_hits": True})
    attempt.shows(attacker, answer.text)
    _all_own(attempt, attacker, answer)
    # A pattern stands for whatever the key opens, which may be nothing.
    opened = set(name.split(",")) <= {*reading_aliases(), "_all"} or "*" in name
    if not opened and not answer.refused:
        attempt.found(attacker, NOBODY, Told.DONE)


@attack("cluster: scrolls", weight=1, tests=Target.SEARCH_GUARD, only_on=PLANE)
def scrolls(attempt: Attempt) -> None:
    """One's own scroll to its end, and that of another with one's own key."""
    attacker = attempt.attacker(*_HOLDERS)
    victim = attempt.victim(attacker)
    path = f"/{reading_alias(attempt.chance.choice([Kind.SEMANTIC.value, ARCHIVE]))}/_search?scroll=5s"
    keys = [key_of(attacker)]
    if victim.part is not Part.GHOST:
        keys.append(key_of(victim))
    for holder in keys:
        begun = ask(holder, "POST", path, {"size": 5})
        if begun.refused:
            continue
        more = ask(keys[0], "POST", "/_search/scroll", {"scroll": "5s", "scroll_id": begun.body["_scroll_id"]})
        attempt.shows(attacker, more.text)
        if holder is not keys[0] and not more.refused:
            attempt.found(attacker, victim.number, Told.DONE)


@attack("cluster: scores moved by what others write", weight=8, tests=Target.SEARCH_GUARD, only_on=PLANE)
def moved(attempt: Attempt) -> None:
    """The same raw searches of a watcher, again and again: the same documents with the same scores."""
    watcher, chance = attempt.attacker(Part.WATCHER), attempt.chance
    number = chance.randrange(len(_STEADY))
    shelf = chance.choice([Kind.EPISODIC.value, Kind.SEMANTIC.value, Kind.PROCEDURAL.value, ARCHIVE])
    got = scores(watcher, shelf, _steady(watcher, number))
    if has_moved(attempt.baseline.first(("raw", watcher.number, number, shelf), got), got):
        attempt.found(watcher, NOBODY, Told.MOVED)


def _aimed_at(victim: Principal, target: Planted) -> list[dict[str, Any]]:
    id_, tenant, user = str(target.id), str(victim.tenant_id), str(victim.user_id)
    theirs = [{"term": {"tenant": tenant}}, {"term": {"user": user}}]
    return [
        {"bool": {"filter": theirs}},
        {"bool": {"must": [_EVERYTHING], "filter": theirs}},
        {"constant_score": {"filter": {"bool": {"filter": theirs}}}},
        {"bool": {"filter": [{"term": {"text": target.secret}}]}},
        {"match": {"text": target.rare}},
        {"match_phrase": {"text": f"{target.rare} {target.secret}"}},
        {"match_bool_prefix": {"text": target.secret[:10]}},
        {"ids": {"values": [id_]}},
        {"term": {"_id": id_}},
        {"terms": {"id": [id_]}},
        {"prefix": {"text": target.secret[:10]}},
        {"wildcard": {"text": f"{target.secret[:8]}*"}},
        {"regexp": {"text": f"{target.secret[:8]}.*"}},
        {"fuzzy": {"text": {"value": target.secret[:-1], "fuzziness": 2, "prefix_length": 5}}},
        {"range": {"id": {"gte": id_, "lte": id_}}},
        {"query_string": {"query": f'+tenant:"{tenant}" +user:"{user}"'}},
        {"query_string": {"query": f"text:{target.secret}"}},
        {"simple_query_string": {"query": target.secret, "fields": ["*"]}},
        {"multi_match": {"query": target.secret, "fields": ["*"], "lenient": True}},
        {"intervals": {"text": {"match": {"query": target.rare}}}},
        {"span_term": {"text": target.rare}},
        {"more_like_this": {"fields": ["text"], "like": [{"_id": id_}], "min_term_freq": 1, "min_doc_freq": 1}},
        {"terms": {"text": {"index": reading_alias(target.shelf), "id": id_, "path": "text"}}},
        {"function_score": {"query": {"bool": {"filter": theirs}}, "random_score": {}}},
        {"boosting": {"positive": {"bool": {"filter": theirs}}, "negative": _EVERYTHING, "negative_boost": 0.5}},
        {"dis_max": {"queries": [{"bool": {"filter": theirs}}]}},
        {"script": {"script": "true"}},
        {"bool": {"must_not": [{"exists": {"field": "visibility"}}]}},
        {"bool": {"must_not": [{"terms": {"visibility": ["user", "tenant", "global"]}}]}},
    ]


def _loose(target: Planted) -> list[dict[str, Any]]:
    """Queries that match documents of everybody."""
    return [
        {"query": _EVERYTHING},
        {"query": {"match": {"text": target.words}}},
        {"query": {"bool": {"should": [_EVERYTHING, {"term": {"text": target.secret}}]}}},
        {"query": {"bool": {"must_not": [{"term": {"status": "nothing"}}]}}},
        {"query": {"exists": {"field": "user"}}},
        {"query": {"more_like_this": {"fields": ["text"], "like": target.words, "min_term_freq": 1}}},
        {"query": {"fuzzy": {"text": {"value": "locked", "rewrite": "top_terms_boost_50"}}}},
        {"query": _EVERYTHING, "post_filter": {"exists": {"field": "user"}}},
        {"query": _EVERYTHING, "sort": [{"id": "asc"}], "search_after": ["0"]},
        {"query": _EVERYTHING, "sort": [{"user": "desc"}, "_doc"]},
        {"query": _EVERYTHING, "collapse": {"field": "user", "inner_hits": {"name": "all", "size": 50}}},
        {"query": _EVERYTHING, "rescore": {"window_size": 50, "query": {"rescore_query": _EVERYTHING}}},
        {"query": _EVERYTHING, "terminate_after": 1000},
        {"retriever": {"standard": {"query": _EVERYTHING}}},
    ]


_EXTRAS: tuple[Callable[[Planted], dict[str, Any]], ...] = (
    lambda _: {},
    lambda _: {"explain": True, "version": True, "seq_no_primary_term": True},
    lambda _: {"fields": ["*", "_id", "_routing", "_ignored"], "stored_fields": ["_routing", "_id"]},
    lambda _: {"docvalue_fields": ["user", "tenant", "id", "visibility"], "_source": True},
    lambda _: {"highlight": {"require_field_match": False, "fields": {"*": {"number_of_fragments": 0}}}},
    lambda t: {
        "highlight": {"fields": {"text": {"highlight_query": {"match": {"text": t.words}}, "no_match_size": 200}}}
    },
    lambda _: {"profile": True},
    lambda t: {"suggest": {"s": {"text": t.secret[:-1], "term": {"field": "text", "suggest_mode": "always"}}}},
    lambda t: {"suggest": {"s": {"text": t.rare, "phrase": {"field": "text", "max_errors": 2}}}},
    lambda t: {"suggest": {"s": {"prefix": t.rare[:4], "completion": {"field": "text"}}}},
    lambda t: {"runtime_mappings": _looking_up(t), "fields": ["theirs"]},
    lambda _: {
        "runtime_mappings": {"all": {"type": "keyword", "script": "emit(doc['text'].value)"}},
        "fields": ["all"],
    },
    lambda _: {"script_fields": {"all": {"script": "params._source"}}},
    lambda _: {"rescore": {"window_size": 50, "query": {"rescore_query": _EVERYTHING}}},
    lambda _: {"indices_boost": [{reading_alias(Kind.SEMANTIC): 2.0}]},
)


def _looking_up(target: Planted) -> dict[str, Any]:
    """A field that fetches another document at search time, by what the attacker's own documents have in common."""
    return {
        "theirs": {
            "type": "lookup",
            "target_index": reading_alias(target.shelf),
            "input_field": "status",
            "target_field": "status",
            "fetch_fields": ["*"],
        }
    }


def _names(key: str) -> list[str]:
    """What could be an index here; the names behind the aliases come with every hit."""
    found = ask(key, "POST", f"/{reading_alias(Kind.SEMANTIC)},{reading_alias(ARCHIVE)}/_search", {"size": 100})
    behind = sorted({hit["_index"] for hit in ([] if found.refused else found.body["hits"]["hits"])})
    writing = [f"{alias}-writing" for alias in reading_aliases()]
    patterns = ["*", "_all", f"{reading_alias(Kind.SEMANTIC)}*", "*-semantic", ",".join(reading_aliases())]
    return [*behind, *writing, *patterns, ".security", ".security-7", "no-such-index"]


def _all_own(attempt: Attempt, attacker: Resident, answer: Answer) -> None:
    """Every hit must name the attacker as its user, or nobody; and their own tenant, or none."""
    if answer.refused:
        return
    whose = str(attacker.principal.user_id), str(attacker.principal.tenant_id)
    for hit in answer.body["hits"]["hits"]:
        source = hit.get("_source") or {}
        user, tenant = source.get("user", whose[0]), source.get("tenant", whose[1])
        if (user, tenant) != whose:
            owner = attempt.world.marks.owner_of(hit["_id"])
            attempt.found(attacker, NOBODY if owner is None else owner, Told.TEXT)


_STEADY = ("words", "vector", "both", "prefix")


def _steady(watcher: Resident, number: int) -> dict[str, Any]:
    """A search whose scores are the watcher's own affair."""
    words = {"match": {"text": "locker alarm doctor key office word guard"}}
    knn = {"knn": {**unrescored()["knn"], "rescore_vector": {"oversample": 2.0}}}
    prefix = {"prefix": {"text": {"value": "lo", "rewrite": "scoring_boolean"}}}
    asked = (words, knn, {"bool": {"should": [words, knn]}}, prefix)[number]
    return {"bool": {"filter": [{"term": {"user": str(watcher.principal.user_id)}}], "must": [asked]}}


def unrescored() -> dict[str, Any]:
    """A search by vector whose scores are those of the rounded vectors."""
    vector = [1.0, *[0.01] * (EMBEDDING_DIMENSIONS - 1)]
    return {"knn": {"field": "vector", "query_vector": vector, "k": 100, "num_candidates": 100}}


def scores(resident: Resident, shelf: str, query: dict[str, Any]) -> Scores:
    """What a member's own key finds, with the scores."""
    answer = search(key_of(resident), shelf, {"size": 100, "_source": False, "query": query})
    return tuple(sorted((hit["_id"], (hit["_score"],)) for hit in answer.body["hits"]["hits"]))
