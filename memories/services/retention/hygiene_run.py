"""Runs of the hygiene scan, owner by owner; an installation applies one at a time.

Cursor and counts are committed with each page, so a killed run continues where it stopped, with its original start time
and the same result. An owner whose scan fails does not stop the others, and a memory that fails stops no other memory.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from traceback import format_tb
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from memories.models import Fact, HygieneRun, HygieneState, MemoryPolicy, Playbook
from memories.selectors.policies import Policy, policy_of
from memories.services.retention.hygiene_scan import ScanPosition, Task, rules, scan_owner
from memories.services.write import housekeeping
from memories.types import Kind, Owner, Scope
from memoryhub.db.advisory_lock import LockTaken, advisory_lock
from memoryhub.db.scope import WideRole, acting_as
from memoryhub.jobs import RUN_SECONDS, JobResult
from memoryhub.observability import tracing
from tenants.models import Membership

log = logging.getLogger(__name__)

# An older interrupted run is not continued, because its start time no longer fits.
GONE_ON_WITHIN = timedelta(days=2)
# A margin for writes that began before a scan and were committed after it had read their page.
SETTLING = timedelta(minutes=10)
RECENT_RUNS = 20
COUNTS = (
    "owners", "facts", "playbooks", "contradictions", "resolved", "opened", "stale", "fresh", "proposed", "junk",
    "sensitive", "failed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scanned:
    """The result of a scan. `run_id` is None for a dry run; `state` says whether the scan was completed."""

    applied: bool
    run_id: UUID | None = None
    state: HygieneState = HygieneState.DONE
    went_on: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)


def hygiene_scan(
    *,
    apply: bool,
    tenant_id: UUID | None = None,
    trigger: str = "demand",
    now: datetime | None = None,
    advance: Callable[[int], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> Scanned:
    """Scan the memories of one tenant or of all, as of `now`; `advance` counts memories.

    Without `apply` nothing is written and the counts are the same. `stop` is checked after each page. Raises LockTaken
    if another process is applying a scan.
    """
    with advisory_lock("hygiene") if apply else nullcontext():
        run = _begun(tenant_id, trigger, now) if apply else None
        scan = _Scan(tenant_id, run, run.started_at if run else now or timezone.now(), advance)
        with tracing.span("hygiene", applied=apply) as span:
            scanned = scan.over(stop)
            span.note(run=scanned.run_id, state=scanned.state.value, **scanned.counts)
        return scanned


def count_memories(tenant_id: UUID | None) -> int:
    """The number of memories that a scan reads."""
    models = (Fact, Playbook)
    rows = (_current(model) for model in models)
    return sum((each.filter(tenant=tenant_id) if tenant_id else each).count() for each in rows)


@dataclass(slots=True)
class _Scan:
    """One scan; `run` is its record, None for a dry run."""

    tenant_id: UUID | None
    run: HygieneRun | None
    now: datetime
    advance: Callable[[int], None]
    counts: Counter[str] = field(default_factory=Counter)

    def over(self, stop: Callable[[], bool]) -> Scanned:
        """Scan all remaining owners."""
        cursor = dict(self.run.cursor) if self.run else {}
        self.counts.update(self.run.counts if self.run else {})
        basis = _basis(self.tenant_id)
        for key, owner in owners_of(self.tenant_id):
            if key < cursor.get("owner", ""):
                continue
            place = _place_in(cursor) if key == cursor.get("owner") else ScanPosition()
            if not self._scan(key, owner, place, basis, stop):
                return self._ended(HygieneState.INTERRUPTED, went_on="owner" in cursor)
        state = HygieneState.FAILED if self.counts["failed"] else HygieneState.DONE
        return self._ended(state, went_on="owner" in cursor)

    def _scan(
        self, key: str, owner: Owner, place: ScanPosition, basis: datetime | None, stop: Callable[[], bool]
    ) -> bool:
        """Scan one owner from `place` on; return False if `stop` ended the scan."""

        def note(reached: ScanPosition, counts: Counter[str]) -> None:
            self._note(key, owner, reached, counts)

        try:
            task, apply = _task(owner, basis, self.now), self.run is not None
            for _ in scan_owner(task, place=place, apply=apply, note=note, take_back=self._take_back):
                if stop():
                    return False
        except Exception as error:  # noqa: BLE001 - one owner's fault must not stop the scan of the others
            # Log the traceback without the message, because a database error may quote the row.
            frames = "".join(format_tb(error.__traceback__))
            log.error("Memories of %s were not scanned: %s.\n%s", owner, type(error).__name__, frames)  # noqa: TRY400 - see above
            self._take_back()
            self.counts["failed"] += 1
        else:
            self.counts["owners"] += 1
        return True

    def _note(self, key: str, owner: Owner, reached: ScanPosition, counts: Counter[str]) -> None:
        """Save the cursor and the counts in the page's transaction.

        A member who was erased while the page was read is not named, because their receipt excludes it.
        """
        self.counts.update(counts)
        if self.run is not None and (counts["facts"] or counts["playbooks"]):
            self._keep_place(self.run, key, reached)
        elif self.run is not None:
            with housekeeping(owner):  # an erasure takes the same lock
                if _is_there(owner):
                    self._keep_place(self.run, key, reached)
        self.advance(counts["facts"] + counts["playbooks"])

    def _keep_place(self, run: HygieneRun, key: str, reached: ScanPosition) -> None:
        place = {"owner": key, "kind": reached.kind.value, "after": str(reached.after)}
        run.cursor = {"rules": run.cursor["rules"], **place}
        run.counts, run.seen_at = dict(self.counts), timezone.now()
        with acting_as(WideRole.JOBS):  # the run is of all owners
            run.save(update_fields=["cursor", "counts", "seen_at"])

    def _take_back(self) -> None:
        """Reset the counts to those last saved, since the failed transaction was rolled back; keep counted owners."""
        if self.run is not None:
            owners, failed = self.counts["owners"], self.counts["failed"]
            self.run.refresh_from_db()
            self.counts = Counter({**self.run.counts, "owners": owners, "failed": failed})

    def _ended(self, state: HygieneState, *, went_on: bool) -> Scanned:
        counts = {name: self.counts[name] for name in COUNTS}
        if self.run is None:
            return Scanned(applied=False, state=state, counts=counts)
        self.run.state = state
        failed = self.counts["failed"]
        self.run.error = f"{failed} memories or owners could not be scanned; the log says which." if failed else ""
        self.run.seen_at = timezone.now()
        fields = ["state", "error", "seen_at"]
        if state is not HygieneState.INTERRUPTED:  # a continued run counts the current owner when it finishes it
            self.run.counts, self.run.finished_at = counts, self.run.seen_at
            fields += ["counts", "finished_at"]
        self.run.save(update_fields=fields)
        return Scanned(applied=True, run_id=self.run.pk, state=state, went_on=went_on, counts=counts)


def owners_of(tenant_id: UUID | None) -> Iterator[tuple[str, Owner]]:
    """The owners to scan in order of their keys: global, tenants' shared memories, members.

    Inactive members are included, because forbidden values must be found there too.
    """
    everybodys = (_current(model).filter(scope=Scope.GLOBAL).exists() for model in (Fact, Playbook))
    if tenant_id is None and any(everybodys):
        yield "0", Owner(None, None)
    shared = {
        tenant
        for model in (Fact, Playbook)
        for tenant in _current(model).filter(scope=Scope.TENANT).order_by().values_list("tenant", flat=True).distinct()
        if tenant_id in (None, tenant)
    }
    yield from ((f"1 {tenant}", Owner(tenant, None)) for tenant in sorted(shared))
    theirs = {"tenant": OuterRef("tenant"), "user": OuterRef("user")}
    members = Membership.objects.filter(
        Exists(_current(Fact).filter(**theirs)) | Exists(_current(Playbook).filter(**theirs))
    )
    if tenant_id is not None:
        members = members.filter(tenant=tenant_id)
    ids = members.order_by("id").values_list("id", "tenant_id", "user_id")
    yield from ((f"2 {membership}", Owner(tenant, user)) for membership, tenant, user in list(ids))


def _is_there(owner: Owner) -> bool:
    """Whether an owner has any fact or playbook."""
    return any(model.objects.of_owner(owner.tenant_id, owner.user_id).exists() for model in (Fact, Playbook))


def _current(model: type[Fact | Playbook]) -> QuerySet[Any]:
    return model.objects.unscoped("hygiene of every owner").current()


def _place_in(cursor: Mapping[str, str]) -> ScanPosition:
    return ScanPosition(Kind(cursor["kind"]), UUID(cursor["after"]))


def _task(owner: Owner, basis: datetime | None, now: datetime) -> Task:
    """The task for one owner. All texts are read again if the tenant's policy changed after `basis`."""
    if owner.tenant_id is None:
        return Task(owner, Policy(), now, basis)
    changed = MemoryPolicy.objects.filter(tenant=owner.tenant_id).values_list("updated_at", flat=True).first()
    since = None if basis is not None and changed is not None and changed >= basis else basis
    return Task(owner, policy_of(owner.tenant_id), now, since)


