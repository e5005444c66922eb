"""The outbox: changes on their way to the search plane.

Invariant: an entry is written in the transaction of the change it tells of, so no change is lost and none is invented.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from memories.models import Operation, OutboxEntry
from memories.models.base import MemoryRow
from memories.types import Kind, Owner


def enqueue(row: MemoryRow) -> None:
    """Queue the current version of `row`; call it inside the transaction that changed it."""
    enqueue_many([row])


def enqueue_many(rows: Sequence[MemoryRow]) -> None:
    """Queue the current versions of `rows`; call it inside the transaction that changed them."""
    OutboxEntry.objects.bulk_create(
        [
            OutboxEntry(
                tenant_id=row.tenant_id,
                user_id=row.user_id,
                kind=row.kind,
                memory_id=row.pk,
                version=row.version,
                operation=Operation.UPSERT,
            )
            for row in rows
        ]
    )


def enqueue_delete(kind: Kind, memory_id: UUID, version: int, owner: Owner) -> None:
    """Queue an erasure; `version` is higher than any the search plane has seen of this memory."""
    OutboxEntry.objects.create(
        tenant_id=owner.tenant_id,
        user_id=owner.user_id,
        kind=kind,
        memory_id=memory_id,
        version=version,
        operation=Operation.DELETE,
    )
