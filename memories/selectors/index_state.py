"""Where a memory stands in the search plane, and what of a member's memory is still on its way there.

Invariant: what the plane holds is read with what the member themselves searches with, never with a right of ours, so
what is shown here is what a recall of theirs can find.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from django.db.models import Count, Max, Min

from memories.embedding import encoder_name
from memories.errors import SearchForbidden, SearchUnavailable
from memories.models import OutboxEntry
from memories.models.base import MemoryRow
from memories.models.supersedable import Supersedable
from memories.search import search_plane
from memories.search.base import SeenDocument
from memories.search.outbox import pending
from memories.types import Owner, Status
from tenants.principal import Principal, Right


class Standing(StrEnum):
    """What the index has of a memory, as its member can find it."""

    SAME = "same"
    ON_ITS_WAY = "on its way"
    BEHIND = "behind"
    ABSENT = "absent"
    HIDDEN = "hidden"
    MISSING_PART = "part missing"
    NO_KEY = "no key"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Queue:
    """The changes that wait for the index: how many, since when, how often the worst of them was tried in vain."""

    waiting: int
    since: datetime | None
    attempts: int


@dataclass(frozen=True, slots=True)
class IndexState:
    """A memory in the index. `document` is what the member's own search opens of it; `refusal` why it opens nothing.

    `waiting` are its changes on the way, the latest first; `encoded` whether it has a vector of the present encoder.
    """

    standing: Standing
    plane: str
    version: int
    encoded: bool
    archived: bool
    document: SeenDocument | None = None
    refusal: str = ""
    waiting: tuple[OutboxEntry, ...] = ()


def queue_of(principal: Principal) -> Queue:
    """What of the principal's own memory waits; one query on the tail of the outbox."""
    principal.require(Right.READ)
    found = pending(_own(principal)).order_by().aggregate(Count("id"), Min("created_at"), Max("attempts"))
    return Queue(found["id__count"], found["created_at__min"], found["attempts__max"] or 0)


def unindexed(principal: Principal, memory_ids: Iterable[UUID]) -> frozenset[UUID]:
    """Those of the principal's memories of which a change is on its way."""
    principal.require(Right.READ)
    waiting = pending(_own(principal)).filter(memory_id__in=set(memory_ids)).order_by()
    return frozenset(waiting.values_list("memory_id", flat=True))


def index_state_of(principal: Principal, row: MemoryRow) -> IndexState:
    """Of a memory that the principal may see. Never raises: a plane that does not answer is a state."""
    principal.require(Right.READ)
    waiting = tuple(pending(row.owner).filter(kind=row.kind, memory_id=row.pk))
    encoded = row.embedding is not None and row.embedding_model == encoder_name()
    archived = isinstance(row, Supersedable) and row.archived_at is not None
    document, refusal = None, ""
    try:
        seen = search_plane().see(principal, row.kind, row.pk)
        document = seen.document
        missing = row.owner in seen.incomplete or (archived and seen.without_archive)
        standing = (
            Standing.MISSING_PART if missing and not waiting else _standing(row, document, on_its_way=bool(waiting))
        )
    except SearchForbidden as error:
        standing, refusal = Standing.NO_KEY, str(error)
    except SearchUnavailable as error:
        standing, refusal = Standing.DOWN, str(error)
    return IndexState(standing, search_plane().name, row.version, encoded, archived, document, refusal, waiting)


def _standing(row: MemoryRow, document: SeenDocument | None, *, on_its_way: bool) -> Standing:
    """The version decides; what was evicted has no document, and is not missed."""
    if row.status == Status.EVICTED:
        return Standing.HIDDEN if document is None else Standing.ON_ITS_WAY if on_its_way else Standing.BEHIND
    if document is not None and document.version >= row.version:
        return Standing.SAME
    if on_its_way:
        return Standing.ON_ITS_WAY
    return Standing.ABSENT if document is None else Standing.BEHIND


def _own(principal: Principal) -> Owner:
    return Owner(principal.tenant_id, principal.user_id)
