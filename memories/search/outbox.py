"""The outbox: changes on their way from the database to the search plane.

An entry is written in the transaction of its change and deleted only once the plane has that change or a later one.
Delivery may repeat and may come late; versions make both harmless.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from memories.constants import OUTBOX_BATCH, OUTBOX_LEASE
from memories.errors import SearchUnavailable
from memories.models import Operation, OutboxEntry
from memories.models.base import MemoryRow
from memories.search import SearchPlane, search_plane
from memories.search.base import PartMissing, Tombstone
from memories.search.documents import documents, encode_owner, one_of, rows_by_id, rows_of
from memories.types import Kind, Owner, SearchDocument
from memoryhub.db.advisory_lock import LockTaken, advisory_lock
from memoryhub.jobs import JobResult, wake, wake_on_commit
from memoryhub.leases import backoff
from memoryhub.observability import tracing

log = logging.getLogger(__name__)

# Seconds. A failed entry waits 1, 2, 4, … up to the maximum; the maximum is lower while the plane is away, so that
# changes become searchable soon after it is back.
MAX_BACKOFF_SECONDS = 300
MAX_OUTAGE_BACKOFF_SECONDS = 8
# The job that delivers what is due. One run delivers so many entries, so that Celery's other tasks have their turn.
DRAIN = "memories.drain_outbox"
ENTRIES_A_RUN = 8 * OUTBOX_BATCH


@dataclass(frozen=True, slots=True)
class DrainReport:
    """Counts of entries; `rebuilt` counts owners whose missing part was filled anew."""

    delivered: int = 0
    failed: int = 0
    rebuilt: int = 0

    def __add__(self, other: DrainReport) -> DrainReport:
        return DrainReport(self.delivered + other.delivered, self.failed + other.failed, self.rebuilt + other.rebuilt)


def enqueue(rows: Sequence[MemoryRow], operation: Operation = Operation.UPSERT) -> None:
    """Record that `rows` changed or, with a version that they never had, were deleted; in the same transaction."""
    gone = operation == Operation.DELETE
    enqueue_entries([outbox_entry(row.kind, row.pk, row.version + gone, row.owner, operation) for row in rows])


def pending(*owners: Owner) -> QuerySet[OutboxEntry]:
    """The undelivered entries of these owners, latest first."""
    whose = Q()
    for owner in owners:
        whose |= Q(tenant_id=owner.tenant_id, user_id=owner.user_id)
    return OutboxEntry.objects.filter(whose).order_by("-id")


def backlog() -> int:
    """Count the undelivered entries of all owners."""
    return OutboxEntry.objects.count()


def request_rebuild(owner: Owner) -> None:
    """Have the drain rebuild the owner's missing part, by enqueueing any one of their memories.

    For an owner without memories this makes an empty part at once. Raises SearchUnavailable.
    """
    if pending(owner).exists():
        wake(DRAIN)
        return
    row = one_of(owner)
    if row is None:
        search_plane().rebuild(owner, ())
        return
    with transaction.atomic():
        enqueue([row])


def rebuild_all(owners: Iterable[Owner]) -> int:
    """Fill the whole plane from the database; return its number of memories. Raises SearchUnavailable.

    One rebuild runs at a time: two would each drop the indices that the other is filling.
    """

    def of_owner(owner: Owner) -> Iterable[SearchDocument]:
        encode_owner(owner)
        return documents(rows_of(owner))

    try:
        with advisory_lock("index-rebuild"):
            # The rebuild reads the rows of all entries that are visible now. Deletions are delivered all the same:
            # their versions keep late writes out.
            covered = list(OutboxEntry.objects.filter(operation=Operation.UPSERT).values_list("pk", flat=True))
            count = search_plane().rebuild_all(owners, of_owner)
            _delete(covered)
            return count
    except LockTaken:
        raise SearchUnavailable("Another rebuild of the index is under way.") from None


def rebuild_owner(owner: Owner) -> int:
    """Fill the owner's part from the database; return its number of memories. Raises SearchUnavailable."""
    # The rebuild reads the rows of all entries that are visible now.
    covered = list(pending(owner).values_list("pk", flat=True))
    encode_owner(owner)  # slow, so before other writers of the part are held off
    count = search_plane().rebuild(owner, documents(rows_of(owner)))
    _delete(covered)
    return count


def drain(limit: int | None = None, owner: Owner | None = None) -> DrainReport:
    """Deliver due entries (at most `limit`; of one `owner`). A failing plane shows in the counts and raises nothing."""
    report = DrainReport()
    left = limit
    while left is None or left > 0:
        claimed = _claim(min(OUTBOX_BATCH, left) if left is not None else OUTBOX_BATCH, owner)
        if not claimed:
            break
        with tracing.span("outbox", entries=len(claimed)) as span:
            step = _deliver(claimed)
            span.note(delivered=step.delivered, failed=step.failed, rebuilt=step.rebuilt)
        report += step
        if not step.delivered:
            break  # the rest would fail, too
        if left is not None:
            left -= len(claimed)
    return report


