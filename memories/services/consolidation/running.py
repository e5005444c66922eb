"""Runs consolidations: an owner's waiting episodes go in batches through an extractor and the planner into memory.

A batch's writes, its record and the watermark are committed in one transaction. An unusable answer writes nothing: the
batch is halved down to one episode, which is then given up in a failed run that staff can see and rerun. An unexpected
error counts as one once the same episodes have met it EQUAL_FAILURES times. A passing fault (an outage, a rate limit)
moves nothing, and the episodes are tried again later.

`sweep` consolidates the owners that are due by their tenant's policy, one after the other. One owner's failure or long
run does not block the others.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from traceback import format_tb
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.consolidation.material import Extraction, ExtractionFault, Extractor, FaultKind, Material, ProposedFact
from memories.consolidation.planner import Planner
from memories.consolidation.rules import consolidation_extractor, contradiction_judge
from memories.constants import CONSOLIDATION_BATCH
from memories.errors import Conflict, MemoriesError, existing
from memories.models import ConsolidationRun, Episode, EpisodeLedger, Fact, MemberChoices, Playbook, RunState, Trigger
from memories.selectors.policies import Policy, policy_for, policy_of
from memories.services.admission import spend_model_tokens
from memories.services.consolidation.applying import Applied, apply
from memories.services.consolidation.gathering import gather, of_same_wording
from memories.services.consolidation.ledger import (
    Busy,
    Lease,
    advance,
    count_waiting,
    give_up,
    next_episodes,
    pass_erased,
    postpone,
    take,
)
from memories.services.contradictions import scan_owner
from memories.services.erasure.forget import ERASED_OUTPUT
from memories.services.screening import Screen
from memories.services.sessions.episodes import leave_questions_out
from memories.services.write import PAUSED, write
from memoryhub.leases import EQUAL_FAILURES, fault_of, free, passes
from memoryhub.observability import tracing
from tenants.errors import Forbidden, TenantsError
from tenants.principal import Principal, Right
from tenants.principals import system_principal
from tenants.selectors import active_memberships, has_active_member

log = logging.getLogger(__name__)

# Attempts for a single episode without a usable answer before it is given up.
TRIES_ALONE = 2
# Pairs of new and known facts that the model judges after a run: one prompt.
NEW_PAIRS = 10
UNEXPECTED = "Something went wrong here ({}); the log of the server says more."
MILLION = Decimal(1_000_000)


@dataclass(slots=True)
class RunReport:
    """The result of a consolidation. `waiting` counts the episodes left; `error` says why it stopped early.

    `passing`: a rerun met a fault that passes, so it may be tried again.
    """

    runs: list[UUID] = field(default_factory=list)
    episodes: int = 0
    decisions: dict[str, int] = field(default_factory=dict)
    given_up: int = 0
    waiting: int = 0
    error: str = ""
    passing: bool = False

    def count(self, applied: Applied) -> None:
        """Add the verdicts of a run."""
        for line in applied.lines:
            self.decisions[line["verdict"]] = self.decisions.get(line["verdict"], 0) + 1


def consolidate(
    principal: Principal,
    *,
    trigger: Trigger = Trigger.DEMAND,
    extractor: Extractor | None = None,
    batch: int = CONSOLIDATION_BATCH,
    max_batches: int | None = None,
    seconds: float | None = None,
) -> RunReport:
    """Consolidate the owner's waiting episodes, `batch` at a time. Raises Busy, Forbidden, Conflict (memory is paused).

    No new batch starts after `seconds`, but a batch that is being halved is finished so that it makes progress. A model
    fault is not raised; the report and the failed run describe it.
    """
    principal.require(Right.WRITE)
    principal.require(Right.READ)
    _require_learning(principal)
    lease = take(principal)
    try:
        return _Consolidation(lease, extractor or consolidation_extractor(), trigger).all(batch, max_batches, seconds)
    finally:
        lease.release()


def _require_learning(principal: Principal) -> None:
    """Raise Conflict if the member paused memory; what was said before waits."""
    if not policy_for(principal).learns:
        raise Conflict(_(PAUSED))


def rerun(principal: Principal, run_id: UUID, *, extractor: Extractor | None = None) -> RunReport:
    """Read the episodes of a run again, without moving the watermark. Facts that the run stored count as known.

    Raises NotFound, Busy, Conflict (the run is still running, its episodes are waiting anyway, or all were erased).
    """
    principal.require(Right.WRITE)
    principal.require(Right.READ)
    run = existing(ConsolidationRun.objects.of(principal).filter(pk=run_id).first(), "run")
    if run.state == RunState.RUNNING:
        raise Conflict(_("This run is not over yet."))
    if run.state == RunState.FAILED and not run.given_up and run.trigger != Trigger.RERUN:
        raise Conflict(_("The episodes of this run wait for the next one; consolidate instead."))
    _require_learning(principal)
    lease = take(principal)
    try:
        return _Consolidation(lease, extractor or consolidation_extractor(), Trigger.RERUN, of=run).again()
    finally:
        lease.release()


@dataclass(slots=True)
class _Consolidation:
    """One consolidation under a lease."""

    lease: Lease
    extractor: Extractor
    trigger: Trigger
    of: ConsolidationRun | None = None
    report: RunReport = field(default_factory=RunReport)

    @property
    def principal(self) -> Principal:
        return self.lease.principal

    def all(self, batch: int, max_batches: int | None, seconds: float | None = None) -> RunReport:
        """Run batches until nothing waits, a fault stops it, `max_batches` are done, or the time is over."""
        size, tries, done = batch, 0, 0
        ends = None if seconds is None else time.monotonic() + seconds
        while max_batches is None or done < max_batches:
            if self.report.runs and size == batch and not tries and ends is not None and time.monotonic() > ends:
                break
            ledger = self.lease.extend()
            episodes = next_episodes(self.principal, ledger, size)
            if not episodes:
                pass_erased(self.lease)  # the last episodes were erased, or the next turn is still being answered
                break
            fault = self._run(episodes)
            if fault is None:
                size, tries, done = batch, 0, done + 1
            elif fault.kind is FaultKind.PASSING:
                break
            elif len(episodes) > 1:
                size = len(episodes) // 2
            else:
                tries += 1
                if tries >= TRIES_ALONE or fault.kind is FaultKind.REFUSED:
                    give_up(self.lease, self.report.runs[-1], episodes[0])
                    self.report.given_up += 1
                    size, tries = batch, 0
        self.report.waiting = count_waiting(self.principal)
        return self.report

    def again(self) -> RunReport:
        """Rerun the episodes of an earlier run that still exist."""
        if self.of is None:
            raise ValueError("There is no run to repeat.")
        ordinals = (self.of.first_ordinal, self.of.last_ordinal)
        readable = Episode.objects.of(self.principal).current()
        episodes = list(readable.filter(ordinal__range=ordinals).order_by("ordinal"))
        if not episodes:
            raise Conflict(_("All that this run read was forgotten since."))
        fault = self._run(episodes)
        self.report.passing = fault is not None and fault.kind is FaultKind.PASSING
        self.report.waiting = count_waiting(self.principal)
        return self.report

    def _run(self, episodes: Sequence[Episode]) -> ExtractionFault | None:
        """Run and record one batch. Returns the fault if nothing was written."""
        run = self._begin(episodes)
        self.report.runs.append(run.pk)
        with tracing.span("consolidation", run=run.pk, episodes=len(episodes), trigger=self.trigger.value):
            return self._ran(run, episodes)

    def _ran(self, run: ConsolidationRun, episodes: Sequence[Episode]) -> ExtractionFault | None:
        try:
            material = gather(self.principal, episodes)
            with self.lease.kept():
                extraction = self.extractor.extract(material) if material.episodes else Extraction((), {})
            proposals = tuple(map(material.guidance.categorised, extraction.proposals))
            extraction = replace(extraction, proposals=proposals)
            applied = self._commit(run, material, extraction)
        except ExtractionFault as fault:
            self._failed(run, fault)
            return fault
        except Busy:
            self._failed(run, ExtractionFault("Another consolidation took over.", FaultKind.PASSING))
            raise
        except Exception as error:  # the failed run is recorded whatever the cause, and its episodes wait
            if isinstance(error, Forbidden) and self._has_ended():
                raise  # the membership ended, for example by an erasure; nothing can be recorded for it
            # Log the traceback without the message, because a database error may quote the row.
            frames = "".join(format_tb(error.__traceback__))
            log.error("consolidation %s: %s\n%s", run.pk, type(error).__name__, frames)  # noqa: TRY400 - see above
            unexpected = self._unexpected(run, error)
            self._failed(run, unexpected)
            return unexpected
        self.report.count(applied)
        self.report.episodes += len(episodes)
        self._judge_new(run)
        return None

    def _unexpected(self, run: ConsolidationRun, error: Exception) -> ExtractionFault:
        """The fault that an unexpected error is; the failed runs over the same first episode say how often it came."""
        message = UNEXPECTED.format(fault_of(error))
        same = ConsolidationRun.objects.of(self.principal).filter(rerun_of=None, state=RunState.FAILED, error=message)
        equal = same.filter(first_ordinal__lte=run.first_ordinal, last_ordinal__gte=run.first_ordinal)
        again = passes(error) or equal.count() + 1 < EQUAL_FAILURES
        return ExtractionFault(message, FaultKind.PASSING if again else FaultKind.UNUSABLE)

    def _has_ended(self) -> bool:
        """Whether the membership is no longer active."""
        return not active_memberships().filter(pk=self.principal.membership_id).exists()

    def _judge_new(self, run: ConsolidationRun) -> None:
        """Ask the configured model which known facts the new ones contradict, after the rules have judged.

        Unanswered pairs and failures are left to the daily scan, because the run itself is already done.
        """
        judge = contradiction_judge()
        if judge is None or run.state != RunState.DONE:
            return
        try:
            with self.lease.kept():
                scan_owner(self.principal, judge=judge, limit=NEW_PAIRS, since=run.started_at)
        except Exception as error:  # noqa: BLE001 - the run is committed, and the daily scan judges the pairs
            log.warning("Contradictions of run %s were not judged: %s.", run.pk, fault_of(error))

    def _begin(self, episodes: Sequence[Episode]) -> ConsolidationRun:
        with write(self.principal):  # raises for a member who is being erased
            return ConsolidationRun.objects.create(
                tenant_id=self.principal.tenant_id,
                user_id=self.principal.user_id,
                trigger=self.trigger,
                extractor=self.extractor.name[:80],
                rerun_of=self.of,
                first_ordinal=episodes[0].ordinal,
                last_ordinal=episodes[-1].ordinal,
                input={"episodes": [str(episode.pk) for episode in episodes]},
            )

    def _commit(self, run: ConsolidationRun, material: Material, extraction: Extraction) -> Applied:
        """Plan and write in one transaction, with the record and the watermark. Raises Busy if the lease was lost."""
        batch = [episode.id for episode in material.episodes]
        with write(self.principal) as w:
            ledger = self.lease.held()
            if not w.policy.learns:  # paused while the model read
                raise ExtractionFault(PAUSED, FaultKind.PASSING)
            there = _still_said(self.principal, batch)
            texts = [each.text for each in extraction.proposals if isinstance(each, ProposedFact)]
            history = of_same_wording(self.principal, texts, batch)
            decisions = Planner(material, history).plan(extraction.proposals)
            applied = apply(w, decisions, there=there)
            told = {pk for each in extraction.proposals for pk in each.supporting_episode_ids}
            leave_questions_out(w, there - told)
            run.input |= {
                "facts": [str(fact.id) for fact in material.facts],
                "playbooks": [str(playbook.id) for playbook in material.playbooks],
            }
            # An erasure or edit during the run could not clear this output, so the output is stored only if all its
            # inputs still stand.
            whole = len(there) == len(batch) and _all_known(self.principal, material)
            run.output = self._screened(extraction.output) if whole else ERASED_OUTPUT
            run.decisions = applied.lines
            self._end(run, RunState.DONE, extraction.input_tokens, extraction.output_tokens)
            if self.of is None:
                advance(self.principal, ledger, run.last_ordinal)
            w.audit(
                "consolidation.done",
                target_kind="consolidation",
                target_id=run.pk,
                after={"episodes": len(batch), "extractor": run.extractor, "trigger": run.trigger},
            )
        return applied

    def _failed(self, run: ConsolidationRun, fault: ExtractionFault) -> None:
        """Record the failure, and schedule a retry of a passing fault."""
        self.report.error = fault.message
        with write(self.principal):
            run.error = fault.message[:300]
            # An unreadable answer may quote the owner too, so it is kept only while all its episodes exist.
            run.output = self._screened({"unusable": fault.output}) if fault.output and self._all_there(run) else {}
            run.decisions = []  # decisions of a commit that was rolled back
            self._end(run, RunState.FAILED, fault.input_tokens, fault.output_tokens)
            if fault.kind is FaultKind.PASSING and self.of is None:
                postpone(self.lease, fault)

    def _screened(self, output: Mapping[str, Any]) -> dict[str, Any]:
        """The extractor's output with sensitive values masked, because a model may invent some."""
        masked: dict[str, Any] = Screen(self.principal).arguments(output)
        return masked

    def _all_there(self, run: ConsolidationRun) -> bool:
        ids = run.input["episodes"]
        return Episode.objects.of(self.principal).filter(pk__in=ids).count() == len(ids)

    def _end(self, run: ConsolidationRun, state: RunState, input_tokens: int, output_tokens: int) -> None:
        run.state = state
        run.ended_at = timezone.now()
        run.input_tokens, run.output_tokens = input_tokens, output_tokens
        run.cost = _cost(input_tokens, output_tokens)
        transaction.on_commit(partial(spend_model_tokens, self.principal, input_tokens + output_tokens))
        run.save()


