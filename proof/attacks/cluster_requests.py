"""Requests that a member's key must not allow at all, and ended keys, which must not allow anything.

Requests that would do damage name only objects that the proof created, or that do not exist.
"""

from __future__ import annotations

from memories.recall.pipeline import recall
from memories.types import Kind
from memoryhub.elasticsearch import reading_alias
from proof.attack import NOBODY, Attempt, Target, attack
from proof.attacks.cluster_searches import HOLDERS
from proof.cluster import MISSING, PLANE, UNAUTHORIZED, ask, key_id_of, key_of
from proof.marks import Exposure
from proof.requests import ProofRequest, filled
from proof.world import Persona

# Gets, term vectors, explanations, shards, mappings: a key's query cannot filter all of their answers.
READS: tuple[ProofRequest, ...] = (
    ProofRequest("GET", "/{alias}/_doc/{memory}"),
    ProofRequest("HEAD", "/{alias}/_doc/{memory}"),
    ProofRequest("GET", "/{alias}/_source/{memory}"),
    ProofRequest("POST", "/{alias}/_mget", {"ids": ["{memory}"]}),
    ProofRequest("POST", "/_mget", {"docs": [{"_index": "{alias}", "_id": "{memory}"}]}),
    ProofRequest("POST", "/{alias}/_termvectors/{memory}", {"term_statistics": True}),
    ProofRequest("POST", "/{alias}/_termvectors", {"doc": {"text": "locker alarm"}, "term_statistics": True}),
    ProofRequest("POST", "/{alias}/_mtermvectors", {"ids": ["{memory}"]}),
    ProofRequest("POST", "/{alias}/_explain/{memory}", {"query": {"match_all": {}}}),
    ProofRequest("GET", "/{alias}/_field_caps?fields=*&include_empty_fields=false"),
    ProofRequest("GET", "/{alias}/_search_shards"),
    ProofRequest(
        "POST", "/{alias}/_validate/query?rewrite=true&all_shards=true", {"query": {"prefix": {"text": "zq"}}}
    ),
    ProofRequest("POST", "/{alias}/_terms_enum", {"field": "user", "string": ""}),
    ProofRequest("POST", "/{alias}/_pit?keep_alive=1s"),
    ProofRequest("POST", "/{alias}/_async_search", {}),
    ProofRequest("POST", "/{alias}/_eql/search", {"query": "any where true"}),
    ProofRequest("POST", "/_sql", {"query": 'SELECT * FROM "{alias}"'}),
    ProofRequest("POST", "/_query", {"query": "FROM {alias}"}),
    ProofRequest("POST", "/{alias}/_graph/explore", {"query": {"match_all": {}}, "vertices": [{"field": "user"}]}),
    ProofRequest("POST", "/{alias}/_analyze", {"field": "text", "text": "locker"}),
    ProofRequest("POST", "/{alias}/_disk_usage?run_expensive_tasks=true"),
    ProofRequest("GET", "/{alias}/_mapping"),
    ProofRequest("GET", "/{alias}/_settings"),
    ProofRequest("GET", "/{alias}/_stats"),
    ProofRequest("GET", "/{alias}/_segments"),
    ProofRequest("GET", "/{alias}/_recovery"),
    ProofRequest("GET", "/_cat/indices"),
    ProofRequest("GET", "/_cat/shards"),
    ProofRequest("GET", "/_cluster/state"),
    ProofRequest("GET", "/_cluster/health"),
    ProofRequest("GET", "/_nodes"),
    ProofRequest("GET", "/_nodes/stats"),
    ProofRequest("GET", "/_tasks?detailed=true"),
    ProofRequest("GET", "/_resolve/index/*"),
)
# A key's query does not limit writes, so no member's key may write.
WRITES: tuple[ProofRequest, ...] = (
    ProofRequest("PUT", "/{alias}/_doc/{memory}", {"text": "mine"}),
    ProofRequest("PUT", "/{alias}/_create/{memory}", {"text": "mine"}),
    ProofRequest("POST", "/{alias}/_update/{memory}", {"doc": {"text": "mine"}}),
    ProofRequest("DELETE", "/{alias}/_doc/{memory}"),
    ProofRequest("PUT", "/{alias}-writing/_doc/{memory}", {"text": "mine"}),
    ProofRequest("DELETE", "/{alias}-writing/_doc/{memory}"),
    ProofRequest("POST", "/_bulk", [{"delete": {"_index": "{alias}", "_id": "{memory}"}}]),
    ProofRequest("POST", "/_bulk", [{"index": {"_index": "{alias}-writing", "_id": "{memory}"}}, {"text": "mine"}]),
    ProofRequest("POST", "/{alias}/_delete_by_query", {"query": {"ids": {"values": ["{memory}"]}}}),
    ProofRequest("POST", "/{alias}/_update_by_query", {"query": {"ids": {"values": ["{memory}"]}}}),
    ProofRequest("POST", "/{alias}/_refresh"),
    ProofRequest("POST", "/{alias}/_forcemerge?only_expunge_deletes=true"),
    ProofRequest("DELETE", "/{alias}-isolation-proof"),
    ProofRequest("POST", "/{alias}-writing/_rollover?dry_run=true"),
    ProofRequest("PUT", "/{alias}/_mapping", {"properties": {}}),
    ProofRequest("PUT", "/{alias}/_settings", {"index": {"hidden": False}}),
    ProofRequest("POST", "/_aliases", {"actions": [{"remove": {"index": "{alias}", "alias": "isolation-proof"}}]}),
    ProofRequest("POST", "/_index_template/_simulate_index/{alias}-isolation-proof"),
    ProofRequest("DELETE", "/_scripts/isolation-proof"),
    ProofRequest("GET", "/_cluster/settings"),
)
# Read, make, clone, widen or end a key; manage users and roles.
SECURITY: tuple[ProofRequest, ...] = (
    ProofRequest("GET", "/_security/api_key"),
    ProofRequest("GET", "/_security/api_key?with_limited_by=true&active_only=true"),
    ProofRequest("POST", "/_security/_query/api_key", {"size": 100}),
    ProofRequest("POST", "/_security/api_key", {"name": "isolation-proof", "expiration": "1s"}),
    ProofRequest(
        "POST", "/_security/api_key/clone", {"api_key": "{key}", "name": "isolation-proof", "expiration": "1s"}
    ),
    ProofRequest(
        "POST",
        "/_security/api_key/grant",
        {"grant_type": "access_token", "access_token": "x", "api_key": {"name": "x"}},
    ),
    ProofRequest("PUT", "/_security/api_key/{key}", {"role_descriptors": {"all": {"cluster": ["all"]}}}),
    ProofRequest("POST", "/_security/api_key/_bulk_update", {"ids": ["{key}"]}),
    ProofRequest("DELETE", "/_security/api_key", {"ids": ["{key}"]}),
    ProofRequest("GET", "/_security/user"),
    ProofRequest("GET", "/_security/role"),
    ProofRequest("GET", "/_security/role_mapping"),
    ProofRequest("DELETE", "/_security/user/isolation-proof"),
    ProofRequest("DELETE", "/_security/role/isolation-proof"),
    ProofRequest("GET", "/_security/profile/_suggest"),
)

