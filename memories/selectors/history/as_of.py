"""The memory as it was believed at a given time, and the number of changes on each day.

The conditions are those of a recall for that time (`recall/loading.py`). The view also contains memories that were
evicted or expired since, which a recall no longer returns. Memories forgotten since are counted, not shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import CharField, Count, F, Model, Q, QuerySet
from django.db.models.functions import Cast, Substr
from django.utils import timezone

from memories.models import MEMORY_MODELS, Episode, Fact, Playbook
from memories.models.base import MemoryQuerySet
from memories.models.supersedable import Supersedable
from memories.recall.loading import held_at
from memories.search.base import readable_by
from memories.selectors.memories import Memory, matching, narrowed
from memories.selectors.paging import Page, page_of
from memories.types import CURRENT, Kind, Status
from tenants.models import AuditEvent
from tenants.principal import Principal, Right

Row = TypeVar("Row", bound=Model)

# Each ends in a unique column, as pagination requires.
ORDER: Mapping[Kind, tuple[str, ...]] = {
    Kind.EPISODIC: ("-happened_at", "id"),
    Kind.SEMANTIC: ("-learned_at", "id"),
    Kind.PROCEDURAL: ("-learned_at", "id"),
    Kind.CATALOG: ("-created_at", "id"),
}
FORGETTING: Mapping[str, Kind] = {
    "episode.forgotten": Kind.EPISODIC,
    "fact.forgotten": Kind.SEMANTIC,
    "playbook.forgotten": Kind.PROCEDURAL,
}


class Since(StrEnum):
    """The state today of a memory that was believed then."""

    STILL = "still"
    REPLACED = "replaced"
    ENDED = "ended"
    EVICTED = "evicted"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class AsOfFilter:
    """The filters of the view. `shared` adds memory shared by the tenant and by all."""

    query: str = ""
    category: str = ""
    key: str = ""
    session_id: UUID | None = None
    shared: bool = False

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that can match: only facts have a key, only episodes a session."""
        kinds = (Kind.EPISODIC, Kind.SEMANTIC, Kind.PROCEDURAL, *([Kind.CATALOG] if self.shared else []))
        if self.session_id:
            kinds = (Kind.EPISODIC,)
        if self.category:
            kinds = tuple(kind for kind in kinds if kind in (Kind.SEMANTIC, Kind.PROCEDURAL))
        return tuple(kind for kind in kinds if kind is Kind.SEMANTIC or not self.key)


def as_of(principal: Principal, kind: Kind, at: datetime, filters: AsOfFilter | None = None) -> QuerySet[Memory]:
    """The memories of a kind that were believed at `at`, latest first; empty for a kind that `filters` excludes.

    Covers the principal's own memory in all tasks; with `filters.shared` also the shared memory visible to them.
    """
    principal.require(Right.READ)
    first, *others = _parts(principal, kind, at, filters or AsOfFilter())
    for part in others:
        first |= part
    return first.order_by(*ORDER[kind])


def page_as_of(
    principal: Principal, kind: Kind, at: datetime, filters: AsOfFilter, *, limit: int, cursor: str = ""
) -> Page[Memory]:
    """At most `limit` rows of `as_of` after `cursor`. Raises InvalidInput for a cursor of another list."""
    principal.require(Right.READ)
    parts = _parts(principal, kind, at, filters)
    if kind is Kind.EPISODIC:
        return page_of(parts[0].order_by(*ORDER[kind]), limit=limit, cursor=cursor)
    return page_by_status(parts, ORDER[kind], limit=limit, cursor=cursor)


def page_by_status(
    parts: Sequence[QuerySet[Row]], order: tuple[str, ...], *, limit: int, cursor: str = ""
) -> Page[Row]:
    """A page over several owners in `order`, whose first column is the time in the index of each owner and status.

    The first `limit` rows of each owner and status come from the index; only these are sorted and loaded. With 100,000
    rows a page takes as long as reading the superseded ones.
    """
    names = [column.removeprefix("-") for column in order]
    latest = [
        page_of(part.filter(status=status).only(*names).order_by(*order), limit=limit + 1, cursor=cursor).rows
        for part in parts
        for status in Status
    ]
    ids = [row.pk for some in latest for row in some]
    # Only by id: with the conditions of the parts, SQLite would scan all rows of the owner.
    every: Any = parts[0].model._default_manager
    whole = every.unscoped("rows by ids of own rows").filter(pk__in=ids)
    if issubclass(whole.model, Supersedable):
        whole = whole.select_related("superseded_by")
    return page_of(whole.order_by(*order), limit=limit, cursor=cursor)


def believed_at(rows: MemoryQuerySet[Any], kind: Kind, at: datetime) -> MemoryQuerySet[Any]:
    """Those of `rows` that were believed at `at` and had neither expired nor been evicted by then."""
    rows = rows.filter(held_at(kind, at))
    if kind not in (Kind.SEMANTIC, Kind.PROCEDURAL):
        return rows.exclude(status=Status.EVICTED)  # these kinds have no time of eviction
    rows = rows.filter(Q(evicted_at__isnull=True) | Q(evicted_at__gt=at))
    return rows.unexpired(at) if kind is Kind.SEMANTIC else rows