def drain_some() -> JobResult:
    """Deliver what is due, some thousand entries at most. What the plane does not take waits in the outbox."""
    report = drain(limit=ENTRIES_A_RUN)
    full = report.delivered + report.failed >= ENTRIES_A_RUN
    return JobResult.MORE if full and report.delivered else JobResult.DONE


def outbox_entry(kind: Kind, memory_id: UUID, version: int, owner: Owner, operation: Operation) -> OutboxEntry:
    """The entry that tells the search plane of one change."""
    return OutboxEntry(
        tenant_id=owner.tenant_id,
        user_id=owner.user_id,
        kind=kind,
        memory_id=memory_id,
        version=version,
        operation=operation,
    )


def enqueue_entries(entries: Sequence[OutboxEntry]) -> None:
    """Store entries, inside the transaction of their changes."""
    if not connection.in_atomic_block:
        raise RuntimeError("An outbox entry belongs in the transaction of its change.")
    if entries:
        OutboxEntry.objects.bulk_create(entries, batch_size=500)
        wake_on_commit(DRAIN)


def _claim(count: int, owner: Owner | None) -> list[OutboxEntry]:
    """Lease the oldest due entries."""
    now = timezone.now()
    due = OutboxEntry.objects.filter(Q(leased_until__isnull=True) | Q(leased_until__lt=now), available_at__lte=now)
    if owner is not None:
        due = due.filter(tenant_id=owner.tenant_id, user_id=owner.user_id)
    if not due.exists():
        return []  # most polls find nothing and need no write lock
    with transaction.atomic():
        if connection.features.has_select_for_update_skip_locked:
            due = due.select_for_update(skip_locked=True)
        entries = list(due.order_by("id")[:count])
        OutboxEntry.objects.filter(pk__in=[entry.pk for entry in entries]).update(leased_until=now + OUTBOX_LEASE)
    return entries


def _deliver(claimed: Sequence[OutboxEntry]) -> DrainReport:
    """Carry entries to the plane and delete those that searches find. One that fails holds up no other."""
    plane = search_plane()
    groups: dict[Owner | None, list[OutboxEntry]] = defaultdict(list)
    for entry in claimed:
        groups[None if plane.joint else entry.owner].append(entry)
    undelivered = list(groups.values())
    delivered: list[OutboxEntry] = []
    failed = rebuilt = 0
    while undelivered:
        entries = undelivered.pop()
        try:
            rebuilt += _carry(plane, entries)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the entries must stay and be tried again
            if len(entries) > 1 and not isinstance(error, SearchUnavailable):
                undelivered += ([entry] for entry in entries)
                continue
            _hold_back(entries, error)
            failed += len(entries)
        else:
            delivered += entries
    try:
        if delivered:
            plane.settle()
    except SearchUnavailable as error:
        _hold_back(delivered, error)  # stored but not searchable yet: they stay in the tail of every recall
        return DrainReport(0, failed + len(delivered), rebuilt)
    _delete([entry.pk for entry in delivered])
    return DrainReport(len(delivered), failed, rebuilt)


def _carry(plane: SearchPlane, entries: Sequence[OutboxEntry]) -> bool:
    """Give the plane the database's present state of these memories; True if a part was rebuilt."""
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


def _delete(keys: Sequence[int]) -> None:
    for start in range(0, len(keys), OUTBOX_BATCH):
        OutboxEntry.objects.filter(pk__in=keys[start : start + OUTBOX_BATCH]).delete()


def _hold_back(entries: Sequence[OutboxEntry], error: Exception) -> None:
    """Record the failure and back off. Only the error's class is kept: its message may quote a text."""
    log.warning("The search plane did not take %d change(s): %s", len(entries), type(error).__name__)
    longest = MAX_OUTAGE_BACKOFF_SECONDS if isinstance(error, SearchUnavailable) else MAX_BACKOFF_SECONDS
    by_attempts: dict[int, list[int]] = defaultdict(list)
    for entry in entries:
        by_attempts[entry.attempts].append(entry.pk)
    for attempts, keys in by_attempts.items():
        OutboxEntry.objects.filter(pk__in=keys).update(
            attempts=F("attempts") + 1,
            last_error=type(error).__name__,
            available_at=timezone.now() + timedelta(seconds=backoff(attempts, longest)),
            leased_until=None,
        )
