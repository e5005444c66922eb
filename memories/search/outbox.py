"""The outbox: changes on their way from the database to the search plane.

Invariants: an entry is written in the transaction of the change, and removed only once the plane has the change or a
later one. Delivery may repeat and may come late; versions make both harmless.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from memories.constants import OUTBOX_BATCH, OUTBOX_LEASE
from memories.errors import SearchUnavailable
from memories.models import Operation, OutboxEntry
from memories.models.base import MemoryRow
from memories.search import search_plane
from memories.search.base import PartMissing, Tombstone
from memories.search.documents import documents, encode_owner, one_of, rows_by_id, rows_of
from memories.types import Kind, Owner, SearchDocument
from memoryhub.db.advisory_lock import Busy, alone
from memoryhub.db.compiled_query import Prepared
from memoryhub.observability import tracing

log = logging.getLogger(__name__)

# A failed entry waits 1, 2, 4, … seconds, at most this many; while the plane is away it is no fault of the entry, and
# what waits has to be searchable soon after it is back.
MAX_BACKOFF_SECONDS = 300
MAX_OUTAGE_BACKOFF_SECONDS = 8
# Set when there is something to drain; the drainer of this process waits on it.
waiting = threading.Event()


@dataclass(frozen=True, slots=True)
class DrainReport:
    """What a drain did, in entries; `rebuilt` counts owners whose part was missing and was filled anew."""

    delivered: int = 0
    failed: int = 0
    rebuilt: int = 0

    def __add__(self, other: DrainReport) -> DrainReport:
        return DrainReport(self.delivered + other.delivered, self.failed + other.failed, self.rebuilt + other.rebuilt)


def enqueue(row: MemoryRow, operation: Operation = Operation.UPSERT) -> None:
    """Note that `row` changed; inside the transaction of the change."""
    _enqueue([_entry(row.kind, row.pk, row.version, row.owner, operation)])


def enqueue_many(rows: Sequence[MemoryRow]) -> None:
    """Note that `rows` changed; inside the transaction of the change."""
    _enqueue([_entry(row.kind, row.pk, row.version, row.owner, Operation.UPSERT) for row in rows])


def enqueue_delete(kind: Kind, memory_id: UUID, version: int, owner: Owner) -> None:
    """Note that a memory is gone; `version` is one that it never had. Inside the transaction of the erasure."""
    _enqueue([_entry(kind, memory_id, version, owner, Operation.DELETE)])


def enqueue_deletes(rows: Sequence[MemoryRow]) -> None:
    """Note that `rows` are gone, as `enqueue_delete` does of one. Inside the transaction of the erasure."""
    _enqueue([_entry(row.kind, row.pk, row.version + 1, row.owner, Operation.DELETE) for row in rows])


def pending(*owners: Owner) -> QuerySet[OutboxEntry]:
    """What the plane does not have yet of these owners' memories, latest first."""
    whose = Q()
    for owner in owners:
        whose |= Q(tenant_id=owner.tenant_id, user_id=owner.user_id)
    return OutboxEntry.objects.filter(whose).order_by("-id")


def _waits(tenant_id: UUID | None, user_id: UUID | None) -> QuerySet[OutboxEntry, Any]:
    return pending(Owner(tenant_id, user_id)).order_by().values_list("pk")[:1]


_WAITS = Prepared(_waits)


def backlog() -> int:
    """How many changes of all owners wait to be delivered."""
    return OutboxEntry.objects.count()


def request_rebuild(owner: Owner) -> None:
    """Have the owner's missing part rebuilt: deliver any of their memories again, and the drain sees to the rest.

    For an owner without memories an empty part is made at once. Raises SearchUnavailable.
    """
    if _WAITS.any(owner.tenant_id, owner.user_id):
        waiting.set()
        return
    row = one_of(owner)
    if row is None:
        _fill(owner)
        return
    with transaction.atomic():
        enqueue(row)


def rebuild_all(owners: Iterable[Owner]) -> int:
    """Fill the whole plane from the database; return how many memories it holds. Raises SearchUnavailable.

    One at a time: two of them would each remove what the other is about to let take over.
    """
    try:
        with alone("index-rebuild"):
            return _rebuild_all(owners)
    except Busy:
        raise SearchUnavailable("Another rebuild of the index is under way.") from None


def rebuild_owner(owner: Owner) -> int:
    """Fill the owner's part from the database; return how many memories it holds. Raises SearchUnavailable."""
    # Entries that are visible now speak of rows that the rebuild is going to see.
    covered = list(pending(owner).values_list("pk", flat=True))
    encode_owner(owner)  # slow, so before other writers of the part are held off
    count = _fill(owner)
    _forget(covered)
    return count


def _fill(owner: Owner) -> int:
    return search_plane().rebuild(owner, documents(rows_of(owner)))


def drain(limit: int | None = None, owner: Owner | None = None) -> DrainReport:
    """Deliver what is due (at most `limit` entries; of one `owner`). A failing plane is a count, never an error."""
    report = DrainReport()
    left = limit
    while left is None or left > 0:
        claimed = _claim(min(OUTBOX_BATCH, left) if left is not None else OUTBOX_BATCH, owner)
        if not claimed:
            break
        with tracing.span("outbox", entries=len(claimed)) as span:
            step = _deliver_all(claimed)
            span.note(delivered=step.delivered, failed=step.failed, rebuilt=step.rebuilt)
        report += step
        if not step.delivered:
            break  # nothing gets through now: the rest would only fail, too
        if left is not None:
            left -= len(claimed)
    return report


