"""Reads consolidation runs, and the backlog of episodes that no run has read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from memories.errors import existing
from memories.models import ConsolidationRun, Episode, EpisodeLedger, RunState
from tenants.principal import Principal, Right


@dataclass(frozen=True, slots=True)
class Backlog:
    """The number of episodes that wait for consolidation, the time since which they wait, and the next retry if any.

    `given_up` counts the runs whose episode was given up and that no rerun has read.
    """

    waiting: int
    since: datetime | None
    retry_at: datetime | None
    given_up: int = 0


def list_runs(principal: Principal) -> QuerySet[ConsolidationRun]:
    """The principal's runs, latest first."""
    principal.require(Right.READ)
    return ConsolidationRun.objects.of(principal).order_by("-started_at", "id")


def get_run(principal: Principal, run_id: UUID) -> ConsolidationRun:
    """One run. Raises NotFound for unknown and foreign ids alike."""
    return existing(list_runs(principal).filter(pk=run_id).first(), "run")


def read_by(principal: Principal, episode: Episode) -> ConsolidationRun | None:
    """The principal's latest finished run that read this episode, without its input and output."""
    runs = list_runs(principal).filter(state=RunState.DONE, first_ordinal__lte=episode.ordinal)
    return runs.filter(last_ordinal__gte=episode.ordinal).defer("input", "output").first()


def backlog_of(principal: Principal) -> Backlog:
    """The backlog of the principal's episodes."""
    principal.require(Right.READ)
    ledger = EpisodeLedger.objects.of(principal).first()
    if ledger is None:
        return Backlog(0, None, None)
    waiting = Episode.objects.of(principal).filter(ordinal__gt=ledger.consolidated).count()
    given_up = list_runs(principal).filter(given_up=True).exclude(reruns__state=RunState.DONE).count()
    return Backlog(waiting, ledger.waiting_since if waiting else None, ledger.retry_at, given_up)


def reruns_of(principal: Principal, run: ConsolidationRun) -> QuerySet[ConsolidationRun]:
    """The runs that read the episodes of this run again, latest first."""
    return list_runs(principal).filter(rerun_of=run).only("pk", "state", "started_at")
