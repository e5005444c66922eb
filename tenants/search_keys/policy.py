"""The names and rights of members' keys and of service identities at the cluster. Pure.

Keys are named `<prefix>:<membership id>:<number>`, or `<prefix>:temporary:<random>`. A member's key may search five
aliases, each limited by a query; empty descriptors would mean all rights of whoever asks, so none is sent without one.
Minting and `setup` send these descriptions, verification and `check` compare with them.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings

from memoryhub.elasticsearch import Identity, index_patterns, reading_aliases

TEMPORARY = "temporary"


def installation() -> str:
    """The prefix that all names of this installation share."""
    prefix: str = settings.ELASTICSEARCH_PREFIX
    return prefix


def member_key_name(membership_id: UUID, number: int) -> str:
    """The name of the member's `number`-th key."""
    return f"{installation()}:{membership_id}:{number}"


def temporary_key_name() -> str:
    """A name for a key that no membership keeps."""
    return f"{installation()}:{TEMPORARY}:{secrets.token_hex(8)}"


def is_temporary(name: str) -> bool:
    """Whether a key is one that no membership keeps."""
    return name.startswith(f"{installation()}:{TEMPORARY}:")


def belongs_here(name: str) -> bool:
    """Whether a key is one of this installation."""
    return name.startswith(f"{installation()}:")


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


SERVICES = (Identity.INDEXER, Identity.MINTER, Identity.MANAGER, Identity.CHECKER)

# Actions and not the privilege `index`: that one lets an update answer with the document it changed, so whoever writes
# could read everything, and it lets the mapping be changed. Names that end in an action cover its parts on the shards.
_WRITING = (
    "indices:data/write/bulk",
    "indices:data/write/index",
    "indices:data/write/delete",
    "indices:admin/aliases/get",
    "indices:admin/mappings/get",  # which encoder's vectors an index holds
    "maintenance",
)


@dataclass(frozen=True, slots=True)
class Rights:
    """Privileges on the cluster, and on indices by their exact names or patterns."""

    cluster: frozenset[str]
    indices: Mapping[str, frozenset[str]]

    @property
    def role(self) -> dict[str, Any]:
        """As the cluster takes them."""
        grouped: dict[frozenset[str], list[str]] = {}
        for name, privileges in self.indices.items():
            grouped.setdefault(privileges, []).append(name)
        entries = [{"names": names, "privileges": sorted(privileges)} for privileges, names in grouped.items()]
        return {"cluster": sorted(self.cluster), "indices": entries}


def role_name(identity: Identity) -> str:
    """The role of an identity."""
    return f"{installation()}-{identity.value}"


def rights_of(identity: Identity) -> Rights:
    """What a service identity may do, and nothing else. Raises ValueError for the one that sets the others up."""
    everything = index_patterns()
    match identity:
        case Identity.INDEXER:
            return _rights([], everything, _WRITING)
        case Identity.MINTER:
            # A key can do what its maker can and its descriptors say; so its maker can search, and is never asked to.
            return _rights(["manage_own_api_key"], reading_aliases(), SEARCH_ACTIONS)
        case Identity.MANAGER:
            reading = ["read_ilm"] if settings.ELASTICSEARCH_ARCHIVE_POLICY else []
            return _rights(["manage_index_templates", "monitor", *reading], everything, ["manage"])
        case Identity.CHECKER:
            return _rights([], everything, SEARCH_ACTIONS)
        case _:
            raise ValueError(f"The {identity.value} has no role of its own.")


def _rights(cluster: Sequence[str], names: Sequence[str], privileges: Sequence[str]) -> Rights:
    return Rights(frozenset(cluster), {name: frozenset(privileges) for name in names})
