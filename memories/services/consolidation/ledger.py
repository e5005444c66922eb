"""An owner's consolidation ledger: the lease that allows one run at a time, and the watermark in the episodes.

A commit first checks `held` under the owner's lock, so the watermark passes each episode once even if a process was
killed or slow. The watermark moves only in the transaction of the run it belongs to, and never past an episode that no
run covers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from uuid import UUID

from django.utils import timezone

from memories.consolidation.material import ExtractionFault
from memories.constants import MAX_AGENT_STEPS, MODEL_ANSWER_SECONDS
from memories.errors import Conflict
from memories.models import ConsolidationRun, Episode, EpisodeLedger, Message, MessageRole, RunState
from memories.selectors.policies import policy_of
from memories.services.sessions.episodes import ledger_of
from memories.services.write import write
from memories.types import Status
from memoryhub.leases import RowLease, backoff, kept
from tenants.principal import Principal

log = logging.getLogger(__name__)

INTERRUPTED = "The process ended in the middle; nothing was written."


class Busy(Conflict):
    """Another consolidation of this owner is running."""

    def __init__(self) -> None:
        super().__init__("A consolidation is under way already; try again when it is done.")


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to consolidate one owner until it expires."""

    principal: Principal
    row: RowLease

    def extend(self) -> EpisodeLedger:
        """Extend the lease and return the ledger. Raises Busy if the lease was lost."""
        with write(self.principal):
            self.held()
            self.row.extend()
            return ledger_of(self.principal)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Extend the lease periodically while the block runs."""

        def lost(error: Exception) -> None:
            log.info("A consolidation lost its lease: %s", type(error).__name__)

        with kept(self.extend, name="consolidation-lease", lost=lost):
            yield

    def held(self) -> EpisodeLedger:
        """The ledger, if the lease is still held. The caller must hold the owner's lock. Raises Busy."""
        if not self.row.is_held():
            raise Busy
        return ledger_of(self.principal)

    def release(self) -> None:
        """Release the lease."""
        with write(self.principal):
            self.row.release()


def take(principal: Principal) -> Lease:
    """Take the owner's lease and mark runs of dead processes as failed. Raises Busy, Forbidden."""
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


# Passing faults are retried after 30 s, 60 s, 2 min, ..., at most LONGEST_RETRY_SECONDS, or as the endpoint asks.
FIRST_RETRY_SECONDS = 30.0
LONGEST_RETRY_SECONDS = 3600.0
# The longest time a turn may take to be answered: all its model calls at their time limit. Older turns without an
# answer are not waited for.
ANSWERING = timedelta(seconds=MAX_AGENT_STEPS * MODEL_ANSWER_SECONDS)


def next_episodes(principal: Principal, ledger: EpisodeLedger, size: int) -> list[Episode]:
    """The next episodes, up to the first whose turn is being answered, since the agent may be storing its content.

    An episode that is about to be erased is waited for as well, because its owner may still undo that. If the tenant
    has rules for single apps, all are of one app.
    """
    after = Episode.objects.of(principal).filter(ordinal__gt=ledger.consolidated)
    episodes = list(after.order_by("ordinal")[:size])
    if episodes and policy_of(principal.tenant_id).apps:
        episodes = list(takewhile(lambda each: each.app == episodes[0].app, episodes))
    unanswered = _being_answered(principal, episodes)
    return list(takewhile(lambda each: each.message_id not in unanswered and each.status != Status.EVICTED, episodes))


def count_waiting(principal: Principal) -> int:
    """The number of episodes above the watermark."""
    consolidated = EpisodeLedger.objects.of(principal).values_list("consolidated", flat=True).first() or 0
    return Episode.objects.of(principal).filter(ordinal__gt=consolidated).count()


def advance(principal: Principal, ledger: EpisodeLedger, to: int) -> None:
    """Move the watermark to `to`, or to the end if no later episode exists. The caller holds lock and lease."""
    oldest = Episode.objects.of(principal).filter(ordinal__gt=to).order_by("ordinal").first()
    ledger.consolidated = to if oldest else ledger.stored
    ledger.waiting_since = oldest.created_at if oldest else None
    ledger.attempts = 0
    ledger.retry_at = None
    ledger.updated_at = timezone.now()
    ledger.save()


def pass_erased(lease: Lease) -> None:
    """Move the watermark to the end if all episodes above it were erased."""
    with write(lease.principal):
        ledger = lease.held()
        if ledger.waiting_since is not None and not count_waiting(lease.principal):
            advance(lease.principal, ledger, ledger.stored)


def give_up(lease: Lease, run_id: UUID, episode: Episode) -> None:
    """Skip an episode that yields no usable answer. Its failed run can be rerun."""
    with write(lease.principal) as w:
        ledger = lease.held()
        ConsolidationRun.objects.of(lease.principal).filter(pk=run_id).update(given_up=True)
        advance(lease.principal, ledger, episode.ordinal)
        w.audit("consolidation.given_up", target_kind="consolidation", target_id=run_id)


def postpone(lease: Lease, fault: ExtractionFault) -> None:
    """Schedule the next attempt without moving the watermark. The caller holds the owner's lock."""
    if not lease.row.is_held():
        return
    ledger = ledger_of(lease.principal)
    wait = FIRST_RETRY_SECONDS * backoff(ledger.attempts, LONGEST_RETRY_SECONDS / FIRST_RETRY_SECONDS)
    ledger.attempts += 1
    ledger.retry_at = _later(max(wait, fault.retry_after))
    ledger.save(update_fields=["attempts", "retry_at"])


def _being_answered(principal: Principal, episodes: Sequence[Episode]) -> set[UUID | None]:
    """The messages of these episodes that an agent may still be answering, none older than `ANSWERING`."""
    since = timezone.now() - ANSWERING
    own = Message.objects.of(principal).filter(learn__isnull=True)
    ids = [episode.message_id for episode in episodes if episode.message_id]
    recent = list(own.filter(pk__in=ids, created_at__gt=since).values_list("pk", "session_id", "turn"))
    answers = own.filter(role=MessageRole.ASSISTANT, tool_calls=[], session_id__in={place[1] for place in recent})
    answered = set(answers.values_list("session_id", "turn"))
    return {pk for pk, session_id, turn in recent if (session_id, turn) not in answered}


def _later(seconds: float) -> datetime:
    return timezone.now() + timedelta(seconds=min(seconds, 24 * LONGEST_RETRY_SECONDS))
