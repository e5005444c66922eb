"""Reads operations: how far the learning that a program asked for has come, and what was decided.

An operation has no state of its own. It is read from the owner's ledger, whose watermark passes each episode once, and
from the runs over its episodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from memories.errors import existing
from memories.models import ConsolidationRun, Episode, EpisodeLedger, LearningOperation, RunState
from tenants.principal import Principal, Right

OFF = (
    "Learning in the background is switched off on this server (MEMORYHUB_CONSOLIDATE): the words are stored;"
    " POST /consolidation/ learns from them now."
)
TRIED_AGAIN = "It is tried again by itself; retry/ tries it at once."
GIVEN_UP = "The words are stored and nothing was learned from some of them; retry/ reads them again."


class OperationState(StrEnum):
    """How far an operation has come."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = (OperationState.DONE, OperationState.FAILED, OperationState.CANCELLED)


@dataclass(frozen=True, slots=True)
class OperationView:
    """An operation with its state. `decisions` are those of the runs that rest on its episodes, as in a run.

    `error` says what hinders it and what to do; `retry_at` is the next try after a failure.
    """

    id: UUID
    session_id: UUID | None
    state: OperationState
    episode_ids: tuple[UUID, ...]
    created_at: datetime
    ended_at: datetime | None
    retry_at: datetime | None
    error: str
    decisions: tuple[Mapping[str, Any], ...]
    run_ids: tuple[UUID, ...]

    @property
    def ended(self) -> bool:
        """Whether nothing more happens by itself."""
        return self.state in ENDED


def list_operations(principal: Principal) -> QuerySet[LearningOperation]:
    """The principal's operations, latest first."""
    principal.require(Right.READ)
    return LearningOperation.objects.of(principal).order_by("-created_at", "id")


def get_operation(principal: Principal, operation_id: UUID) -> LearningOperation:
    """One operation. Raises NotFound for unknown and foreign ids alike."""
    return existing(list_operations(principal).filter(pk=operation_id).first(), "operation")


def view_of(principal: Principal, operation: LearningOperation) -> OperationView:
    """One operation with its state."""
    return views_of(principal, [operation])[0]


def views_of(principal: Principal, operations: Sequence[LearningOperation]) -> list[OperationView]:
    """Operations with their states, by three queries."""
    if not operations:
        return []
    first = min(each.first_ordinal for each in operations)
    last = max(each.last_ordinal for each in operations)
    ledger = EpisodeLedger.objects.of(principal).first() or EpisodeLedger()
    episodes = Episode.objects.of(principal).filter(ordinal__range=(first, last)).values_list("ordinal", "pk")
    runs = list(runs_over(principal, first, last))
    # A fault of earlier episodes holds these up as well.
    failed = ConsolidationRun.objects.of(principal).filter(state=RunState.FAILED).order_by("-started_at")
    error = failed.values_list("error", flat=True).first() if ledger.attempts else None
    said = dict(episodes)
    return [_view(each, ledger, [run for run in runs if _reads(run, each)], said, error or "") for each in operations]


def runs_over(principal: Principal, first: int, last: int) -> QuerySet[ConsolidationRun]:
    """The runs that read any of these episodes, oldest first."""
    rows = ConsolidationRun.objects.of(principal).filter(first_ordinal__lte=last, last_ordinal__gte=first)
    return rows.order_by("started_at").defer("input", "output")


def is_running(ledger: EpisodeLedger, runs: Iterable[ConsolidationRun]) -> bool:
    """Whether one of `runs` is under way; a run of a process that died no longer holds the ledger's lease."""
    leased = ledger.leased_until is not None and ledger.leased_until > timezone.now()
    return leased and any(run.state == RunState.RUNNING for run in runs)


def given_up(runs: Sequence[ConsolidationRun]) -> list[ConsolidationRun]:
    """The runs whose episode was given up and that no rerun has read."""
    again = {run.rerun_of_id for run in runs if run.state == RunState.DONE}
    return [run for run in runs if run.given_up and run.pk not in again]


def _reads(run: ConsolidationRun, operation: LearningOperation) -> bool:
    return run.first_ordinal <= operation.last_ordinal and run.last_ordinal >= operation.first_ordinal


def _view(
    operation: LearningOperation,
    ledger: EpisodeLedger,
    runs: Sequence[ConsolidationRun],
    said: Mapping[int, UUID],
    error: str,
) -> OperationView:
    state = _state(operation, ledger, runs)
    ids = tuple(pk for n, pk in sorted(said.items()) if operation.first_ordinal <= n <= operation.last_ordinal)
    own = {str(pk) for pk in ids}
    decided = [line for run in runs if run.state == RunState.DONE for line in run.decisions]
    retry_at = operation.retry_at or ledger.retry_at if state is OperationState.WAITING else None
    ended = [run.ended_at for run in runs if run.ended_at]
    return OperationView(
        id=operation.pk,
        session_id=operation.session_id,
        state=state,
        episode_ids=ids,
        created_at=operation.created_at,
        ended_at=(operation.cancelled_at or max(ended, default=operation.created_at)) if state in ENDED else None,
        retry_at=retry_at,
        error=_error(state, runs, error),
        decisions=tuple(line for line in decided if own & set(line["episode_ids"])),
        run_ids=tuple(run.pk for run in runs),
    )


def _state(operation: LearningOperation, ledger: EpisodeLedger, runs: Sequence[ConsolidationRun]) -> OperationState:
    if operation.cancelled_at:
        return OperationState.CANCELLED
    if is_running(ledger, runs):
        return OperationState.RUNNING
    if operation.retry_at or ledger.consolidated < operation.last_ordinal:
        return OperationState.WAITING
    return OperationState.FAILED if given_up(runs) else OperationState.DONE


def _error(state: OperationState, runs: Sequence[ConsolidationRun], error: str) -> str:
    """What hinders the operation, and what to do."""
    if state is OperationState.FAILED:
        return f"{given_up(runs)[-1].error} {GIVEN_UP}"
    if state is not OperationState.WAITING:
        return ""
    if settings.MEMORYHUB_CONSOLIDATE == "off":
        return OFF
    return f"{error} {TRIED_AGAIN}" if error else ""
