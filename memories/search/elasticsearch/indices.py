"""Templates, indices and aliases: the layout of an installation, the takeover by a new index, and what indices hold.

Each logical index (`shelf`: a kind, or the archive) has two aliases. Members search by the reading alias, which always
points at one index that was filled from the database, so an empty index never passes for an empty memory. Changes go
to every index behind the writing alias: two while a rebuild fills the next one. The checker reads indices in commands
and sweeps only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from elasticsearch import Elasticsearch

from memories.models import MEMORY_MODELS, Fact, Playbook
from memories.search.base import StoredState
from memories.search.elasticsearch.mappings import SETTINGS, mapping_of, visibility_of
from memories.search.elasticsearch.queries import ARCHIVE, SHELVES
from memories.search.elasticsearch.transport import LIFECYCLE, cluster_errors, lifecycle_settings
from memories.types import Kind, Owner, Status
from memoryhub.elasticsearch import reading_alias, writing_alias, writing_pattern

TEMPLATE_PRIORITY = 500


def install(manager: Elasticsearch) -> None:
    """Create or update the template of each logical index: mapping and settings, without auto-creation.

    An existing archive is put under the configured lifecycle policy, or taken from it.
    """
    for shelf in SHELVES:
        manager.indices.put_index_template(
            name=reading_alias(shelf),
            index_patterns=[f"{reading_alias(shelf)}-*"],
            priority=TEMPLATE_PRIORITY,
            allow_auto_create=False,
            template={"settings": settings_of(shelf), "mappings": mapping_of(shelf)},
        )
    _apply_policy(manager)


def settings_of(shelf: str) -> dict[str, Any]:
    """The settings of a logical index."""
    return {**SETTINGS, **(lifecycle_settings() if shelf == ARCHIVE else {})}


def create_missing(manager: Elasticsearch) -> list[str]:
    """Create an index for each logical index that has none; return their names.

    Members can search it at once if the database has nothing to put there; else `index rebuild` has to fill one first.
    """
    missing = [shelf for shelf, indices in targets(manager, SHELVES).items() if not indices]
    made = {shelf: new_index(manager, shelf) for shelf in missing}
    for shelf, index in made.items():
        if not _is_wanted(shelf):
            point(manager, shelf, index)
    return [*made.values()]


def unfilled(manager: Elasticsearch) -> list[str]:
    """The logical indices that members cannot search yet: `index rebuild` fills them from the database."""
    return [shelf for shelf in SHELVES if not manager.indices.exists_alias(name=reading_alias(shelf))]


def targets(client: Elasticsearch, shelves: Iterable[str]) -> Mapping[str, list[str]]:
    """The indices behind each writing alias; read for each batch, because a rebuild adds one."""
    names = {writing_alias(shelf): shelf for shelf in shelves}
    found: dict[str, list[str]] = {shelf: [] for shelf in names.values()}
    # Security resolves the pattern to the names of all indices first; one that a rebuild drops meanwhile is no error.
    described = client.indices.get_alias(name=writing_pattern(), ignore_unavailable=True)
    for index in sorted(described):
        for alias in described[index]["aliases"]:
            if alias in names:
                found[names[alias]].append(index)
    return found


def encoders(client: Elasticsearch) -> set[str]:
    """The names of the encoders of the stored vectors: one, unless a rebuild is due."""
    mappings = client.indices.get_mapping(index=writing_pattern())
    return {described["mappings"].get("_meta", {}).get("encoder", "") for _, described in mappings.items()}


def new_index(manager: Elasticsearch, shelf: str) -> str:
    """Create an empty index that receives all changes from now on; return its name."""
    index = f"{reading_alias(shelf)}-{datetime.now(UTC):%Y%m%d%H%M%S%f}"
    manager.indices.create(index=index, aliases={writing_alias(shelf): {}})
    return index


def point(manager: Elasticsearch, shelf: str, index: str) -> list[str]:
    """Switch the aliases to `index` in one step; return the replaced indices.

    Running searches and writes may still use those: `drop` them a little later.
    """
    old = [name for name in indices_of(manager, shelf) if name != index]
    actions: list[dict[str, Any]] = []
    for alias in (reading_alias(shelf), writing_alias(shelf)):
        actions += [{"add": {"index": index, "alias": alias}}]
        actions += [{"remove": {"index": name, "alias": alias, "must_exist": False}} for name in old]
    manager.indices.update_aliases(actions=actions)
    return old


def drop(manager: Elasticsearch, indices: Iterable[str]) -> None:
    """Delete replaced indices."""
    for index in indices:
        manager.indices.delete(index=index, ignore_unavailable=True)


def indices_of(manager: Elasticsearch, shelf: str) -> list[str]:
    """Every index of a logical index, with any alias."""
    found = manager.indices.get(index=f"{reading_alias(shelf)}-*", expand_wildcards="all", features="aliases")
    return sorted(found)


def _is_wanted(shelf: str) -> bool:
    """True if the database has memories for this logical index."""
    if shelf != ARCHIVE:
        return any(model.objects.unscoped("search index of every owner").exists() for model in MEMORY_MODELS.values())
    return any(
        model.objects.unscoped("search index of every owner").filter(archived_at__isnull=False).exists()
        for model in (Fact, Playbook)
    )


def _apply_policy(manager: Elasticsearch) -> None:
    wanted = lifecycle_settings().get(LIFECYCLE)
    found = manager.indices.get_settings(index=f"{reading_alias(ARCHIVE)}-*", name=LIFECYCLE, flat_settings=True)
    for index in indices_of(manager, ARCHIVE):
        if found.get(index, {}).get("settings", {}).get(LIFECYCLE) != wanted:
            manager.indices.put_settings(index=index, settings={LIFECYCLE: wanted})


PAGE = 2_000


def stored(client: Elasticsearch, owner: Owner, shelves: Sequence[str] = SHELVES) -> Iterator[StoredState]:
    """An owner's documents, by logical index and id. Raises SearchUnavailable."""
    for shelf in shelves:
        for hit in _all(client, shelf, _of(owner)):
            (status,) = hit["fields"]["status"]
            kind = hit["fields"]["kind"][0] if shelf == ARCHIVE else shelf
            yield StoredState(Kind(kind), UUID(hit["_id"]), int(hit["_version"]), Status(status), shelf == ARCHIVE)


