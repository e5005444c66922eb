"""The lease of an erasure: one worker at a time.

A worker does each batch under the owner's lock, while it holds the lease and no legal hold is in force; the counts of a
batch are committed with it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from memories.models import ErasureRequest, ErasureState
from memories.selectors.erasure import on_hold, owner_of
from memories.services.erasure.requests import AUDIT_KIND
from memories.services.write import write
from memoryhub.leases import LEASE, RowLease, free, kept
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.erasure import may_act, stop_member
from tenants.models import Membership
from tenants.principal import SYSTEM, Principal
from tenants.principals import keeping_principal

log = logging.getLogger(__name__)

# What failed is tried again after so long.
RETRY = timedelta(seconds=15)
_RUNNABLE = (ErasureState.APPROVED, ErasureState.RUNNING, ErasureState.STOPPED)

Counts = Mapping[str, int]


class UnderLegalHold(Exception):
    """A legal hold is in force; the request says so and waits for its release."""


@dataclass(frozen=True, slots=True)
class Work:
    """An erasure in hand."""

    request_id: UUID
    membership: Membership
    lease: RowLease

    @property
    def principal(self) -> Principal:
        """The system, keeping house in this member's memory."""
        return keeping_principal(self.membership)

    def within(self, work: Callable[[], Counts], *, stage: str) -> Counts:
        """Do one batch in one transaction, and count what it did. Raises LeaseLost, UnderLegalHold."""
        with self.lease.renewing:
            with write(self.principal, also_inactive=True):
                until = self.lease.renew(stage=stage)
                held = on_hold(owner_of(self.membership))
                done = stop(self.request_id) if held else self._batch(work)
            self.lease.until = until
        if held:
            raise UnderLegalHold
        return done

    def _batch(self, work: Callable[[], Counts]) -> Counts:
        if may_act(self.membership.pk):
            self._count(asdict(stop_member(self.membership)))
        done = work()
        self._count(done)
        return done

    def counted(self, name: str) -> int:
        """How much was counted under a name so far, by whatever worker."""
        return int(ErasureRequest.objects.only("progress").get(pk=self.request_id).progress.get(name, 0))

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Extend the lease again and again while the block runs."""

        def lost(error: Exception) -> None:
            log.info("An erasure lost its lease (%s).", type(error).__name__)

        with kept(self.lease.extend, name="erasure-lease", lost=lost):
            yield

    def _count(self, counts: Counts) -> None:
        counted = +Counter(counts)
        if counted:
            row = ErasureRequest.objects.only("progress").get(pk=self.request_id)
            row.progress = dict(Counter(row.progress) + counted)
            row.save(update_fields=["progress"])


def take(request_id: UUID) -> Work | None:
    """Take the lease of a request that may be gone on with; None if it may not, or another worker has it."""
    now = timezone.now()
    with transaction.atomic():
        locked = ErasureRequest.objects.select_for_update(of=("self",), no_key=True)
        runnable = locked.filter(free(now), pk=request_id, state__in=_RUNNABLE)
        row = runnable.select_related("membership__user").first()
        if row is None:
            return None
        if on_hold(owner_of(row.membership)):
            stop(request_id)
            return None
        if row.state != ErasureState.RUNNING:
            record(row, "begun" if row.started_at is None else "resumed")
        row.state, row.leased_until = ErasureState.RUNNING, now + LEASE
        row.started_at = row.started_at or now
        row.attempts, row.trouble = row.attempts + 1, ""
        row.save(update_fields=["state", "leased_until", "started_at", "attempts", "trouble"])
    rows = ErasureRequest.objects.filter(pk=row.pk, state=ErasureState.RUNNING)
    return Work(row.pk, row.membership, RowLease(rows, row.leased_until))


def stop(request_id: UUID) -> Counts:
    """A legal hold is in force: leave it as it is until that is released. In the caller's transaction."""
    row = ErasureRequest.objects.get(pk=request_id)
    if row.state != ErasureState.STOPPED:
        row.state, row.leased_until = ErasureState.STOPPED, None
        row.save(update_fields=["state", "leased_until"])
        record(row, "stopped")
    return {}


def put_off(work: Work, why: str) -> None:
    """Let go of a request that failed; it is tried again in a while."""
    work.lease.release(until=timezone.now() + RETRY, trouble=why[:200])


def record(request: ErasureRequest, what: str) -> None:
    """Write the progress of an erasure to the tenant's audit log, with ids alone."""
    draft = EventDraft(f"erasure.{what}", AUDIT_KIND, request.pk)
    record_tenant_event(SYSTEM, request.tenant_id, draft)
