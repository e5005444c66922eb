"""Templates, indices and aliases: how the indices of an installation are laid out, and how a new one takes over.

Each kind has two names. Members search by the reading alias, behind which there is always one complete index; changes
go to every index behind the writing alias, two while a rebuild fills the next one. Invariant: the reading alias never
points at an index that was not filled from the database, so an empty index never passes for an empty memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from elasticsearch import Elasticsearch

from memories.models import MEMORY_MODELS
from memories.search.elasticsearch.documents import SETTINGS, mapping_of
from memories.types import Kind
from memoryhub.elasticsearch import reading_alias, writing_alias, writing_pattern

TEMPLATE_PRIORITY = 500


def install(manager: Elasticsearch) -> None:
    """Make the template of each kind: its mapping and settings, for indices that are made on purpose alone."""
    for kind in Kind:
        manager.indices.put_index_template(
            name=reading_alias(kind),
            index_patterns=[f"{reading_alias(kind)}-*"],
            priority=TEMPLATE_PRIORITY,
            allow_auto_create=False,
            template={"settings": SETTINGS, "mappings": mapping_of(kind)},
        )


def create_missing(manager: Elasticsearch) -> list[str]:
    """Make an index for each kind that has none; return their names.

    Members can search it at once if the database has no memories; else `index rebuild` has to fill one first.
    """
    missing = [kind for kind, indices in targets(manager, Kind).items() if not indices]
    made = {kind: new_index(manager, kind) for kind in missing}
    if made and not any(model.objects.exists() for model in MEMORY_MODELS.values()):
        for kind, index in made.items():
            point(manager, kind, index)
    return [*made.values()]


def unfilled(manager: Elasticsearch) -> list[Kind]:
    """The kinds that members cannot search yet: `index rebuild` fills their index from the database."""
    return [kind for kind in Kind if not manager.indices.exists_alias(name=reading_alias(kind))]


def targets(client: Elasticsearch, kinds: Iterable[Kind]) -> Mapping[Kind, list[str]]:
    """The indices that changes of each kind must reach; asked anew for each batch, for a rebuild adds one."""
    names = {writing_alias(kind): kind for kind in kinds}
    found: dict[Kind, list[str]] = {kind: [] for kind in names.values()}
    described = client.indices.get_alias(name=writing_pattern())
    for index in sorted(described):
        for alias in described[index]["aliases"]:
            if alias in names:
                found[names[alias]].append(index)
    return found


def encoders(client: Elasticsearch) -> set[str]:
    """The names of the encoders whose vectors the indices hold: one, unless a rebuild is due."""
    mappings = client.indices.get_mapping(index=writing_pattern())
    return {described["mappings"].get("_meta", {}).get("encoder", "") for _, described in mappings.items()}


def new_index(manager: Elasticsearch, kind: Kind) -> str:
    """Make an empty index of this kind that changes reach from now on; return its name."""
    index = f"{reading_alias(kind)}-{datetime.now(UTC):%Y%m%d%H%M%S%f}"
    manager.indices.create(index=index, aliases={writing_alias(kind): {}})
    return index


def point(manager: Elasticsearch, kind: Kind, index: str) -> list[str]:
    """Let members search `index` from now on, in one step; return the indices before it, which nobody needs any more.

    Searches and writes that began before may still be at work on those: `drop` them a little later.
    """
    old = [name for name in indices_of(manager, kind) if name != index]
    actions: list[dict[str, Any]] = []
    for alias in (reading_alias(kind), writing_alias(kind)):
        actions += [{"add": {"index": index, "alias": alias}}]
        actions += [{"remove": {"index": name, "alias": alias, "must_exist": False}} for name in old]
    manager.indices.update_aliases(actions=actions)
    return old


def drop(manager: Elasticsearch, indices: Iterable[str]) -> None:
    """Remove indices that nobody searches or writes to."""
    for index in indices:
        manager.indices.delete(index=index, ignore_unavailable=True)


def indices_of(manager: Elasticsearch, kind: Kind) -> list[str]:
    """Every index of this kind, whatever alias it has."""
    found = manager.indices.get(index=f"{reading_alias(kind)}-*", expand_wildcards="all", features="aliases")
    return sorted(found)
