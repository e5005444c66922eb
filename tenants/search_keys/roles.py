"""What each service identity may do at the cluster: the least that its work needs, found out on a real one.

Pure: `manage.py elasticsearch setup` sends what is here, `check` compares with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from memoryhub.elasticsearch import Identity, index_patterns, reading_aliases
from tenants.search_keys.descriptor import SEARCH_ACTIONS
from tenants.search_keys.naming import installation

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