def owners(client: Elasticsearch) -> Iterator[Owner]:
    """All owners of documents; may repeat one."""
    for shelf in SHELVES:
        yield from _owners_of(client, shelf)


def removed_before(client: Elasticsearch, shelf: str, moment: str) -> list[tuple[str, int]]:
    """Some of the tombstones from before `moment` (ISO 8601), the oldest first: their ids and versions."""
    query = {"range": {"gone_at": {"lt": moment}}}
    with cluster_errors():
        answer = _page(client, shelf, [query], "gone_at", None)
    return [(hit["_id"], int(hit["_version"])) for hit in answer["hits"]["hits"]]


def _of(owner: Owner) -> list[dict[str, Any]]:
    filters: list[dict[str, Any]] = [{"term": {"visibility": visibility_of(owner)}}]
    if owner.tenant_id is not None:
        filters.append({"term": {"tenant": str(owner.tenant_id)}})
    if owner.user_id is not None:
        filters.append({"term": {"user": str(owner.user_id)}})
    return filters


def _all(client: Elasticsearch, shelf: str, filters: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    after: list[Any] | None = None
    while True:
        with cluster_errors():
            answer = _page(client, shelf, filters, "id", after)
        hits: list[dict[str, Any]] = answer["hits"]["hits"]
        yield from hits
        if len(hits) < PAGE:
            return
        after = hits[-1]["sort"]


def _page(client: Elasticsearch, shelf: str, filters: list[dict[str, Any]], by: str, after: list[Any] | None) -> Any:
    return client.search(
        index=reading_alias(shelf),
        query={"bool": {"filter": filters}},
        sort=[{by: "asc"}],
        search_after=after,
        size=PAGE,
        source=False,
        version=True,
        docvalue_fields=[{"field": "status"}, {"field": "kind"}],
        track_total_hits=False,
        allow_partial_search_results=False,
    )


def _owners_of(client: Elasticsearch, shelf: str) -> Iterator[Owner]:
    after: dict[str, Any] | None = None
    sources: list[dict[str, Any]] = [
        {name: {"terms": {"field": name, "missing_bucket": True}}} for name in ("visibility", "tenant", "user")
    ]
    while True:
        composite: dict[str, Any] = {"size": PAGE, "sources": sources} | ({"after": after} if after else {})
        with cluster_errors():
            answer = client.search(
                index=reading_alias(shelf),
                size=0,
                aggregations={"owners": {"composite": composite}},
                track_total_hits=False,
                allow_partial_search_results=False,
            )
        grouped = answer["aggregations"]["owners"]
        for bucket in grouped["buckets"]:
            key = bucket["key"]
            if key["visibility"] is not None:
                yield Owner(_uuid(key["tenant"]), _uuid(key["user"]))
        after = grouped.get("after_key")
        if after is None:
            return


def _uuid(value: str | None) -> UUID | None:
    return None if value is None else UUID(value)