def _still_said(principal: Principal, batch: Sequence[UUID]) -> set[UUID]:
    """The episodes of the batch that still exist and whose message was not replaced since."""
    rows = Episode.objects.of(principal).filter(pk__in=batch).exclude(message__replaced_by__isnull=False)
    return set(rows.values_list("pk", flat=True))


def _all_known(principal: Principal, material: Material) -> bool:
    """Whether every fact and playbook that the extractor was shown still exists."""
    facts, playbooks = [fact.id for fact in material.facts], [playbook.id for playbook in material.playbooks]
    return Fact.objects.of(principal).filter(pk__in=facts).count() == len(facts) and Playbook.objects.of(
        principal
    ).filter(pk__in=playbooks).count() == len(playbooks)


def _cost(input_tokens: int, output_tokens: int) -> Decimal | None:
    """The price of the tokens; None if no prices are configured."""
    read, written = map(Decimal, map(str, settings.MEMORYHUB_PRICES))
    if not read and not written:
        return None
    return (read * input_tokens + written * output_tokens) / MILLION


# After this time a sweep starts no further owner, so that the next sweep reorders them by waiting time.
SWEEP_SECONDS = 600.0
# After this time an owner starts no further batch, so that other owners get their turn.
OWNER_SECONDS = 30.0
OFF, TURN = "off", "turn"


