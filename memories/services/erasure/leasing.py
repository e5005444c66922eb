"""The lease of an erasure: one worker at a time, and none that a dead process can hold for long.

Invariant: every batch is done under the owner's lock by whoever holds the lease at that moment, and while no legal hold
is in force; what is counted of it is committed with it.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.db import DatabaseError, connections, transaction
from django.utils import timezone

from memories.models import ErasureRequest, ErasureState
from memories.selectors.erasure import on_hold, owner_of
from memories.services.erasure.requests import AUDIT_KIND
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.erasure import may_act, stop_member
from tenants.locks import wait_for_owner
from tenants.models import Membership
from tenants.principal import SYSTEM, Principal
from tenants.principals import keeping_principal

log = logging.getLogger(__name__)

# How long a dead process keeps others away; a living one extends it with each batch, and while it waits.
LEASE = timedelta(seconds=60)
EXTEND_SECONDS = 20.0
# What failed is tried again after so long.
RETRY = timedelta(seconds=15)
_RUNNABLE = (ErasureState.APPROVED, ErasureState.RUNNING, ErasureState.STOPPED)

Counts = Mapping[str, int]


class LeaseLost(Exception):
    """Another worker has taken over; this one leaves it to them."""


class Held(Exception):
    """A legal hold is in force; the request says so and waits for its release."""


@dataclass(slots=True)
class Work:
    """An erasure in hand. `until` is when the lease ends, and by that whose it is."""

    request_id: UUID
    membership: Membership
    until: datetime
    _renewing: threading.Lock = field(default_factory=threading.Lock)

    @property
    def principal(self) -> Principal:
        """The system, keeping house in this member's memory."""
        return keeping_principal(self.membership)

    def within(self, work: Callable[[], Counts], *, stage: str) -> Counts:
        """Do one batch in one transaction, and count what it did. Raises LeaseLost, Held."""
        with self._renewing:
            with transaction.atomic():
                wait_for_owner(self.principal)
                until = self._renew(stage)
                held = on_hold(owner_of(self.membership))
                done = stop(self.request_id) if held else self._batch(work)
            self.until = until
        if held:
            raise Held
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
        """Extend the lease again and again, as long as the block takes."""
        over = threading.Event()
        keeper = threading.Thread(target=self._keep, args=(over,), name="erasure-lease", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            over.set()
            keeper.join()

    def _keep(self, over: threading.Event) -> None:
        try:
            while not over.wait(EXTEND_SECONDS):
                with self._renewing, transaction.atomic():
                    self.until = self._renew()
        except (LeaseLost, DatabaseError) as error:
            log.info("An erasure lost its lease (%s).", type(error).__name__)  # the next batch will notice
        finally:
            connections.close_all()

    def _renew(self, stage: str | None = None) -> datetime:
        until = timezone.now() + LEASE
        columns = {"leased_until": until} | ({"stage": stage} if stage is not None else {})
        mine = ErasureRequest.objects.filter(pk=self.request_id, state=ErasureState.RUNNING, leased_until=self.until)
        if not mine.update(**columns):
            raise LeaseLost
        return until

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
        row = locked.select_related("membership__user").filter(pk=request_id, state__in=_RUNNABLE).first()
        if row is None or (row.leased_until is not None and now < row.leased_until):
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
    return Work(row.pk, row.membership, row.leased_until)


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
    mine = ErasureRequest.objects.filter(pk=work.request_id, state=ErasureState.RUNNING, leased_until=work.until)
    mine.update(trouble=why[:200], leased_until=timezone.now() + RETRY)


def record(request: ErasureRequest, what: str) -> None:
    """Tell the tenant's trail how an erasure goes, with ids alone."""
    draft = EventDraft(f"erasure.{what}", AUDIT_KIND, request.pk)
    record_tenant_event(SYSTEM, request.tenant_id, draft)
