"""The index as staff see it: the state of one memory in the index, and the pending changes by tenant.

The document is read with the member's own credential, so that the page shows what their own recalls can find. An outbox
entry names a memory by id and holds no text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db.models import Count, Max, Min, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from memories.embedding import encoder_name
from memories.errors import SearchForbidden, SearchUnavailable
from memories.models import OutboxEntry
from memories.models.base import MemoryRow
from memories.models.supersedable import Supersedable
from memories.search import search_plane
from memories.search.base import SeenDocument
from memories.search.outbox import pending
from memories.types import Owner, Status
from tenants.models import Tenant
from tenants.principal import Principal, Right


class IndexStanding(StrEnum):
    """The state of a memory in the index, as the member's own search sees it."""

    SAME = "same"
    ON_ITS_WAY = "on its way"
    BEHIND = "behind"
    ABSENT = "absent"
    HIDDEN = "hidden"
    MISSING_PART = "part missing"
    NO_KEY = "no key"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class IndexState:
    """The state of one memory in the index. `document` is its indexed form; `refusal` says why it could not be read.

    `waiting` are its pending changes, latest first; `encoded` is true if its embedding is from the present encoder.
    """

    standing: IndexStanding
    plane: str
    version: int
    encoded: bool
    archived: bool
    document: SeenDocument | None = None
    refusal: str = ""
    waiting: tuple[OutboxEntry, ...] = ()


def unindexed(principal: Principal, memory_ids: Iterable[UUID]) -> frozenset[UUID]:
    """Those of the principal's memories that have a pending index change."""
    principal.require(Right.READ)
    waiting = pending(_own(principal)).filter(memory_id__in=set(memory_ids)).order_by()
    return frozenset(waiting.values_list("memory_id", flat=True))


def index_state_of(principal: Principal, row: MemoryRow) -> IndexState:
    """The state of a memory that the principal may see.

    A search plane that refuses or does not answer is a state, not an error.
    """
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
            IndexStanding.MISSING_PART
            if missing and not waiting
            else _standing(row, document, on_its_way=bool(waiting))
        )
    except SearchForbidden as error:
        standing, refusal = IndexStanding.NO_KEY, str(error)
    except SearchUnavailable as error:
        standing, refusal = IndexStanding.DOWN, str(error)
    return IndexState(standing, search_plane().name, row.version, encoded, archived, document, refusal, waiting)


def _standing(row: MemoryRow, document: SeenDocument | None, *, on_its_way: bool) -> IndexStanding:
    """Compare the document's version with the row's; an evicted memory should have no document."""
    if row.status == Status.EVICTED:
        return (
            IndexStanding.HIDDEN
            if document is None
            else IndexStanding.ON_ITS_WAY
            if on_its_way
            else IndexStanding.BEHIND
        )
    if document is not None and document.version >= row.version:
        return IndexStanding.SAME
    if on_its_way:
        return IndexStanding.ON_ITS_WAY
    return IndexStanding.ABSENT if document is None else IndexStanding.BEHIND


def _own(principal: Principal) -> Owner:
    return Owner(principal.tenant_id, principal.user_id)


# Beyond this lag people notice that a fact just said is not found by its meaning.
LATE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Lag:
    """Pending changes: their number, the number that failed before, the oldest, and the most attempts of any."""

    waiting: int
    failing: int
    oldest: datetime | None
    attempts: int
    now: datetime

    @property
    def behind(self) -> timedelta:
        """The time since the oldest pending change; zero if there is none."""
        return max(self.now - self.oldest, timedelta()) if self.oldest else timedelta()

    @property
    def is_late(self) -> bool:
        """Whether the lag needs attention."""
        return self.behind > LATE or self.failing > 0


@dataclass(frozen=True, slots=True)
class TenantLag:
    """The lag of a tenant; an empty name means the memory that all tenants share."""

    tenant_id: UUID | None
    name: str
    lag: Lag


def waiting_of(principal: Principal) -> QuerySet[OutboxEntry]:
    """The pending changes of the principal's own memory, oldest first."""
    principal.require(Right.READ)
    return pending(_own(principal)).order_by("id")


def lag_of(entries: QuerySet[OutboxEntry]) -> Lag:
    """The lag of these entries together."""
    return Lag(**entries.order_by().aggregate(**_MEASURES), now=timezone.now())


def lag_by_tenant(entries: QuerySet[OutboxEntry]) -> list[TenantLag]:
    """The lag of each tenant among `entries`, longest first."""
    now = timezone.now()
    found = {row.pop("tenant_id"): row for row in entries.order_by().values("tenant_id").annotate(**_MEASURES)}
    names = dict(Tenant.objects.filter(pk__in=[each for each in found if each]).values_list("pk", "name"))
    lags = [TenantLag(tenant_id, names.get(tenant_id, ""), Lag(**row, now=now)) for tenant_id, row in found.items()]
    return sorted(lags, key=lambda each: (each.lag.oldest or now, each.name))


_MEASURES: Mapping[str, Any] = {
    "waiting": Count("pk"),
    "failing": Count("pk", filter=Q(attempts__gt=0)),
    "oldest": Min("created_at"),
    "attempts": Coalesce(Max("attempts"), 0),
}
