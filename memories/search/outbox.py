"""The outbox: committed changes that the search plane has not received yet.

An entry is written in the transaction of its change and deleted only once the plane holds that change or a later one.
Deliveries may be repeated or late; versions make both harmless. An entry that fails EQUAL_FAILURES times in the same
way is set aside: it stays in the tail of every recall, and a rebuild of the part or a later change mends it. A removal
is never set aside.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from math import inf
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from memories.constants import OUTBOX_BATCH, OUTBOX_LEASE
from memories.errors import SearchUnavailable
from memories.models import Operation, OutboxEntry
from memories.models.base import MemoryRow
from memories.search import SearchPlane, search_plane
from memories.search.base import PartMissing, Tombstone
from memories.search.documents import documents, documents_of, encode_owner, one_of, rows_by_id
from memories.types import Kind, Owner, SearchDocument
from memoryhub.db.advisory_lock import LockTaken, advisory_lock
from memoryhub.db.scope import WideRole, acting_as
from memoryhub.jobs import JobResult, wake, wake_on_commit
from memoryhub.leases import EQUAL_FAILURES, backoff, due, fault_of, free, halved, passes
from memoryhub.observability import tracing

log = logging.getLogger(__name__)

# Seconds. A failed entry waits 1, 2, 4, … up to the maximum. The maximum is lower while the plane is down, so that
# changes become searchable soon after it recovers.
MAX_BACKOFF_SECONDS = 300
MAX_OUTAGE_BACKOFF_SECONDS = 8
# The job that delivers due entries. One run is limited to ENTRIES_A_RUN, so that other Celery tasks get a turn.
DRAIN = "memories.drain_outbox"
ENTRIES_A_RUN = 8 * OUTBOX_BATCH


# Seconds between two warnings that the plane does not answer.
WARN_SECONDS = 60


@dataclass(slots=True)
class _Outage:
    """What this process has logged of outages of the plane."""

    warned_at: float = -inf
    is_told: bool = False

    def warn(self, entries: int, fault: str) -> None:
        """Warn, unless that was done in the last WARN_SECONDS."""
        if time.monotonic() - self.warned_at >= WARN_SECONDS:
            self.warned_at, self.is_told = time.monotonic(), True
            log.warning("The search plane did not take %d change(s): %s", entries, fault)

    def end(self) -> None:
        """Say that the plane works again, if a warning said that it does not."""
        if self.is_told:
            self.is_told = False
            log.warning("The search plane takes changes again.")


_outage = _Outage()


@dataclass(frozen=True, slots=True)
class DrainReport:
    """Numbers of entries; `rebuilt` counts owners whose missing part was rebuilt."""

    delivered: int = 0
    failed: int = 0
    rebuilt: int = 0

    def __add__(self, other: DrainReport) -> DrainReport:
        return DrainReport(self.delivered + other.delivered, self.failed + other.failed, self.rebuilt + other.rebuilt)


def enqueue(rows: Sequence[MemoryRow], operation: Operation = Operation.UPSERT) -> None:
    """Record that `rows` changed or were deleted, in the transaction of the change."""
    enqueue_entries([outbox_entry(row, operation) for row in rows])


def pending(*owners: Owner) -> QuerySet[OutboxEntry]:
    """Return the undelivered entries of these owners, latest first."""
    whose = Q()
    for owner in owners:
        whose |= Q(tenant_id=owner.tenant_id, user_id=owner.user_id)
    return OutboxEntry.objects.filter(whose).order_by("-id")


def on_the_way(*owners: Owner) -> QuerySet[OutboxEntry]:
    """Return those of the undelivered entries of these owners that are not set aside, latest first."""
    return pending(*owners).filter(set_aside_at=None)


def backlog() -> int:
    """Return the number of undelivered entries of all owners that are not set aside."""
    return OutboxEntry.objects.filter(set_aside_at=None).count()


def set_aside() -> int:
    """Return the number of entries of all owners that are set aside."""
    return OutboxEntry.objects.filter(set_aside_at__isnull=False).count()


def request_rebuild(owner: Owner) -> None:
    """Have the drain rebuild the owner's missing part, by enqueueing one of their memories.

    For an owner without memories an empty part is created immediately. Raises SearchUnavailable.
    """
    if on_the_way(owner).exists():
        wake(DRAIN)
        return
    row = one_of(owner)
    if row is None:
        search_plane().rebuild(owner, ())
        return
    # The part may be the one that all tenants share, which no member's scope may write for.
    with acting_as(WideRole.JOBS), transaction.atomic():
        enqueue([row])


def rebuild_all(owners: Iterable[Owner]) -> int:
    """Fill the whole plane from the database; return the number of memories.

    Only one rebuild may run at a time, because each would drop the indices that the other is filling. Raises
    SearchUnavailable.
    """
    left_out = _Unencodable()

    def of_owner(owner: Owner) -> Iterable[SearchDocument]:
        encode_owner(owner, left_out)
        return documents_of(owner, left_out)

    try:
        with advisory_lock("index-rebuild"):
            # The rebuild reads the rows of all entries visible now. Deletions are still delivered, because their
            # versions reject late writes.
            covered = list(OutboxEntry.objects.filter(operation=Operation.UPSERT).values_list("pk", "memory_id"))
            count = search_plane().rebuild_all(owners, of_owner)
            left_out.delete_others(covered)
            return count
    except LockTaken:
        raise SearchUnavailable("Another rebuild of the index is under way.") from None


def rebuild_owner(owner: Owner) -> int:
    """Fill the owner's part from the database; return the number of memories. Raises SearchUnavailable."""
    # The rebuild reads the rows of all entries visible now.
    covered = list(pending(owner).values_list("pk", "memory_id"))
    left_out = _Unencodable()
    encode_owner(owner, left_out)  # slow, so it precedes the lock on the part
    count = search_plane().rebuild(owner, documents_of(owner, left_out))
    left_out.delete_others(covered)
    return count


