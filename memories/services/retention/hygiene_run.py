"""A run of the hygiene scan, owner by owner; one at a time on an installation.

The position and the counts are committed with each page, so a killed run continues where it was, at the time at which
it began, with the same result. An owner whose scan fails does not stop the others.
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
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from memories.models import Fact, HygieneRun, HygieneState, MemoryPolicy, Playbook
from memories.selectors.policies import Policy, policy_of
from memories.services.retention.hygiene_scan import ScanPosition, Task, rules, scan_owner
from memories.services.write import housekeeping
from memories.types import CURRENT, Kind, Owner, Scope
from memoryhub.db.advisory_lock import LockTaken, advisory_lock
from memoryhub.jobs import RUN_SECONDS, JobResult
from memoryhub.observability import tracing
from tenants.models import Membership

log = logging.getLogger(__name__)

# A run that was interrupted longer ago is begun anew: what it decided by is no longer so.
GONE_ON_WITHIN = timedelta(days=2)
# A write that had begun before a scan may be committed behind its back.
SETTLING = timedelta(minutes=10)
RECENT_RUNS = 20
COUNTS = (
    "owners", "facts", "playbooks", "contradictions", "resolved", "opened", "stale", "fresh", "proposed", "junk",
    "sensitive", "failed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scanned:
    """What a scan counted. `run_id` is None for a dry one; `state` says whether it came to its end."""

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
    """Scan the memories of one tenant or of all, as they are to be `now`; `advance` counts memories.

    Without `apply` nothing is written and the same is counted. `stop` is asked after each page. Raises Busy if another
    scan is being applied.
    """
    with advisory_lock("hygiene") if apply else nullcontext():
        run = _begun(tenant_id, trigger, now) if apply else None
        scan = _Scan(tenant_id, run, run.started_at if run else now or timezone.now(), advance)
        with tracing.span("hygiene", applied=apply) as span:
            scanned = scan.over(stop)
            span.note(run=scanned.run_id, state=scanned.state.value, **scanned.counts)
        return scanned


def count_memories(tenant_id: UUID | None) -> int:
    """How many memories a scan would look at."""
    models = (Fact, Playbook)
    rows = (model.objects.unscoped("hygiene of every owner").current() for model in models)
    return sum((each.filter(tenant=tenant_id) if tenant_id else each).count() for each in rows)


@dataclass(slots=True)
class _Scan:
    """One scan; `run` is its record, None for a dry one."""

    tenant_id: UUID | None
    run: HygieneRun | None
    now: datetime
    advance: Callable[[int], None]
    counts: Counter[str] = field(default_factory=Counter)

    def over(self, stop: Callable[[], bool]) -> Scanned:
        """All owners that are left."""
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
        """One owner, from `place` on; whether to go on."""

        def note(reached: ScanPosition, counts: Counter[str]) -> None:
            self._note(key, owner, reached, counts)

        try:
            for _ in scan_owner(_task(owner, basis, self.now), place=place, apply=self.run is not None, note=note):
                if stop():
                    return False
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one owner, the others have their scan
            # Where it came from, not its message: that of a database may quote the row.
            frames = "".join(format_tb(error.__traceback__))
            log.error("Memories of %s were not scanned: %s.\n%s", owner, type(error).__name__, frames)  # noqa: TRY400 - see above
            self._take_back()
            self.counts["failed"] += 1
        else:
            self.counts["owners"] += 1
        return True

    def _note(self, key: str, owner: Owner, reached: ScanPosition, counts: Counter[str]) -> None:
        """In the transaction of a page: where it is and what was counted.

        Of a member who was erased while the page was read there is no place any more: their receipt says so.
        """
        self.counts.update(counts)
        if self.run is not None and (counts["facts"] or counts["playbooks"]):
            self._keep_place(self.run, key, reached)
        elif self.run is not None:
            with housekeeping(owner):  # whoever erases them holds the same lock
                if _is_there(owner):
                    self._keep_place(self.run, key, reached)
        self.advance(counts["facts"] + counts["playbooks"])

    def _keep_place(self, run: HygieneRun, key: str, reached: ScanPosition) -> None:
        place = {"owner": key, "kind": reached.kind.value, "after": str(reached.after)}
        run.cursor = {"rules": run.cursor["rules"], **place}
        run.counts, run.seen_at = dict(self.counts), timezone.now()
        run.save(update_fields=["cursor", "counts", "seen_at"])

    def _take_back(self) -> None:
        """What the failed transaction had noted did not happen; owners since the last note are counted again."""
        if self.run is not None:
            owners, failed = self.counts["owners"], self.counts["failed"]
            self.run.refresh_from_db()
            self.counts = Counter({**self.run.counts, "owners": owners, "failed": failed})

    def _ended(self, state: HygieneState, *, went_on: bool) -> Scanned:
        counts = {name: self.counts[name] for name in COUNTS}
        if self.run is None:
            return Scanned(applied=False, state=state, counts=counts)
        self.run.state = state
        self.run.error = f"{self.counts['failed']} owners could not be scanned." if self.counts["failed"] else ""
        self.run.seen_at = timezone.now()
        fields = ["state", "error", "seen_at"]
        if state is not HygieneState.INTERRUPTED:  # one that goes on counts the owner in hand when it is done with it
            self.run.counts, self.run.finished_at = counts, self.run.seen_at
            fields += ["counts", "finished_at"]
        self.run.save(update_fields=fields)
        return Scanned(applied=True, run_id=self.run.pk, state=state, went_on=went_on, counts=counts)


def owners_of(tenant_id: UUID | None) -> Iterator[tuple[str, Owner]]:
    """The owners to scan, each with a key that orders them: global, tenants' shared memories, members.

    Members also if they may not act any more: what must not be stored is found there, too.
    """
    everybodys = (
        model.objects.unscoped("hygiene of every owner").current().filter(scope=Scope.GLOBAL).exists()
        for model in (Fact, Playbook)
    )
    if tenant_id is None and any(everybodys):
        yield "0", Owner(None, None)
    shared = {
        tenant
        for model in (Fact, Playbook)
        for tenant in _shared(model).order_by().values_list("tenant", flat=True).distinct()
        if tenant_id in (None, tenant)
    }
    yield from ((f"1 {tenant}", Owner(tenant, None)) for tenant in sorted(shared))
    theirs = {"tenant": OuterRef("tenant"), "user": OuterRef("user"), "status__in": CURRENT}
    members = Membership.objects.filter(
        Exists(Fact.objects.unscoped("hygiene of every owner").filter(**theirs))
        | Exists(Playbook.objects.unscoped("hygiene of every owner").filter(**theirs))
    )
    if tenant_id is not None:
        members = members.filter(tenant=tenant_id)
    ids = members.order_by("id").values_list("id", "tenant_id", "user_id")
    yield from ((f"2 {membership}", Owner(tenant, user)) for membership, tenant, user in list(ids))


def _is_there(owner: Owner) -> bool:
    """True if an owner has any fact or playbook."""
    return any(model.objects.of_owner(owner.tenant_id, owner.user_id).exists() for model in (Fact, Playbook))


def _shared(model: type[Fact | Playbook]) -> QuerySet[Fact] | QuerySet[Playbook]:
    return model.objects.unscoped("hygiene of every owner").current().filter(scope=Scope.TENANT)


def _place_in(cursor: Mapping[str, str]) -> ScanPosition:
    return ScanPosition(Kind(cursor["kind"]), UUID(cursor["after"]))


def _task(owner: Owner, basis: datetime | None, now: datetime) -> Task:
    """An owner to scan. A policy that was changed since `basis` may want to have all words read again."""
    if owner.tenant_id is None:
        return Task(owner, Policy(), now, basis)
    changed = MemoryPolicy.objects.filter(tenant=owner.tenant_id).values_list("updated_at", flat=True).first()
    since = None if basis is not None and changed is not None and changed >= basis else basis
    return Task(owner, policy_of(owner.tenant_id), now, since)


def _basis(tenant_id: UUID | None) -> datetime | None:
    """Since when words are to be read: what is older was read by the rules of today, in a scan that came to its end."""
    whole = HygieneRun.objects.filter(state=HygieneState.DONE).filter(Q(tenant=None) | Q(tenant=tenant_id))
    last = next(
        (run for run in whole.order_by("-started_at")[:RECENT_RUNS] if run.cursor.get("rules") == rules()), None
    )
    return last.started_at - SETTLING if last else None


def _begun(tenant_id: UUID | None, trigger: str, now: datetime | None) -> HygieneRun:
    """The interrupted run, to be continued, or a new one; the caller holds the lock of all scans."""
    HygieneRun.objects.filter(state=HygieneState.RUNNING).update(
        state=HygieneState.INTERRUPTED
    )  # their process is gone
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


# A process that starts anew does not scan anew.
RESTS = timedelta(hours=20)


def scan_daily() -> JobResult:
    """Scan everything once a day, or continue an interrupted scan; MORE when the time of a run is over before that."""
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
