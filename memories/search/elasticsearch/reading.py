"""What the indices hold, for comparing with the database: read by the checker, in commands and sweeps alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from elasticsearch import Elasticsearch

from memories.search.base import StoredState
from memories.search.elasticsearch.documents import visibility_of
from memories.search.elasticsearch.routing import ARCHIVE, SHELVES
from memories.search.elasticsearch.transport import cluster_errors
from memories.types import Kind, Owner, Status
from memoryhub.elasticsearch import reading_alias

PAGE = 2_000


def stored(client: Elasticsearch, owner: Owner, shelves: Sequence[str] = SHELVES) -> Iterator[StoredState]:
    """What the indices hold of an owner, shelf by shelf, by id. Raises SearchUnavailable."""
    for shelf in shelves:
        for hit in _all(client, shelf, _of(owner)):
            (status,) = hit["fields"]["status"]
            kind = hit["fields"]["kind"][0] if shelf == ARCHIVE else shelf
            yield StoredState(Kind(kind), UUID(hit["_id"]), int(hit["_version"]), Status(status), shelf == ARCHIVE)


def owners(client: Elasticsearch) -> Iterator[Owner]:
    """Everybody whose memories the indices hold; may repeat one."""
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