@dataclass(slots=True)
class _Unencodable:
    """The memories that a rebuild cannot encode; their entries stay."""

    ids: set[UUID] = field(default_factory=set)

    def __call__(self, row: MemoryRow, error: Exception) -> None:
        if row.pk not in self.ids:
            log.error(
                "The %s memory %s cannot be encoded, so no search finds it: %s.", row.kind, row.pk, fault_of(error)
            )
        self.ids.add(row.pk)

    def delete_others(self, covered: Iterable[tuple[int, UUID]]) -> None:
        """Delete the covered entries, pairs of entry and memory, but for those of these memories."""
        _delete([pk for pk, memory_id in covered if memory_id not in self.ids])


def drain(limit: int | None = None, owner: Owner | None = None) -> DrainReport:
    """Deliver due entries, at most `limit` and of one `owner` if given. Failures are counted, not raised.

    It ends with a batch that is not full: what is written meanwhile wakes a drain of its own.
    """
    report = DrainReport()
    left = limit
    while left is None or left > 0:
        wanted = OUTBOX_BATCH if left is None else min(OUTBOX_BATCH, left)
        claimed = _claim(wanted, owner)
        if not claimed:
            break
        with tracing.span("outbox", entries=len(claimed)) as span:
            step = _deliver(claimed)
            span.note(delivered=step.delivered, failed=step.failed, rebuilt=step.rebuilt)
        report += step
        if not step.delivered or len(claimed) < wanted:
            break  # the rest would fail as well, or there was none
        if left is not None:
            left -= len(claimed)
    return report


def drain_some() -> JobResult:
    """The job that delivers due entries, at most ENTRIES_A_RUN. Entries that fail remain in the outbox."""
    report = drain(limit=ENTRIES_A_RUN)
    full = report.delivered + report.failed >= ENTRIES_A_RUN
    return JobResult.MORE if full and report.delivered else JobResult.DONE


def outbox_entry(row: MemoryRow, operation: Operation) -> OutboxEntry:
    """Build the outbox entry for a change. A deletion gets the row's version plus one."""
    version = row.version + (operation == Operation.DELETE)
    return OutboxEntry(
        tenant_id=row.owner.tenant_id,
        user_id=row.owner.user_id,
        kind=row.kind,
        memory_id=row.pk,
        version=version,
        operation=operation,
    )


def enqueue_entries(entries: Sequence[OutboxEntry]) -> None:
    """Store entries; must run inside the transaction of their changes."""
    if not connection.in_atomic_block:
        raise RuntimeError("An outbox entry belongs in the transaction of its change.")
    if entries:
        OutboxEntry.objects.bulk_create(entries, batch_size=500)
        wake_on_commit(DRAIN)


