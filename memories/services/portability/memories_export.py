"""Exports an owner's memories and items in the format that the import reads.

An export holds only the owner's rows and, on request, their tenant's shared catalog. Importing and exporting it again
gives the same records, apart from ids.
"""

from __future__ import annotations

from collections.abc import Container, Generator, Iterator, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import Model, Prefetch, Q, QuerySet
from django.utils import timezone

from memories.importing.records import ItemRecord, MemoryRecord, parse_memory
from memories.models import CatalogEntry, Episode, Fact, Item, Playbook
from memories.models.base import MemoryRow
from memories.models.item import there
from memories.types import Kind, Scope, Status
from tenants.audit.chain import record_event
from tenants.locks import lock_owner
from tenants.principal import Principal, Right

ROWS_AT_ONCE = 500
# Columns derived for the search plane.
_DERIVED = ("embedding", "token_ids")

Row = TypeVar("Row", bound=Model)
Succeeding = TypeVar("Succeeding", Fact, Playbook)


Records = Generator[MemoryRecord | ItemRecord, None, None]


def export_memories(principal: Principal, *, catalog: bool = False) -> Records:
    """The owner's episodes, facts and playbooks in every status, oldest first, and their items. The export is audited.

    `catalog` adds the entries that the tenant shares. Raises Forbidden before anything is read.
    """
    principal.require(Right.READ)
    with transaction.atomic():
        lock_owner(principal)
        record_event(principal, action="memory.exported", reason="with the catalog" if catalog else "")
    return records_of(principal, catalog=catalog)


def count_for_export(principal: Principal, *, catalog: bool = False) -> int:
    """The number of records that `export_memories` returns, for a progress bar."""
    principal.require(Right.READ)
    own = sum(model.objects.of(principal).count() for model in (Episode, Fact, Playbook))
    return own + _items(principal).count() + (_shared(principal).count() if catalog else 0)


def records_of(principal: Principal, *, catalog: bool = False) -> Records:
    """The records. The caller must audit the export."""
    exported: set[UUID] = set()
    for episode in _streamed(
        Episode.objects.of(principal).current().order_by("session__created_at", "session_id", "sequence")
    ):
        exported.add(episode.pk)
        yield _record(episode, session=str(episode.session_id))
    # `exported` decides which episodes are the owner's; filtering by owner here would make SQLite scan all of them.
    support = Prefetch(
        "supporting_episodes", Episode.objects.unscoped("related rows of own rows").order_by().only("pk")
    )
    facts, playbooks = _named(Fact, principal), _named(Playbook, principal)
    for fact in _streamed(_by_belief(Fact, principal).prefetch_related(support)):
        # Leaves out episodes of other owners and those stored after the export began.
        said = sorted(str(each.pk) for each in fact.supporting_episodes.all() if each.pk in exported)
        yield _record(fact, supported_by=said, **_links(fact, facts))
    for playbook in _streamed(_by_belief(Playbook, principal)):
        yield _record(playbook, **_links(playbook, playbooks))
    for item in _streamed(_items(principal).order_by("created_at", "pk")):
        yield _item_record(item)
    if catalog:
        for entry in _streamed(_shared(principal).order_by("title", "id")):
            yield _record(entry)


def _items(principal: Principal) -> QuerySet[Item]:
    return Item.objects.of(principal).filter(there(timezone.now()))


def _shared(principal: Principal) -> QuerySet[CatalogEntry]:
    return CatalogEntry.objects.unscoped("related rows of own rows").filter(
        scope=Scope.TENANT, tenant_id=principal.tenant_id
    )


def _by_belief(model: type[Succeeding], principal: Principal) -> QuerySet[Succeeding]:
    """The owner's rows with the rows they superseded, in the order in which they were learned."""
    replaced = Prefetch(
        "supersedes",
        model.objects.unscoped("related rows of own rows").order_by().only("superseded_by", "tenant", "user"),
    )
    return model.objects.of(principal).prefetch_related(replaced).order_by("learned_at", "id")


def _named(model: type[Succeeding], principal: Principal) -> frozenset[UUID]:
    """The owner's existing rows that others of their rows restore or were promoted from."""
    rows = model.objects.of(principal)
    names = [rows.exclude(**{column: None}).values(column) for column in ("restores", "promoted_from")]
    return frozenset(rows.filter(Q(pk__in=names[0]) | Q(pk__in=names[1])).values_list("pk", flat=True))


def _streamed(rows: QuerySet[Row]) -> Iterator[Row]:
    return rows.defer(*_DERIVED).iterator(chunk_size=ROWS_AT_ONCE)


# The columns that are copied to the record under the same name.
_ATTRIBUTES = ("metadata", "app")
_LIFETIME = (
    *_ATTRIBUTES, "text", "category", "task", "learned_at", "superseded_at", "contradiction", "archived_at",
    "evicted_at", "evicted_from",
)  # fmt: skip
_FIELDS: Mapping[Kind, Sequence[str]] = {
    Kind.EPISODIC: ("text", "speaker", "context", "happened_at", *_ATTRIBUTES),
    Kind.SEMANTIC: (
        *_LIFETIME, "key", "confidence", "source", "pinned", "valid_from", "valid_to", "last_verified_at",
        "review_after", "expires_at",
    ),
    Kind.PROCEDURAL: (
        *_LIFETIME, "title", "trigger", "steps", "success_count", "failure_count", "last_success_at",
        "last_failure_at", "proposed",
    ),
    Kind.CATALOG: ("title", "text", "source_url", *_ATTRIBUTES),
}  # fmt: skip


def _record(row: MemoryRow, **links: object) -> MemoryRecord:
    own = {name: getattr(row, name) for name in _FIELDS[row.kind]}
    return parse_memory({"id": str(row.pk), "kind": row.kind, **own, **links}, place="")


def _item_record(item: Item) -> ItemRecord:
    return ItemRecord(
        id=str(item.pk),
        namespace=item.labels,
        key=item.key,
        value=item.content,
        index=item.index,
        ttl_minutes=item.ttl_minutes,
        expires_at=item.expires_at,
        app=item.app,
    )


def _links(row: Fact | Playbook, named: Container[UUID]) -> dict[str, object]:
    """The status of a fact or playbook, and its links to other rows of the same owner."""
    return {
        "status": None if row.status == Status.ACTIVE else row.status,
        "supersedes": sorted(str(old.pk) for old in row.supersedes.all() if old.owner == row.owner),
        "restores": str(row.restores) if row.restores in named else "",
        "promoted_from": str(row.promoted_from) if row.promoted_from in named else "",
    }
