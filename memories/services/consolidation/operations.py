"""Operations: learning that a program asked for. They use the owner's ledger and runs, and no queue of their own.

`learn_due` is the background job. `learn_now` learns in the thread of the request until a deadline; what is left then
is due in the background, because the ledger has it.
"""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from memories.errors import Conflict, MemoriesError, NotFound
from memories.llm.base import answers_within
from memories.models import EpisodeLedger, LearningOperation, Message, RunState
from memories.selectors.operations import (
    OperationState,
    OperationView,
    get_operation,
    given_up,
    runs_over,
    view_of,
)
from memories.selectors.policies import policy_for
from memories.services.consolidation.ledger import Busy
from memories.services.consolidation.running import OFF, RunReport, consolidate, rerun, sweep
from memories.services.sessions.episodes import ask_learning, ledger_of
from memories.services.write import Write, write
from memoryhub.leases import fault_of
from tenants.errors import TenantsError
from tenants.principal import Principal
from tenants.principals import system_principal
from tenants.selectors import active_memberships, has_active_member

log = logging.getLogger(__name__)

# A request that learns at once answers after this many seconds, whether or not it is done. Most clients wait 30 s.
LEARN_NOW_SECONDS = 20.0
# While another process consolidates the owner, or nothing can be read yet, a request looks again after so many seconds.
LOOK_AGAIN_SECONDS = 0.2
# A repetition that met a passing fault is tried again after this time.
REPEAT_AFTER = timedelta(minutes=1)


def learn_now(principal: Principal, operation: LearningOperation) -> OperationView:
    """Learn in this thread until the operation has ended, a fault stops it, or LEARN_NOW_SECONDS are over."""
    ends = time.monotonic() + LEARN_NOW_SECONDS
    view = view_of(principal, operation)
    with answers_within(LEARN_NOW_SECONDS):
        while not view.ended and time.monotonic() < ends:
            try:
                report = consolidate(principal, max_batches=1)
            except Busy:
                time.sleep(LOOK_AGAIN_SECONDS)
            else:
                if report.error and not report.given_up:
                    return view_of(principal, operation)
                if not report.runs:  # an earlier turn is still being answered, or may still be brought back
                    time.sleep(LOOK_AGAIN_SECONDS)
            view = view_of(principal, operation)
    return view


def cancel(principal: Principal, operation_id: UUID) -> OperationView:
    """Learn nothing from the messages that no run has read. What was learned stays.

    Raises NotFound, Conflict (running, or ended), Forbidden.
    """
    with write(principal) as w:
        operation, view = _locked(principal, operation_id)
        if view.state is OperationState.RUNNING:
            raise Conflict("This is being learned at the moment; look at the operation again in a few seconds.")
        if view.ended:
            raise Conflict(f"This operation is {view.state}; there is nothing to cancel.")
        operation.cancelled_at = timezone.now()
        operation.retry_at, operation.repeats = None, []
        operation.save(update_fields=["cancelled_at", "retry_at", "repeats"])
        first = max(operation.first_ordinal, ledger_of(principal).consolidated + 1)
        _messages(principal, first, operation.last_ordinal).update(learn=False)
        w.audit("learning.cancelled", target_kind="operation", target_id=operation.pk)
        return view_of(principal, operation)


def retry(principal: Principal, operation_id: UUID) -> OperationView:
    """Have the operation tried at once: what waits, what was given up, or what was cancelled.

    Raises NotFound, Conflict (running, or done), Forbidden.
    """
    with write(principal) as w:
        operation, view = _locked(principal, operation_id)
        if view.state in (OperationState.RUNNING, OperationState.DONE):
            raise Conflict(f"This operation is {view.state}; there is nothing to try again.")
        if view.ended:
            _repeat(w, operation)
        EpisodeLedger.objects.of(principal).update(retry_at=None)
        ask_learning(w, operation.last_ordinal)
        w.audit("learning.retried", target_kind="operation", target_id=operation.pk)
        return view_of(principal, operation)


def _repeat(w: Write, operation: LearningOperation) -> None:
    """Have the runs read again that gave an episode up, or that passed messages which had been cancelled."""
    principal, first, last = w.principal, operation.first_ordinal, operation.last_ordinal
    runs = list(runs_over(principal, first, last))
    again = given_up(runs)
    if operation.cancelled_at:
        _messages(principal, first, last).update(learn=True)
        again += [run for run in runs if run.state == RunState.DONE and run.rerun_of_id is None]
    operation.repeats = [str(run.pk) for run in again]
    operation.retry_at = timezone.now() if again else None
    operation.cancelled_at = None
    operation.save(update_fields=["repeats", "retry_at", "cancelled_at"])


def learn_due() -> list[RunReport]:
    """Read again what was asked to be tried again, then consolidate the owners who are due."""
    if settings.MEMORYHUB_CONSOLIDATE != OFF:
        rows = LearningOperation.objects.unscoped("operations of every owner").filter(
            has_active_member(), retry_at__lte=timezone.now()
        )
        for operation in list(rows.order_by("retry_at")):
            _read_again(operation)
    return sweep()


def _read_again(operation: LearningOperation) -> None:
    """Repeat the runs of one operation. One owner's fault must not stop the others."""
    members = active_memberships().filter(tenant_id=operation.tenant_id, user_id=operation.user_id)
    membership = members.first()
    if membership is None:
        return
    principal = system_principal(membership)
    if not policy_for(principal).learns:
        return  # until the member resumes memory
    try:
        while operation.repeats:
            try:
                report = rerun(principal, UUID(operation.repeats[0]))
            except Busy:
                return
            except (Conflict, NotFound) as error:  # its words were erased meanwhile
                log.info("A run is not read again: %s", error)
            else:
                if report.passing:
                    _save(principal, operation, operation.repeats, after=REPEAT_AFTER)
                    return
            _save(principal, operation, operation.repeats[1:])
        _save(principal, operation, [])
    except (MemoriesError, TenantsError) as error:
        log.info("An operation was put off: %s", error)
    except Exception as error:  # noqa: BLE001 - the next sweep tries again
        log.error("Operation %s could not be repeated: %s.", operation.pk, fault_of(error))  # noqa: TRY400 - a message may quote a row


def _save(
    principal: Principal, operation: LearningOperation, repeats: list[str], *, after: timedelta | None = None
) -> None:
    """Store what is left to repeat, unless the operation was cancelled meanwhile."""
    operation.repeats = repeats
    operation.retry_at = timezone.now() + (after or timedelta()) if repeats else None
    with write(principal):
        rows = LearningOperation.objects.of(principal).filter(pk=operation.pk, cancelled_at=None)
        rows.update(repeats=operation.repeats, retry_at=operation.retry_at)


def _locked(principal: Principal, operation_id: UUID) -> tuple[LearningOperation, OperationView]:
    """The operation and its state; the caller holds the owner's lock."""
    operation = get_operation(principal, operation_id)
    return operation, view_of(principal, operation)


def _messages(principal: Principal, first: int, last: int) -> QuerySet[Message]:
    return Message.objects.of(principal).filter(learn__isnull=False, episode__ordinal__range=(first, last))