def since(row: Memory, *, now: datetime) -> Since:
    """The state at `now` of a row that `as_of` returned."""
    if not isinstance(row, Fact | Playbook):
        return Since.STILL
    if row.status == Status.EVICTED and row.superseded_at is None:
        return Since.EVICTED
    if row.superseded_at is not None:
        return Since.ENDED if row.superseded_by_id is None else Since.REPLACED
    expired = isinstance(row, Fact) and row.expires_at is not None and row.expires_at <= now
    return Since.EXPIRED if expired else Since.STILL


def count_as_of(principal: Principal, at: datetime) -> dict[Kind, int]:
    """The number of the principal's own memories at `at`, by kind."""
    principal.require(Right.READ)
    counts = {Kind.EPISODIC: Episode.objects.of(principal).filter(held_at(Kind.EPISODIC, at)).count()}
    for kind, model in ((Kind.SEMANTIC, Fact), (Kind.PROCEDURAL, Playbook)):
        counts[kind] = _count_believed(model.objects.of(principal), kind, at)
    return counts


def forgotten_since(principal: Principal, at: datetime, until: datetime | None = None) -> dict[Kind, int]:
    """The number of memories forgotten after `at` (and by `until`), by kind."""
    principal.require(Right.READ)
    events = AuditEvent.objects.filter(
        tenant_id=principal.tenant_id, owner_id=principal.user_id, action__in=list(FORGETTING), created_at__gt=at
    )
    if until is not None:
        events = events.filter(created_at__lte=until)
    counted = events.order_by().values_list("action").annotate(Count("pk"))
    return {FORGETTING[action]: count for action, count in counted}


def changes_by_day(principal: Principal, *, now: datetime | None = None) -> dict[date, int]:
    """The number of memories said, learned, ended or evicted on each day (UTC) by `now`, for a histogram."""
    principal.require(Right.READ)
    now = now or timezone.now()
    total: Counter[date] = Counter()
    for rows, column in _moments(principal):
        by_day = rows.order_by().annotate(day=Substr(Cast(F(column), CharField()), 1, 10)).values_list("day")
        # Counting the column itself needs only the index.
        total.update({date.fromisoformat(day): count for day, count in by_day.annotate(Count(column)) if day})
    today = now.astimezone(UTC).date()
    return {day: count for day, count in total.items() if day <= today}


def _moments(principal: Principal) -> list[tuple[QuerySet[Any], str]]:
    """The owner's rows with each column that holds the time of a change.

    The queries list all statuses, because the owner's index has the status before the time. A condition on
    `superseded_at` would make the database choose the tenant's index.
    """
    moments: list[tuple[QuerySet[Any], str]] = [(Episode.objects.of(principal), "happened_at")]
    for model in (Fact, Playbook):
        own = model.objects.of(principal)
        moments += [
            (own.filter(status__in=list(Status)), "learned_at"),
            (own.filter(status__in=[Status.SUPERSEDED, Status.EVICTED]), "superseded_at"),
            (own.filter(status=Status.EVICTED), "evicted_at"),
        ]
    return moments


def _count_believed(rows: MemoryQuerySet[Any], kind: Kind, at: datetime) -> int:
    """Count by status, so that current rows, which are the most, are counted in an index."""
    current = rows.filter(status__in=CURRENT, learned_at__lte=at).count()
    if kind is Kind.SEMANTIC:
        expired = Fact.objects.unscoped("rows by ids of own rows").filter(
            expires_at__lte=at
        )  # uses the partial index on `expires_at`
        current -= rows.filter(status__in=CURRENT, learned_at__lte=at, pk__in=expired.values("pk")).count()
    ended = believed_at(rows.filter(status__in=[Status.SUPERSEDED, Status.EVICTED]), kind, at)
    return current + ended.count()


def _parts(principal: Principal, kind: Kind, at: datetime, filters: AsOfFilter) -> list[MemoryQuerySet[Any]]:
    """The matching rows, one query for each owner: the principal, and with `filters.shared` the tenant and all."""
    every = readable_by(principal)
    # Episodes are never shared; the catalog always is.
    owners = every[:1] if kind is Kind.EPISODIC or not filters.shared else every
    parts: list[MemoryQuerySet[Any]] = []
    for owner in owners:
        rows = MEMORY_MODELS[kind].objects.of_owner(owner.tenant_id, owner.user_id).seen_by(principal.only_app)
        rows = matching(believed_at(rows, kind, at), kind, filters.query)
        if kind not in filters.kinds:
            parts.append(rows.none())
            continue
        session = filters.session_id if kind is Kind.EPISODIC else None
        parts.append(narrowed(rows, kind, category=filters.category, key=filters.key, session_id=session))
    return parts
