"""What a member's key must not open at all, and keys that must not open anything any more."""

from __future__ import annotations

from typing import Any

from memories.recall.pipeline import recall
from memories.types import Kind
from memoryhub.elasticsearch import reading_alias
from proof.attempt import NOBODY, Attempt, Target, attack
from proof.cluster import MISSING, PLANE, UNAUTHORIZED, ask, key_id_of, key_of
from proof.marks import Told
from proof.residents import Part

_HOLDERS = (Part.RESIDENT, Part.WATCHER, Part.WANDERER)
Request = tuple[str, str, Any]

# {alias} is a reading alias, {id} a document of another, {key} the id of the attacker's own key. What would do damage
# if it were not refused is aimed at what the proof itself made, or at what does not exist.
_READING: tuple[Request, ...] = (
    ("GET", "/{alias}/_doc/{id}", None),
    ("HEAD", "/{alias}/_doc/{id}", None),
    ("GET", "/{alias}/_source/{id}", None),
    ("POST", "/{alias}/_mget", {"ids": ["{id}"]}),
    ("POST", "/_mget", {"docs": [{"_index": "{alias}", "_id": "{id}"}]}),
    ("POST", "/{alias}/_termvectors/{id}", {"term_statistics": True}),
    ("POST", "/{alias}/_termvectors", {"doc": {"text": "locker alarm"}, "term_statistics": True}),
    ("POST", "/{alias}/_mtermvectors", {"ids": ["{id}"]}),
    ("POST", "/{alias}/_explain/{id}", {"query": {"match_all": {}}}),
    ("GET", "/{alias}/_field_caps?fields=*&include_empty_fields=false", None),
    ("GET", "/{alias}/_search_shards", None),
    ("POST", "/{alias}/_validate/query?rewrite=true&all_shards=true", {"query": {"prefix": {"text": "zq"}}}),
    ("POST", "/{alias}/_terms_enum", {"field": "user", "string": ""}),
    ("POST", "/{alias}/_pit?keep_alive=1s", None),
    ("POST", "/{alias}/_async_search", {}),
    ("POST", "/{alias}/_eql/search", {"query": "any where true"}),
    ("POST", "/_sql", {"query": 'SELECT * FROM "{alias}"'}),
    ("POST", "/_query", {"query": "FROM {alias}"}),
    ("POST", "/{alias}/_graph/explore", {"query": {"match_all": {}}, "vertices": [{"field": "user"}]}),
    ("POST", "/{alias}/_analyze", {"field": "text", "text": "locker"}),
    ("POST", "/{alias}/_disk_usage?run_expensive_tasks=true", None),
    ("GET", "/{alias}/_mapping", None),
    ("GET", "/{alias}/_settings", None),
    ("GET", "/{alias}/_stats", None),
    ("GET", "/{alias}/_segments", None),
    ("GET", "/{alias}/_recovery", None),
    ("GET", "/_cat/indices", None),
    ("GET", "/_cat/shards", None),
    ("GET", "/_cluster/state", None),
    ("GET", "/_cluster/health", None),
    ("GET", "/_nodes", None),
    ("GET", "/_nodes/stats", None),
    ("GET", "/_tasks?detailed=true", None),
    ("GET", "/_resolve/index/*", None),
)
_WRITING: tuple[Request, ...] = (
    ("PUT", "/{alias}/_doc/{id}", {"text": "mine"}),
    ("PUT", "/{alias}/_create/{id}", {"text": "mine"}),
    ("POST", "/{alias}/_update/{id}", {"doc": {"text": "mine"}}),
    ("DELETE", "/{alias}/_doc/{id}", None),
    ("PUT", "/{alias}-writing/_doc/{id}", {"text": "mine"}),
    ("DELETE", "/{alias}-writing/_doc/{id}", None),
    ("POST", "/_bulk", [{"delete": {"_index": "{alias}", "_id": "{id}"}}]),
    ("POST", "/_bulk", [{"index": {"_index": "{alias}-writing", "_id": "{id}"}}, {"text": "mine"}]),
    ("POST", "/{alias}/_delete_by_query", {"query": {"ids": {"values": ["{id}"]}}}),
    ("POST", "/{alias}/_update_by_query", {"query": {"ids": {"values": ["{id}"]}}}),
    ("POST", "/{alias}/_refresh", None),
    ("POST", "/{alias}/_forcemerge?only_expunge_deletes=true", None),
    ("DELETE", "/{alias}-isolation-proof", None),
    ("POST", "/{alias}-writing/_rollover?dry_run=true", None),
    ("PUT", "/{alias}/_mapping", {"properties": {}}),
    ("PUT", "/{alias}/_settings", {"index": {"hidden": False}}),
    ("POST", "/_aliases", {"actions": [{"remove": {"index": "{alias}", "alias": "isolation-proof"}}]}),
    ("POST", "/_index_template/_simulate_index/{alias}-isolation-proof", None),
    ("DELETE", "/_scripts/isolation-proof", None),
    ("GET", "/_cluster/settings", None),
)
_SECURITY: tuple[Request, ...] = (
    ("GET", "/_security/api_key", None),
    ("GET", "/_security/api_key?with_limited_by=true&active_only=true", None),
    ("POST", "/_security/_query/api_key", {"size": 100}),
    ("POST", "/_security/api_key", {"name": "isolation-proof", "expiration": "1s"}),
    ("POST", "/_security/api_key/clone", {"api_key": "{key}", "name": "isolation-proof", "expiration": "1s"}),
    ("POST", "/_security/api_key/grant", {"grant_type": "access_token", "access_token": "x", "api_key": {"name": "x"}}),
    ("PUT", "/_security/api_key/{key}", {"role_descriptors": {"all": {"cluster": ["all"]}}}),
    ("POST", "/_security/api_key/_bulk_update", {"ids": ["{key}"]}),
    ("DELETE", "/_security/api_key", {"ids": ["{key}"]}),
    ("GET", "/_security/user", None),
    ("GET", "/_security/role", None),
    ("GET", "/_security/role_mapping", None),
    ("DELETE", "/_security/user/isolation-proof", None),
    ("DELETE", "/_security/role/isolation-proof", None),
    ("GET", "/_security/profile/_suggest", None),
)