def _rebuild_all(owners: Iterable[Owner]) -> int:
    # Entries that are visible now speak of rows that the rebuild is going to see. Deletions are delivered all the same:
    # their versions keep late writes out.
    covered = list(OutboxEntry.objects.filter(operation=Operation.UPSERT).values_list("pk", flat=True))

    def of_owner(owner: Owner) -> Iterable[SearchDocument]:
        encode_owner(owner)
        return documents(rows_of(owner))

    count = search_plane().rebuild_all(owners, of_owner)
    _forget(covered)
    return count


def _entry(kind: Kind, memory_id: UUID, version: int, owner: Owner, operation: Operation) -> OutboxEntry:
    return OutboxEntry(
        tenant_id=owner.tenant_id,
        user_id=owner.user_id,
        kind=kind,
        memory_id=memory_id,
        version=version,
        operation=operation,
    )


def _enqueue(entries: Sequence[OutboxEntry]) -> None:
    if not connection.in_atomic_block:
        raise RuntimeError("An outbox entry belongs in the transaction of its change.")
    if entries:
        OutboxEntry.objects.bulk_create(entries, batch_size=500)
        transaction.on_commit(waiting.set)


def _claim(count: int, owner: Owner | None) -> list[OutboxEntry]:
    """Take the oldest due entries for a while, so that another drainer leaves them alone."""
    now = timezone.now()
    due = OutboxEntry.objects.filter(Q(leased_until__isnull=True) | Q(leased_until__lt=now), available_at__lte=now)
    if owner is not None:
        due = due.filter(tenant_id=owner.tenant_id, user_id=owner.user_id)
    if not due.exists():
        return []  # without a write lock: most looks find nothing
    with transaction.atomic():
        if connection.features.has_select_for_update_skip_locked:
            due = due.select_for_update(skip_locked=True)
        entries = list(due.order_by("id")[:count])
        OutboxEntry.objects.filter(pk__in=[entry.pk for entry in entries]).update(leased_until=now + OUTBOX_LEASE)
    return entries


def _deliver_all(claimed: list[OutboxEntry]) -> DrainReport:
    """Carry entries to the plane, and forget those that searches are sure to find."""
    groups: dict[Owner | None, list[OutboxEntry]] = defaultdict(list)
    joint = search_plane().joint
    for entry in claimed:
        groups[None if joint else entry.owner].append(entry)
    report, delivered = DrainReport(), list[OutboxEntry]()
    for entries in groups.values():
        report += _deliver(entries, delivered)
    if not delivered:
        return report
    try:
        search_plane().settle()
    except SearchUnavailable as error:
        _hold_back(delivered, error)  # stored, but not found yet: until then they are part of every recall's tail
        return report + DrainReport(delivered=-len(delivered), failed=len(delivered))
    _forget([entry.pk for entry in delivered])
    return report


def _deliver(entries: list[OutboxEntry], delivered: list[OutboxEntry]) -> DrainReport:
    """Carry entries that belong together; if one cannot be carried, the others still are."""
    try:
        rebuilt = _carry(entries)
    except Exception as error:  # noqa: BLE001 - whatever went wrong, the entries must stay and be tried again
        if len(entries) > 1 and not isinstance(error, SearchUnavailable):
            return sum((_deliver([entry], delivered) for entry in entries), DrainReport())
        _hold_back(entries, error)
        return DrainReport(failed=len(entries))
    delivered += entries
    return DrainReport(delivered=len(entries), rebuilt=int(rebuilt))


def _carry(entries: Sequence[OutboxEntry]) -> bool:
    """Bring the plane to what the database says of these memories now; return whether a part was rebuilt."""
    plane = search_plane()
    ids: dict[Kind, set[UUID]] = defaultdict(set)
    tombstones: dict[Owner, list[Tombstone]] = defaultdict(list)
    for entry in entries:
        if entry.operation == Operation.DELETE:
            tombstones[entry.owner].append(Tombstone(Kind(entry.kind), entry.memory_id, entry.version))
        else:
            ids[Kind(entry.kind)].add(entry.memory_id)
    rows = [row for kind, wanted in ids.items() for row in rows_by_id(kind, wanted)]
    try:
        plane.upsert(list(documents(rows)))
        for owner, gone in tombstones.items():
            plane.delete(owner, gone)
    except PartMissing as missing:
        rebuild_owner(missing.owner)
        return True
    return False


def _forget(keys: Sequence[int]) -> None:
    for start in range(0, len(keys), OUTBOX_BATCH):
        OutboxEntry.objects.filter(pk__in=keys[start : start + OUTBOX_BATCH]).delete()


def _hold_back(entries: Sequence[OutboxEntry], error: Exception) -> None:
    """Note the failure and wait longer each time. Only the kind of error is kept: a message may hold a text."""
    log.warning("The search plane did not take %d change(s): %s", len(entries), type(error).__name__)
    longest = MAX_OUTAGE_BACKOFF_SECONDS if isinstance(error, SearchUnavailable) else MAX_BACKOFF_SECONDS
    by_attempts: dict[int, list[int]] = defaultdict(list)
    for entry in entries:
        by_attempts[entry.attempts].append(entry.pk)
    for attempts, keys in by_attempts.items():
        wait = min(longest, 2 ** min(attempts, 16))
        OutboxEntry.objects.filter(pk__in=keys).update(
            attempts=F("attempts") + 1,
            last_error=type(error).__name__,
            available_at=timezone.now() + timedelta(seconds=wait),
            leased_until=None,
        )


__all__ = [
    "DrainReport",
    "backlog",
    "drain",
    "enqueue",
    "enqueue_delete",
    "enqueue_deletes",
    "enqueue_many",
    "pending",
    "rebuild_all",
    "rebuild_owner",
    "request_rebuild",
    "waiting",
]
