"""Templates, indices and aliases: the layout of an installation, the takeover by a new index, and what indices hold.

Each logical index (`index_name`: a kind, or the archive) has two aliases. Members search by the reading alias, which
always points at one index that was filled from the database, so an empty index never passes for an empty memory.
Changes go to every index behind the writing alias: two while a rebuild fills the next one. The checker reads indices in
commands and sweeps only.
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
    """Create or update the template of each logical index: mapping and settings, without auto-creation.

    An existing archive is put under the configured lifecycle policy, or taken from it.
    """
    for index_name in INDEX_NAMES:
        manager.indices.put_index_template(
            name=reading_alias(index_name),
            index_patterns=[f"{reading_alias(index_name)}-*"],
            priority=TEMPLATE_PRIORITY,
            allow_auto_create=False,
            template={"settings": settings_of(index_name), "mappings": mapping_of(index_name)},
        )
    _apply_policy(manager)


def settings_of(index_name: str) -> dict[str, Any]:
    """The settings of a logical index."""
    return {**SETTINGS, **(lifecycle_settings() if index_name == ARCHIVE else {})}


def create_missing(manager: Elasticsearch) -> list[str]:
    """Create an index for each logical index that has none; return their names.

    Members can search it at once if the database has nothing to put there; else `index rebuild` has to fill one first.
    """
    missing = [index_name for index_name, indices in targets(manager, INDEX_NAMES).items() if not indices]
    made = {index_name: new_index(manager, index_name) for index_name in missing}
    for index_name, index in made.items():
        if not _is_wanted(index_name):
            point(manager, index_name, index)
    return [*made.values()]


def unfilled(manager: Elasticsearch) -> list[str]:
    """The logical indices that members cannot search yet: `index rebuild` fills them from the database."""
    return [
        index_name for index_name in INDEX_NAMES if not manager.indices.exists_alias(name=reading_alias(index_name))
    ]


def targets(client: Elasticsearch, index_names: Iterable[str]) -> Mapping[str, list[str]]:
    """The indices behind each writing alias; read for each batch, because a rebuild adds one."""
    names = {writing_alias(index_name): index_name for index_name in index_names}
    found: dict[str, list[str]] = {index_name: [] for index_name in names.values()}
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


def new_index(manager: Elasticsearch, index_name: str) -> str:
    """Create an empty index that receives all changes from now on; return its name."""
    index = f"{reading_alias(index_name)}-{datetime.now(UTC):%Y%m%d%H%M%S%f}"
    manager.indices.create(index=index, aliases={writing_alias(index_name): {}})
    return index


def point(manager: Elasticsearch, index_name: str, index: str) -> list[str]:
    """Switch the aliases to `index` in one step; return the replaced indices.

    Running searches and writes may still use those: `drop` them a little later.
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
    """Every index of a logical index, with any alias."""
    found = manager.indices.get(index=f"{reading_alias(index_name)}-*", expand_wildcards="all", features="aliases")
    return sorted(found)


def _is_wanted(index_name: str) -> bool:
    """True if the database has memories for this logical index."""
    if index_name != ARCHIVE:
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


def stored(client: Elasticsearch, owner: Owner, index_names: Sequence[str] = INDEX_NAMES) -> Iterator[StoredState]:
    """An owner's documents, by logical index and id. Raises SearchUnavailable."""
    for index_name in index_names:
        for hit in _all(client, index_name, _of(owner)):
            (status,) = hit["fields"]["status"]
            kind = hit["fields"]["kind"][0] if index_name == ARCHIVE else index_name
            yield StoredState(Kind(kind), UUID(hit["_id"]), int(hit["_version"]), Status(status), index_name == ARCHIVE)


def owners(client: Elasticsearch) -> Iterator[Owner]:
    """All owners of documents; may repeat one."""
    for index_name in INDEX_NAMES:
        yield from _owners_of(client, index_name)


def removed_before(client: Elasticsearch, index_name: str, moment: str) -> list[tuple[str, int]]:
    """Some of the tombstones from before `moment` (ISO 8601), the oldest first: their ids and versions."""
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