@attack("cluster: reading by what is no search", weight=10, tests=Target.SEARCH_GUARD, only_on=PLANE)
def reading(attempt: Attempt) -> None:
    """Gets, term vectors, explanations, shards, mappings: they answer with more than the query of a key can hide."""
    _refused(attempt, _READING)


@attack("cluster: writing with a key", weight=8, tests=Target.SEARCH_GUARD, only_on=PLANE)
def writing(attempt: Attempt) -> None:
    """Writes are not limited by a key's query, so no member's key may write."""
    _refused(attempt, _WRITING)


@attack("cluster: keys, users and roles", weight=5, tests=Target.SEARCH_GUARD, only_on=PLANE)
def security(attempt: Attempt) -> None:
    """To read, make, copy, widen or end a key; to make a user."""
    _refused(attempt, _SECURITY)


@attack("cluster: what a key tells of itself", weight=2, tests=Target.SEARCH_GUARD, only_on=PLANE)
def itself(attempt: Attempt) -> None:
    """Whatever is answered must be about the key's own holder."""
    attacker = attempt.attacker(*_HOLDERS)
    requests: tuple[Request, ...] = (
        ("GET", "/_security/_authenticate", None),
        ("GET", "/_security/api_key?owner=true", None),
        ("GET", "/_security/user/_privileges", None),
        ("POST", "/_security/user/_has_privileges", {"index": [{"names": ["*"], "privileges": ["read", "write"]}]}),
        ("POST", f"/{reading_alias(Kind.SEMANTIC)}/_search/template", {"source": {"query": {"match_all": {}}}}),
        ("POST", f"/{reading_alias(Kind.SEMANTIC)}/_rank_eval", {"requests": [], "metric": {"precision": {}}}),
        ("GET", f"/_cat/count/{reading_alias(Kind.SEMANTIC)}", None),
    )
    method, path, body = attempt.chance.choice(requests)
    attempt.shows(attacker, ask(key_of(attacker), method, path, body).text)


@attack("cluster: keys that ended", weight=4, tests=Target.SEARCH_GUARD, only_on=PLANE)
def ended(attempt: Attempt) -> None:
    """Replaced, invalidated, of a deactivated member, or put together from two."""
    attacker, chance = attempt.attacker(*_HOLDERS), attempt.chance
    own = key_of(attacker)
    key = chance.choice(attempt.world.ended_keys)
    encoded = chance.choice([key.encoded, key.encoded, own[:-6] + key.encoded[-6:], key.encoded[:24] + own[24:]])
    path = chance.choice([f"/{reading_alias(Kind.SEMANTIC)}/_search", "/_msearch", "/_security/_authenticate"])
    body = [{"index": reading_alias(Kind.SEMANTIC)}, {}] if path == "/_msearch" else None
    answer = ask(encoded, "POST" if body else "GET", path, body)
    attempt.shows(attacker, answer.text, allowed=())
    if answer.status != UNAUTHORIZED and encoded != own:
        attempt.found(attacker, key.resident.number, Told.DONE)


@attack("recall: as somebody deactivated", weight=2, only_on=PLANE)
def deactivated(attempt: Attempt) -> None:
    """Without a key there is no search in anybody's name."""
    ghost = attempt.attacker(Part.GHOST)
    words = attempt.target(ghost).words
    attempt.denied(ghost, ghost.number, lambda: recall(ghost.principal, words, record=False).items)


def _refused(attempt: Attempt, requests: tuple[Request, ...]) -> None:
    """One of these requests, aimed at a document of another: an error, and nothing of anybody in it."""
    attacker = attempt.attacker(*_HOLDERS)
    victim = attempt.victim(attacker)
    target = attempt.target(victim)
    key = key_id_of(attacker)
    names = {"{alias}": reading_alias(target.shelf), "{id}": str(target.id), "{key}": key}
    method, path, body = (_filled(part, names) for part in attempt.chance.choice(requests))
    answer = ask(key_of(attacker), method, path, body)
    attempt.shows(attacker, answer.text, sent=[path, str(body)])
    # Nothing of this may even be looked for: an answer that something is not there comes after the right to ask for it.
    failed = answer.refused and answer.status != MISSING
    if not failed and not (path == "/_bulk" and answer.body.get("errors")):
        attempt.found(attacker, NOBODY if "_security" in path else victim.number, Told.DONE)


def _filled(part: Any, names: dict[str, str]) -> Any:
    """The request with the names in their places."""
    match part:
        case str():
            for name, value in names.items():
                part = part.replace(name, value)
            return part
        case dict():
            return {key: _filled(value, names) for key, value in part.items()}
        case list():
            return [_filled(value, names) for value in part]
        case _:
            return part
