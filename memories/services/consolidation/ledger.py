"""The lease of an owner's ledger: one consolidation of an owner at a time.

Whoever commits a run checks `held` under the owner's lock, so the watermark passes each episode once, whatever process
was killed or slow.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from memories.errors import Conflict
from memories.models import ConsolidationRun, EpisodeLedger, RunState
from memories.services.sessions.episodes import ledger_of
from memories.services.write import write
from memoryhub.leases import RowLease, kept
from tenants.principal import Principal

log = logging.getLogger(__name__)

INTERRUPTED = "The process ended in the middle; nothing was written."


class Busy(Conflict):
    """Another consolidation of this owner is under way."""

    def __init__(self) -> None:
        super().__init__("A consolidation is under way already; try again when it is done.")


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to consolidate one owner until it expires."""

    principal: Principal
    row: RowLease

    def extend(self) -> EpisodeLedger:
        """Hold it for another while; return the ledger. Raises Busy if it was lost."""
        with write(self.principal):
            self.held()
            self.row.extend()
            return ledger_of(self.principal)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Extend the lease again and again while the block runs."""

        def lost(error: Exception) -> None:
            log.info("A consolidation lost its lease: %s", type(error).__name__)

        with kept(self.extend, name="consolidation-lease", lost=lost):
            yield

    def held(self) -> EpisodeLedger:
        """The ledger, if the lease is still held; the caller holds the owner's lock. Raises Busy."""
        if not self.row.is_held():
            raise Busy
        return ledger_of(self.principal)

    def release(self) -> None:
        """Let the next one begin."""
        with write(self.principal):
            self.row.release()


def take(principal: Principal) -> Lease:
    """Take the lease of the owner, and end what a dead process left running. Raises Busy, Forbidden."""
    with write(principal):
        ledger_of(principal)
        row = RowLease.take(EpisodeLedger.objects.of(principal))
        if row is None:
            raise Busy
        _end_interrupted(principal, timezone.now())
        return Lease(principal, row)


def _end_interrupted(principal: Principal, now: datetime) -> None:
    running = ConsolidationRun.objects.of(principal).filter(state=RunState.RUNNING)
    running.update(state=RunState.FAILED, error=INTERRUPTED, ended_at=now)
