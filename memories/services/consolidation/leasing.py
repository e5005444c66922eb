"""The lease of an owner's ledger: one consolidation at a time, and none that a dead process can hold for long.

Invariant: whoever commits a run holds the lease at that moment (`held` under the owner's lock), so the watermark moves
once for each episode, whatever was killed or slow.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connections
from django.utils import timezone

from memories.errors import Conflict, MemoriesError
from memories.models import ConsolidationRun, EpisodeLedger, RunState
from memories.services.ownership import owner_lock
from memories.services.sessions.episodes import ledger_of
from tenants.errors import TenantsError
from tenants.principal import Principal

log = logging.getLogger(__name__)

# How long a dead process keeps others away; a living one extends it while it waits for the model.
LEASE = timedelta(seconds=60)
EXTEND_SECONDS = 20.0
# How far the clocks of two machines may be apart.
SKEW = timedelta(seconds=60)
INTERRUPTED = "The process ended in the middle; nothing was written."


class Busy(Conflict):
    """Another consolidation of this owner is under way."""

    def __init__(self) -> None:
        super().__init__("A consolidation is under way already; try again when it is done.")


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to consolidate one owner until it expires."""

    principal: Principal
    token: UUID

    def extend(self) -> EpisodeLedger:
        """Hold it for another while; return the ledger. Raises Busy if it was lost."""
        with owner_lock(self.principal):
            ledger = self.held()
            ledger.leased_until = timezone.now() + LEASE
            ledger.save(update_fields=["leased_until"])
            return ledger

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Extend the lease again and again, as long as the block takes."""
        done = threading.Event()
        keeper = threading.Thread(target=self._keep, args=(done,), name="consolidation-lease", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            done.set()
            keeper.join()

    def _keep(self, done: threading.Event) -> None:
        try:
            while not done.wait(EXTEND_SECONDS):
                self.extend()
        except (MemoriesError, TenantsError) as error:
            log.info("A consolidation lost its lease: %s", error)  # its commit will notice
        finally:
            connections.close_all()

    def held(self) -> EpisodeLedger:
        """The ledger, if the lease is still held; the caller holds the owner's lock. Raises Busy."""
        ledger = ledger_of(self.principal)
        if ledger.lease != self.token:
            raise Busy
        return ledger

    def release(self) -> None:
        """Let the next one begin."""
        with owner_lock(self.principal):
            ledger = ledger_of(self.principal)
            if ledger.lease == self.token:
                ledger.lease = ledger.leased_until = None
                ledger.save(update_fields=["lease", "leased_until"])


def longest(now: datetime) -> datetime:
    """The latest end of a lease; one that ends later was given by a clock that has been put back since."""
    return now + LEASE + SKEW


def take(principal: Principal) -> Lease:
    """Take the lease of the owner, and end what a dead process left running. Raises Busy, Forbidden."""
    with owner_lock(principal):
        now = timezone.now()
        ledger = ledger_of(principal)
        if ledger.leased_until is not None and now < ledger.leased_until <= longest(now):
            raise Busy
        _end_interrupted(principal, now)
        ledger.lease = uuid.uuid4()
        ledger.leased_until = now + LEASE
        ledger.save(update_fields=["lease", "leased_until"])
        return Lease(principal, ledger.lease)


def _end_interrupted(principal: Principal, now: datetime) -> None:
    running = ConsolidationRun.objects.of(principal).filter(state=RunState.RUNNING)
    running.update(state=RunState.FAILED, error=INTERRUPTED, ended_at=now)
