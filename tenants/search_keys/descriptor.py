"""What a member's key may do, as the cluster is told: search five aliases for what the member may see, nothing else.

Pure: minting sends what is built here, and verifying compares with it. Invariant: no key is asked for that is not
limited by a query for each alias; the cluster takes empty descriptors to mean all rights of whoever asks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

ROLE = "member"
# The actions themselves: the privilege `read` would open term vectors, explanations and gets as well, which tell of
# documents that the query hides.
SEARCH_ACTIONS = ("indices:data/read/search", "indices:data/read/msearch")

Descriptors = Mapping[str, Mapping[str, Any]]


class UnlimitedKey(Exception):
    """A key that could do more than search what one member may see. It was not asked for."""


def member_query(tenant_id: UUID, user_id: UUID) -> dict[str, Any]:
    """The documents that a member may find: their own, what their tenant shares, what everybody shares.

    Each is named by a term that must be there, so a document without an owner (a tombstone) is found by nobody.
    """
    tenant = {"term": {"tenant": str(tenant_id)}}
    own = [{"term": {"visibility": "user"}}, tenant, {"term": {"user": str(user_id)}}]
    shared = [{"term": {"visibility": "tenant"}}, tenant]
    return {
        "bool": {
            "should": [
                {"bool": {"filter": own}},
                {"bool": {"filter": shared}},
                {"term": {"visibility": "global"}},
            ],
            "minimum_should_match": 1,
        }
    }


def member_descriptors(aliases: Iterable[str], *, tenant_id: UUID, user_id: UUID) -> dict[str, dict[str, Any]]:
    """The role descriptors of a member's key: one entry for each alias, by its exact name, each with the query."""
    query = json.dumps(member_query(tenant_id, user_id))
    entries = [{"names": [alias], "privileges": list(SEARCH_ACTIONS), "query": query} for alias in aliases]
    return {ROLE: {"cluster": [], "indices": entries}}


def require_limited(descriptors: Descriptors, aliases: Iterable[str]) -> None:
    """Raise UnlimitedKey unless these descriptors open each of `aliases` once, to searches limited by a query."""
    if len(descriptors) != 1:
        raise UnlimitedKey("A member's key has exactly one role.")
    (role,) = descriptors.values()
    if role.get("cluster") or role.keys() - {"cluster", "indices"}:
        raise UnlimitedKey("A member's key has no rights but those on indices.")
    opened = sorted(name for entry in role.get("indices", ()) for name in entry.get("names", ()))
    if not opened or opened != sorted(aliases):
        raise UnlimitedKey("A member's key opens each reading alias once, and nothing else.")
    for entry in role["indices"]:
        if len(entry["names"]) != 1 or set(entry.get("privileges", ())) != set(SEARCH_ACTIONS):
            raise UnlimitedKey("A member's key may search, and nothing else.")
        if not _limits(entry.get("query")):
            raise UnlimitedKey("A member's key needs a query for each alias.")


def _limits(query: object) -> bool:
    try:
        parsed = json.loads(query) if isinstance(query, str) else query
    except ValueError:
        return False
    return isinstance(parsed, dict) and bool(parsed) and "match_all" not in parsed
