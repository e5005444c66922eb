"""Templates, indices and aliases of the search plane: their layout, the switch to a new index, and listings.

Each logical index (`index_name`: a kind, or the archive) has two aliases. Members search the reading alias, which
always points to one index that was filled from the database, so an empty index is never mistaken for an empty memory.
Changes are written to every index behind the writing alias; there are two while a rebuild fills the next one. The
checker identity reads indices in commands and sweeps only.
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
from memories.search.elasticsearch.queries import ARCHIVE, INDEX_NAMES
from memories.search.elasticsearch.transport import LIFECYCLE, cluster_errors, lifecycle_settings
from memories.types import Kind, Owner, Status
from memoryhub.elasticsearch import reading_alias, writing_alias, writing_pattern

TEMPLATE_PRIORITY = 500


def install(manager: Elasticsearch) -> None:
    """Create or update the template (mapping, settings, no auto-creation) of each logical index.

    The configured lifecycle policy is applied to existing archive indices, or removed from them.
    """
    for index_name in INDEX_NAMES:
        manager.indices.put_index_template(
            name=reading_alias(index_name),
            index_patterns=[f"{reading_alias(index_name)}-*"],
            priority=TEMPLATE_PRIORITY,
            allow_auto_create=False,
            template={"settings": settings_of(index_name), "mappings": mapping_of(index_name)},
        )
        # An index of an earlier layout takes new documents until a rebuild replaces it.
        properties = mapping_of(index_name)["properties"]
        for index in indices_of(manager, index_name):
            manager.indices.put_mapping(index=index, properties={"tokens": properties["tokens"]})
    _apply_policy(manager)


def settings_of(index_name: str) -> dict[str, Any]:
    """Return the settings of a logical index."""
    return {**SETTINGS, **(lifecycle_settings() if index_name == ARCHIVE else {})}


def create_missing(manager: Elasticsearch) -> list[str]:
    """Create an index for each logical index that has none; return the names.

    A new index is searchable at once if the database has no memories for it; otherwise `index rebuild` has to fill one
    first.
    """
    missing = [index_name for index_name, indices in targets(manager, INDEX_NAMES).items() if not indices]
    made = {index_name: new_index(manager, index_name) for index_name in missing}
    for index_name, index in made.items():
        if not _is_wanted(index_name):
            point(manager, index_name, index)
    return [*made.values()]


def unfilled(manager: Elasticsearch) -> list[str]:
    """Return the logical indices that members cannot search until `index rebuild` has filled them."""
    return [
        index_name for index_name in INDEX_NAMES if not manager.indices.exists_alias(name=reading_alias(index_name))
    ]


def targets(client: Elasticsearch, index_names: Iterable[str]) -> Mapping[str, list[str]]:
    """Return the indices behind each writing alias. Read for each batch, because a rebuild adds one."""
    names = {writing_alias(index_name): index_name for index_name in index_names}
    found: dict[str, list[str]] = {index_name: [] for index_name in names.values()}
    # Security expands the pattern to index names first; a rebuild may drop one of them in between.
    described = client.indices.get_alias(name=writing_pattern(), ignore_unavailable=True)
    for index in sorted(described):
        for alias in described[index]["aliases"]:
            if alias in names:
                found[names[alias]].append(index)
    return found


def stamps(client: Elasticsearch) -> list[dict[str, Any]]:
    """Return what the documents of each index were made with; another than `stamp` means that a rebuild is due."""
    mappings = client.indices.get_mapping(index=writing_pattern())
    return [described["mappings"].get("_meta", {}) for _, described in mappings.items()]


# By index; an index keeps what it was made with.
_stamps: dict[str, Mapping[str, Any]] = {}


def stamps_of(client: Elasticsearch, indices: Iterable[str]) -> Mapping[str, Mapping[str, Any]]:
    """Return what the documents of each of these indices were made with."""
    wanted = [*indices]
    if unknown := [index for index in wanted if index not in _stamps]:
        for index, described in client.indices.get_mapping(index=unknown, ignore_unavailable=True).items():
            _stamps[index] = described["mappings"].get("_meta", {})
    return {index: _stamps[index] for index in wanted if index in _stamps}


def new_index(manager: Elasticsearch, index_name: str) -> str:
    """Create an empty index behind the writing alias, so that it receives all further changes; return its name."""
    index = f"{reading_alias(index_name)}-{datetime.now(UTC):%Y%m%d%H%M%S%f}"
    manager.indices.create(index=index, aliases={writing_alias(index_name): {}})
    return index


def point(manager: Elasticsearch, index_name: str, index: str) -> list[str]:
    """Switch the aliases to `index` atomically; return the replaced indices.

    Running searches and writes may still use the replaced ones, so `drop` them a little later.
    """
    old = [name for name in indices_of(manager, index_name) if name != index]
    actions: list[dict[str, Any]] = []
    for alias in (reading_alias(index_name), writing_alias(index_name)):
        actions += [{"add": {"index": index, "alias": alias}}]
        actions += [{"remove": {"index": name, "alias": alias, "must_exist": False}} for name in old]
    manager.indices.update_aliases(actions=actions)
    return old


def drop(manager: Elasticsearch, indices: Iterable[str]) -> None:
    """Delete replaced indices."""
    for index in indices:
        manager.indices.delete(index=index, ignore_unavailable=True)


def indices_of(manager: Elasticsearch, index_name: str) -> list[str]:
    """Return every index of a logical index, whatever its aliases."""
    found = manager.indices.get(index=f"{reading_alias(index_name)}-*", expand_wildcards="all", features="aliases")
    return sorted(found)


def _is_wanted(index_name: str) -> bool:
    """True if the database has memories for this logical index."""
    if index_name != ARCHIVE:
        of_kind = [model for kind, model in MEMORY_MODELS.items() if kind == index_name]
        return any(model.objects.unscoped("search index of every owner").exists() for model in of_kind)
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


def stored(client: Elasticsearch, owner: Owner, index_names: Sequence[str] = INDEX_NAMES) -> Iterator[StoredState]:
    """Yield an owner's documents, by logical index and id. Raises SearchUnavailable."""
    for index_name in index_names:
        for hit in _all(client, index_name, _of(owner)):
            (status,) = hit["fields"]["status"]
            kind = hit["fields"]["kind"][0] if index_name == ARCHIVE else index_name
            yield StoredState(Kind(kind), UUID(hit["_id"]), int(hit["_version"]), Status(status), index_name == ARCHIVE)