def _claim(count: int, owner: Owner | None) -> list[OutboxEntry]:
    """Lease the oldest due entries."""
    now = timezone.now()
    ready = OutboxEntry.objects.filter(
        free(now), due("available_at", now, longest=MAX_BACKOFF_SECONDS), set_aside_at=None
    )
    if owner is not None:
        ready = ready.filter(tenant_id=owner.tenant_id, user_id=owner.user_id)
    if not ready.exists():
        return []  # most polls find nothing and need no write lock
    with transaction.atomic():
        if connection.features.has_select_for_update_skip_locked:
            ready = ready.select_for_update(skip_locked=True)
        entries = list(ready.order_by("id")[:count])
        OutboxEntry.objects.filter(pk__in=[entry.pk for entry in entries]).update(leased_until=now + OUTBOX_LEASE)
    return entries


def _deliver(claimed: Sequence[OutboxEntry]) -> DrainReport:
    """Deliver entries to the plane and delete those that are searchable. A failing entry does not block others."""
    plane = search_plane()
    groups: dict[Owner | None, list[OutboxEntry]] = defaultdict(list)
    for entry in claimed:
        groups[None if plane.joint else entry.owner].append(entry)
    carried: dict[int, OutboxEntry] = {}
    failed: dict[int, OutboxEntry] = {}
    rebuilt = 0

    def carry(entries: Sequence[OutboxEntry]) -> None:
        nonlocal rebuilt
        rebuilt += _carry(plane, entries)
        carried.update((entry.pk, entry) for entry in entries)

    def hold_back(entry: OutboxEntry, error: Exception) -> None:
        _hold_back([entry], error)
        failed[entry.pk] = entry

    for entries in groups.values():
        try:
            halved(entries, carry, hold_back, may_pass=_may_pass)
        except Exception as error:  # noqa: BLE001 - entries must remain and be retried after any error
            rest = [entry for entry in entries if entry.pk not in carried.keys() | failed.keys()]
            _hold_back(rest, error)
            failed.update((entry.pk, entry) for entry in rest)
    delivered = list(carried.values())
    try:
        if delivered:
            plane.settle()
    except SearchUnavailable as error:
        _hold_back(delivered, error)  # stored but not searchable yet, so they remain in the tail of every recall
        return DrainReport(0, len(claimed), rebuilt)
    if delivered and not failed:
        _outage.end()
    _delete([entry.pk for entry in delivered])
    # What is delivered is the present state, so an earlier change of the same memory that was set aside is, too.
    OutboxEntry.objects.filter(
        set_aside_at__isnull=False, memory_id__in={each.memory_id for each in delivered}
    ).delete()
    return DrainReport(len(delivered), len(failed), rebuilt)


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, SearchUnavailable) or passes(error)


def _carry(plane: SearchPlane, entries: Sequence[OutboxEntry]) -> bool:
    """Write the database's current state of these memories to the plane. True if a part was rebuilt."""
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
    """Record the failure and back off, or set aside what failed EQUAL_FAILURES times in the same way."""
    away = _may_pass(error)
    fault = type(error).__name__ if away else fault_of(error)
    is_outage = isinstance(error, SearchUnavailable)
    if is_outage:
        _outage.warn(len(entries), fault)
    else:
        log.warning("The search plane did not take %d change(s): %s", len(entries), fault)
    longest = MAX_OUTAGE_BACKOFF_SECONDS if is_outage else MAX_BACKOFF_SECONDS
    by_failures: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for entry in entries:
        equal = entry.attempts if entry.last_error == fault else 0
        hopeless = not away and equal + 1 >= EQUAL_FAILURES and entry.operation == Operation.UPSERT
        by_failures[equal, hopeless].append(entry.pk)
    now = timezone.now()
    for (equal, hopeless), keys in by_failures.items():
        OutboxEntry.objects.filter(pk__in=keys).update(
            attempts=equal + 1,
            last_error=fault,
            available_at=now + timedelta(seconds=backoff(equal, longest)),
            leased_until=None,
            set_aside_at=now if hopeless else None,
        )