# Requests that a key allows: the answer must be about its holder.
ALLOWED: tuple[ProofRequest, ...] = (
    ProofRequest("GET", "/_security/_authenticate"),
    ProofRequest("GET", "/_security/api_key?owner=true"),
    ProofRequest("GET", "/_security/user/_privileges"),
    ProofRequest(
        "POST", "/_security/user/_has_privileges", {"index": [{"names": ["*"], "privileges": ["read", "write"]}]}
    ),
    ProofRequest("POST", "/{facts}/_search/template", {"source": {"query": {"match_all": {}}}}),
    ProofRequest("POST", "/{facts}/_rank_eval", {"requests": [], "metric": {"precision": {}}}),
    ProofRequest("GET", "/_cat/count/{facts}"),
)


def _refused(name: str, weight: int, rows: tuple[ProofRequest, ...]) -> None:
    """Register an attack with requests about another's document; each must fail and show nothing."""

    @attack(name, weight=weight, tests=Target.SEARCH_GUARD, only_on=PLANE)
    def run(attempt: Attempt) -> None:
        aim = attempt.aim(*HOLDERS)
        key_id = key_id_of(aim.attacker)
        row = filled(attempt.chance.choice(rows), lambda name: key_id if name == "key" else aim.value(name))
        reply = ask(key_of(aim.attacker), row.method, row.path, row.body)
        attempt.scan(aim.attacker, reply.text, sent=row)
        # A 404 is no refusal: Elasticsearch answers it only after it granted the privilege.
        failed = reply.refused and reply.status != MISSING
        if not failed and not (row.path == "/_bulk" and reply.body.get("errors")):
            owner = NOBODY if "_security" in row.path else aim.victim.number
            attempt.found(aim.attacker, owner, Exposure.DONE)


_refused("cluster: read without a search", 10, READS)
_refused("cluster: write", 8, WRITES)
_refused("cluster: keys, users and roles", 5, SECURITY)


@attack("cluster: questions about the key itself", weight=2, tests=Target.SEARCH_GUARD, only_on=PLANE)
def itself(attempt: Attempt) -> None:
    """Requests that a key may make about itself."""
    aim = attempt.aim(*HOLDERS)
    row, _ = aim.fill(attempt.chance.choice(ALLOWED))
    attempt.scan(aim.attacker, ask(key_of(aim.attacker), row.method, row.path, row.body).text)


@attack("cluster: ended keys", weight=4, tests=Target.SEARCH_GUARD, only_on=PLANE)
def ended(attempt: Attempt) -> None:
    """Use replaced and invalidated keys, keys of a deactivated member, and keys combined from two."""
    attacker, pick = attempt.attacker(*HOLDERS), attempt.chance.choice
    own, key = key_of(attacker), pick(attempt.world.ended_keys)
    encoded = pick([key.encoded, key.encoded, own[:-6] + key.encoded[-6:], key.encoded[:24] + own[24:]])
    if encoded == own:
        return  # the two keys are equal in the combined part, so the combination is the attacker's own valid key
    facts = reading_alias(Kind.SEMANTIC)
    path = pick([f"/{facts}/_search", "/_msearch", "/_security/_authenticate"])
    body = [{"index": facts}, {}] if path == "/_msearch" else None
    reply = ask(encoded, "POST" if body else "GET", path, body)
    attempt.scan(attacker, reply.text, allowed=())
    if reply.status != UNAUTHORIZED:
        attempt.found(attacker, key.resident.number, Exposure.DONE)


@attack("recall: as a deactivated member", weight=2, only_on=PLANE)
def deactivated(attempt: Attempt) -> None:
    """A deactivated member has no key, so recall must fail."""
    aim = attempt.aim(Persona.GHOST)
    words = aim.own().words
    attempt.denied(aim.attacker, aim.attacker.number, lambda: recall(aim.who, words, record=False).items)
