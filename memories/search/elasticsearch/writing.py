"""Writes by the indexer: versioned documents and tombstones, in bulk.

Writes name existing indices, so none is created by accident. The cluster refuses a lower or equal version, which
counts as done. An error names its type and never a document's content.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from elasticsearch import Elasticsearch
from elasticsearch.helpers import streaming_bulk

from memories.errors import SearchUnavailable
from memories.search.base import Tombstone
from memories.search.elasticsearch.indices import targets
from memories.search.elasticsearch.mappings import actions
from memories.search.elasticsearch.queries import index_name_of, index_names_of, leaving
from memories.search.elasticsearch.transport import CONFLICT, MISSING, NO_ANSWER, NO_INDEX, cluster_errors
from memories.types import SearchDocument, Status

log = logging.getLogger(__name__)

CHUNK = 500
CHUNK_BYTES = 20 * 2**20
_REFUSED = 400


class DocumentRefused(Exception):
    """The cluster refuses this document permanently: a fault of ours."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Documents to write and tombstones to write after them, by logical index."""

    arrivals: list[tuple[str, SearchDocument]] = field(default_factory=list)
    departures: list[tuple[str, Tombstone]] = field(default_factory=list)


def changes(documents: Iterable[SearchDocument]) -> Changes:
    """Documents as changes. Each leaves the other index where it may have been; an evicted one leaves all."""
    wanted = Changes()
    for item in documents:
        if item.status is Status.EVICTED:
            wanted.departures.extend(removals([Tombstone(item.kind, item.id, item.version)]).departures)
        else:
            wanted.arrivals.append((index_name_of(item), item))
            wanted.departures.extend(leaving(item))
    return wanted


def removals(tombstones: Iterable[Tombstone]) -> Changes:
    """Tombstones as changes to every index that may hold the memory."""
    return Changes(departures=[(index_name, item) for item in tombstones for index_name in index_names_of(item.kind)])


def write(client: Elasticsearch, wanted: Changes) -> None:
    """Write changes to every index behind their aliases. Raises SearchUnavailable, DocumentRefused.

    A memory leaves its old index only after it arrived in the new one.
    """
    index_names = sorted({index_name for index_name, _ in (*wanted.arrivals, *wanted.departures)})
    if not index_names:
        return
    with cluster_errors():
        indices = targets(client, index_names)
        if not all(indices.values()):
            raise SearchUnavailable(NO_INDEX)
        for step in (wanted.arrivals, wanted.departures):
            if step:
                send(client, actions(step, indices))


def send(client: Elasticsearch, prepared: Iterable[dict[str, Any]], *, may_leave_out: int = 0) -> int:
    """Send prepared actions; return how many were done. Raises SearchUnavailable, DocumentRefused, ApiError.

    Up to `may_leave_out` documents that the cluster does not take are named in the log and left out.
    """
    count = left_out = 0
    for _, item in streaming_bulk(
        client,
        prepared,
        chunk_size=CHUNK,
        max_chunk_bytes=CHUNK_BYTES,
        raise_on_error=False,
        raise_on_exception=True,
        max_retries=0,
    ):
        (result,) = item.values()
        try:
            _expect_done(int(result["status"]), result.get("error"))
        except DocumentRefused as error:
            left_out += 1
            if left_out > may_leave_out:
                raise
            log.warning("%s It is left out: %s in %s.", error, result["_id"], result["_index"])
            continue
        count += 1
    return count


def _expect_done(status: int, error: Any) -> None:
    if status < _REFUSED or status == CONFLICT:
        return
    if status == MISSING:
        raise SearchUnavailable(NO_INDEX)
    if status == _REFUSED:
        kind = error.get("type", "unknown") if isinstance(error, dict) else "unknown"
        raise DocumentRefused(f"The search cluster does not take a document: {kind}.")
    raise SearchUnavailable(NO_ANSWER)