@dataclass(frozen=True, slots=True)
class Due:
    """An owner to consolidate, and the reason."""

    tenant_id: UUID
    user_id: UUID
    trigger: Trigger


def due(now: datetime) -> Iterator[Due]:
    """The active owners whose episodes are due by age or count, longest waiting first."""
    ready = Q(retry_at__isnull=True) | Q(retry_at__lte=now)
    policies: dict[UUID, Policy] = {}
    rows = EpisodeLedger.objects.unscoped("consolidation of every owner").filter(
        has_active_member(), free(now), ready, waiting_since__isnull=False
    )
    member = {"membership__tenant": OuterRef("tenant"), "membership__user": OuterRef("user")}
    rows = rows.exclude(Exists(MemberChoices.objects.filter(**member, learns=False)))
    for row in list(rows.order_by("waiting_since")):
        policy = policies.get(row.tenant_id) or policies.setdefault(row.tenant_id, policy_of(row.tenant_id))
        trigger = _trigger(row, policy, now)
        if trigger is not None:
            yield Due(row.tenant_id, row.user_id, trigger)


def sweep() -> list[RunReport]:
    """Consolidate the due owners in turn for at most SWEEP_SECONDS. Does nothing if MEMORYHUB_CONSOLIDATE is off."""
    reports: list[RunReport] = []
    if settings.MEMORYHUB_CONSOLIDATE == OFF:
        return reports
    ends = time.monotonic() + SWEEP_SECONDS
    while time.monotonic() <= ends:
        done = [report for owner in due(timezone.now()) if (report := _in_time(owner, ends)) is not None]
        reports += done
        if not any(report.episodes or report.given_up for report in done):
            break
    return reports