def _basis(tenant_id: UUID | None) -> datetime | None:
    """The time before which texts need no rereading: just before the last complete scan with the current rules."""
    whole = HygieneRun.objects.filter(state=HygieneState.DONE).filter(Q(tenant=None) | Q(tenant=tenant_id))
    last = next(
        (run for run in whole.order_by("-started_at")[:RECENT_RUNS] if run.cursor.get("rules") == rules()), None
    )
    return last.started_at - SETTLING if last else None


def _begun(tenant_id: UUID | None, trigger: str, now: datetime | None) -> HygieneRun:
    """The interrupted run to continue, or a new one. The caller holds the lock for scans."""
    HygieneRun.objects.filter(state=HygieneState.RUNNING).update(
        state=HygieneState.INTERRUPTED
    )  # the lock is free, so their process has died
    begins = now or timezone.now()
    last = HygieneRun.objects.filter(tenant=tenant_id).order_by("-started_at").first()
    if (
        last is not None
        and last.state == HygieneState.INTERRUPTED
        and last.cursor.get("rules") == rules()
        and last.started_at >= begins - GONE_ON_WITHIN
    ):
        last.state, last.seen_at = HygieneState.RUNNING, timezone.now()
        last.save(update_fields=["state", "seen_at"])
        return last
    return HygieneRun.objects.create(tenant_id=tenant_id, trigger=trigger, started_at=begins, cursor={"rules": rules()})


# A scan within this time is not repeated, for example after a restart.
RESTS = timedelta(hours=20)


def scan_daily() -> JobResult:
    """Scan everything once a day or continue an interrupted scan. Returns MORE if the time of a run was over first."""
    since = timezone.now() - RESTS
    if HygieneRun.objects.filter(tenant=None, state=HygieneState.DONE, finished_at__gt=since).exists():
        return JobResult.DONE
    ends = time.monotonic() + RUN_SECONDS
    try:
        scanned = hygiene_scan(apply=True, trigger="daily", stop=lambda: time.monotonic() >= ends)
    except LockTaken:
        log.info("Another process is scanning.")
        return JobResult.DONE
    told = ", ".join(f"{count} {name}" for name, count in scanned.counts.items() if count)
    log.info("Hygiene scan %s: %s.", scanned.state.value, told or "nothing to look at")
    return JobResult.MORE if scanned.state is HygieneState.INTERRUPTED else JobResult.DONE