def owners(client: Elasticsearch) -> Iterator[Owner]:
    """Yield all owners of documents, possibly repeated."""
    for index_name in INDEX_NAMES:
        yield from _owners_of(client, index_name)


def removed_before(client: Elasticsearch, index_name: str, moment: str) -> list[tuple[str, int]]:
    """Return (id, version) of the oldest tombstones from before `moment` (ISO 8601), at most one page."""
    query = {"range": {"gone_at": {"lt": moment}}}
    with cluster_errors():
        answer = _page(client, index_name, [query], "gone_at", None)
    return [(hit["_id"], int(hit["_version"])) for hit in answer["hits"]["hits"]]


def _of(owner: Owner) -> list[dict[str, Any]]:
    filters: list[dict[str, Any]] = [{"term": {"visibility": visibility_of(owner)}}]
    if owner.tenant_id is not None:
        filters.append({"term": {"tenant": str(owner.tenant_id)}})
    if owner.user_id is not None:
        filters.append({"term": {"user": str(owner.user_id)}})
    return filters


def _all(client: Elasticsearch, index_name: str, filters: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    after: list[Any] | None = None
    while True:
        with cluster_errors():
            answer = _page(client, index_name, filters, "id", after)
        hits: list[dict[str, Any]] = answer["hits"]["hits"]
        yield from hits
        if len(hits) < PAGE:
            return
        after = hits[-1]["sort"]


def _page(
    client: Elasticsearch, index_name: str, filters: list[dict[str, Any]], by: str, after: list[Any] | None
) -> Any:
    return client.search(
        index=reading_alias(index_name),
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


def _owners_of(client: Elasticsearch, index_name: str) -> Iterator[Owner]:
    after: dict[str, Any] | None = None
    sources: list[dict[str, Any]] = [
        {name: {"terms": {"field": name, "missing_bucket": True}}} for name in ("visibility", "tenant", "user")
    ]
    while True:
        composite: dict[str, Any] = {"size": PAGE, "sources": sources} | ({"after": after} if after else {})
        with cluster_errors():
            answer = client.search(
                index=reading_alias(index_name),
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