def _in_time(owner: Due, ends: float) -> RunReport | None:
    return consolidate_owner(owner) if time.monotonic() <= ends else None


def consolidate_owner(owner: Due) -> RunReport | None:
    """Consolidate one owner. Returns None if the membership is not active or the consolidation could not run."""
    membership = active_memberships().filter(tenant_id=owner.tenant_id, user_id=owner.user_id).first()
    if membership is None:
        return None
    try:
        return consolidate(system_principal(membership), trigger=owner.trigger, seconds=OWNER_SECONDS)
    except (MemoriesError, TenantsError) as error:
        log.info("A consolidation was put off: %s", error)
        return None
    except Exception as error:  # noqa: BLE001 - one owner's fault must not stop the others
        log.error("The consolidation of %s %s failed: %s.", owner.tenant_id, owner.user_id, fault_of(error))  # noqa: TRY400 - a message may quote a row
        return None


def _trigger(row: EpisodeLedger, policy: Policy, now: datetime) -> Trigger | None:
    if row.attempts:
        return Trigger.RETRY
    if (row.asked or 0) > row.consolidated:
        return Trigger.DEMAND
    if settings.MEMORYHUB_CONSOLIDATE == TURN:
        return Trigger.TURN
    if row.stored - row.consolidated >= policy.consolidate_every:
        return Trigger.COUNT
    if row.waiting_since is not None and row.waiting_since + policy.consolidate_after <= now:
        return Trigger.AGE
    return None
