"""Scans one owner's memories page by page: staleness, the resulting status, and proposals to evict.

Dry and real scans decide by the same code. A page is decided and applied in one transaction under the owner's lock,
with the run's cursor, audit events and outbox entries. A page that fails is halved down to the memory at fault, which
is left out and counted. The scan removes nothing; it opens reviews (`services/reviews/queue.py`). Stored secrets and
junk are reported by kind only.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from memories.consolidation.rules import contradiction_judge, junk, junk_in_playbook
from memories.hygiene import junk as junk_forms
from memories.hygiene import sensitivity
from memories.hygiene.ageing import EVICT_OVER, staleness, status_after
from memories.hygiene.junk import reason_of
from memories.hygiene.sensitivity.detecting import scan_named
from memories.hygiene.sensitivity.findings import judged
from memories.models import CHAINED_MODELS, Fact, Playbook, ReviewDecision, ReviewItem, ReviewKind
from memories.selectors.policies import Policy
from memories.selectors.retention import UsageCounts, page_of, rows_of, standing_of, surroundings_of, use_by
from memories.services import contradictions
from memories.services.contradictions import ScanResult
from memories.services.facts.closing import change_rows, model_of
from memories.services.reviews.queue import KEPT_FOR, open_eviction, withdraw
from memories.services.screening import names_of
from memories.services.write import AUDIT_NOUN, Write, housekeeping, write
from memories.types import Handling, Kind, Owner, SensitiveKind, Status
from memoryhub.leases import fault_of, halved, passes
from tenants.audit.chain import EventDraft
from tenants.models import Membership
from tenants.principal import Role
from tenants.principals import keeping_principal, system_principal


@dataclass(frozen=True, slots=True)
class Found:
    """The reason why a memory should go: `name` for machines, `reason` for people. `sensitive` is False for junk."""

    name: str
    reason: str
    sensitive: bool


def found_in(
    kind: Kind, ids: Sequence[UUID], *, since: datetime | None, handling: Mapping[SensitiveKind, Handling]
) -> dict[UUID, Found]:
    """Sensitive values or junk in those of the memories that were updated `since` then (None: in all)."""
    written = Q(updated_at__gte=since) if since else Q()
    columns = (
        ("key", "category", "text") if kind is Kind.SEMANTIC else ("title", "trigger", "text", "steps", "category")
    )
    rows = (
        CHAINED_MODELS[kind].objects.unscoped("hygiene of every owner").filter(written, pk__in=ids).only("id", *columns)
    )
    wrong = {row.pk: _sensitive_in(row, handling) or _junk_in(row) for row in rows.iterator(chunk_size=len(ids) or 1)}
    return {pk: found for pk, found in wrong.items() if found is not None}


def rules() -> str:
    """A digest of the sensitivity, junk and language rules. After a change, all texts are scanned again."""
    return _digest_with(settings.MEMORYHUB_RULES)


@cache
def _digest_with(rule_set: str) -> str:
    modules = [sensitivity, *([import_module(rule_set)] if rule_set else [])]
    folders = [Path(folder) for module in modules for folder in module.__path__]
    digest = hashlib.sha256()
    for path in (Path(junk_forms.__file__), *(path for folder in folders for path in sorted(folder.glob("*.py")))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _sensitive_in(row: Fact | Playbook, handling: Mapping[SensitiveKind, Handling]) -> Found | None:
    fields = _fields(row)
    found = ((text, scan_named(text, names_of(name, fields))) for name, text in fields.items())
    kinds = {each.kind for text, findings in found for each in judged(text, findings, handling).blocked}
    if not kinds:
        return None
    names = sorted(kind.value for kind in kinds)
    told = ", ".join(name.replace("_", " ") for name in names)
    return Found(",".join(names), f"It holds what is not stored: {told}.", sensitive=True)


def _junk_in(row: Fact | Playbook) -> Found | None:
    if isinstance(row, Fact):
        kind = junk(row.text, slot=bool(row.key))
    else:
        kind = junk_in_playbook(row.title, row.trigger, row.text, row.steps)
    return Found(kind.value, f"It is no memory: {reason_of(kind)}.", sensitive=False) if kind else None


def _fields(row: Fact | Playbook) -> dict[str, str]:
    """The texts of a memory under the field names used when it was written."""
    if isinstance(row, Fact):
        return {"text": row.text, "key": row.key, "category": row.category}
    steps = {f"steps.{place}": step for place, step in enumerate(row.steps)}
    return {"title": row.title, "trigger": row.trigger, "text": row.text, "category": row.category} | steps


log = logging.getLogger(__name__)

# Memories decided in one transaction; other writers of the owner wait for it.
PAGE = 500
# An owner with more memories that fail is given up until the next scan.
MOST_LEFT_OUT = 20
KINDS = (Kind.SEMANTIC, Kind.PROCEDURAL)
_COUNTED = {Kind.SEMANTIC: "facts", Kind.PROCEDURAL: "playbooks"}
STALE = "old, unused or contradicted"
FRESH = "not stale any more"
STALE_PROPOSAL = "It is old, unused and contradicted."


@dataclass(frozen=True, slots=True)
class ScanPosition:
    """The progress of an owner's scan: every kind before `kind`, and of `kind` all ids up to `after`."""

    kind: Kind = Kind.SEMANTIC
    after: UUID | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """One owner to scan. Texts written before `since` are not read again (None: all are read)."""

    owner: Owner
    policy: Policy
    now: datetime
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Results that a dry scan did not write: facts that would have ended, and facts in new reviews."""

    ended: frozenset[UUID] = frozenset()
    disputed: frozenset[UUID] = frozenset()


@dataclass(slots=True)
class Decided:
    """The decisions about a page of memories of one kind."""

    kind: Kind
    aged: list[Fact | Playbook] = field(default_factory=list)
    status: dict[tuple[str, float], list[Fact | Playbook]] = field(default_factory=lambda: defaultdict(list))
    proposals: list[tuple[Fact | Playbook, str, dict[str, Any]]] = field(default_factory=list)
    withdrawals: list[UUID] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


# No id is smaller, so all facts follow.
AFTER_CONTRADICTIONS = ScanPosition(Kind.SEMANTIC, UUID(int=0))
# Called in the transaction of a page with the position reached and the counts.
Note = Callable[[ScanPosition, Counter[str]], None]


def scan_owner(
    task: Task, *, place: ScanPosition, apply: bool, note: Note, take_back: Callable[[], object]
) -> Iterator[None]:
    """Scan an owner's memories from `place` on. Yields after each page, which is committed by then if `apply`.

    `take_back` is called when a transaction that may have called `note` failed. Raises the fault of a memory once
    MOST_LEFT_OUT were left out before: then it is the owner's.
    """
    foreseen, left_out = Foreseen(), 0
    if place == ScanPosition():
        found = _contradictions(task, apply=apply)
        foreseen = foreseen if apply else Foreseen(found.ended, found.disputed)
        if found.contradictions or found.failed:
            note(AFTER_CONTRADICTIONS, _counted(found))
    use = use_by(task.owner, task.now)

    def scan(kind: Kind, ids: Sequence[UUID]) -> None:
        wrong = found_in(kind, ids, since=task.since, handling=task.policy.handling)
        if not apply:
            note(ScanPosition(kind, ids[-1]), _decide(task, use, kind, ids, wrong, foreseen).counts)
            return
        try:
            with _keeping(task.owner) as (w, asking):
                decided = _decide(task, use, kind, ids, wrong, foreseen)
                _carry_out(w, asking, decided)
                note(ScanPosition(kind, ids[-1]), decided.counts)
        except Exception:
            take_back()
            raise

    def leave_out(kind: Kind, memory_id: UUID, error: Exception) -> None:
        nonlocal left_out
        left_out += 1
        if left_out > MOST_LEFT_OUT:
            raise error
        log.error("The %s memory %s of %s was not scanned: %s.", kind, memory_id, task.owner, fault_of(error))
        note(ScanPosition(kind, memory_id), Counter(failed=1))

    for kind in KINDS[KINDS.index(place.kind) :]:
        after = place.after if kind is place.kind else None
        while ids := page_of(task.owner, kind, after=after, size=PAGE, now=task.now):
            after = ids[-1]
            halved(ids, partial(scan, kind), partial(leave_out, kind))
            yield
            if len(ids) < PAGE:
                break


def _contradictions(task: Task, *, apply: bool) -> ScanResult:
    """Settle contradictions among a member's facts, or open reviews for them.

    Inactive members are skipped. Contradictions among shared facts are settled only when they are written.
    """
    membership = Membership.objects.select_related("tenant", "user").filter(
        tenant=task.owner.tenant_id, user=task.owner.user_id, user__isnull=False
    )
    member = membership.first()
    if member is None or not member.is_usable:
        return ScanResult()
    judge = contradiction_judge()
    try:
        return contradictions.scan_owner(system_principal(member), judge=judge, since=task.since, dry_run=not apply)
    except Exception as error:
        if passes(error):
            raise
        log.error("Contradictions of %s were not looked for: %s.", task.owner, fault_of(error))  # noqa: TRY400 - a message may quote a row
        return ScanResult(failed=1)


def _counted(found: ScanResult) -> Counter[str]:
    return Counter(
        contradictions=found.contradictions, resolved=found.resolved, opened=found.opened, failed=found.failed
    )


def _decide(
    task: Task, use: UsageCounts, kind: Kind, ids: Sequence[UUID], found: Mapping[UUID, Found], foreseen: Foreseen
) -> Decided:
    """Decide about these memories as they are now."""
    around = surroundings_of(task.owner, use)
    around = replace(around, contradicted=around.contradicted | foreseen.disputed)
    decided = Decided(kind)
    very_stale: list[tuple[Fact | Playbook, float]] = []
    rows = [row for row in rows_of(kind, ids) if row.pk not in foreseen.ended]
    for row in rows:
        standing = standing_of(row, around, now=task.now)
        value = staleness(standing, now=task.now)
        status = status_after(standing, value)
        if status != row.status:
            decided.status[status, value].append(row)
            decided.counts["stale" if status == Status.STALE else "fresh"] += 1
        elif value != row.staleness:
            row.staleness = value
            decided.aged.append(row)
        if value > EVICT_OVER:
            very_stale.append((row, value))
        elif row.pk in around.proposed:
            decided.withdrawals.append(row.pk)
    decided.counts[_COUNTED[kind]] += len(rows)
    _propose(task, decided, [row for row in rows if row.pk in found], found, very_stale)
    return decided


def _propose(
    task: Task,
    decided: Decided,
    wrong: Collection[Fact | Playbook],
    found: Mapping[UUID, Found],
    very_stale: Collection[tuple[Fact | Playbook, float]],
) -> None:
    """Propose evictions that nobody has decided yet. Global memories have no review queue."""
    if task.owner.tenant_id is None or not (wrong or very_stale):
        return
    lately, ever = _answered([row.pk for row in wrong] + [row.pk for row, _ in very_stale])
    for row in wrong:
        what = found[row.pk]
        decided.counts["junk"] += not what.sensitive
        decided.counts["sensitive"] += what.sensitive
        if row.pk not in ever:
            decided.proposals.append((row, what.reason, {"found": what.name}))
    named = {row.pk for row, _, _ in decided.proposals}
    for row, value in very_stale:
        if row.pk not in lately | named:
            decided.proposals.append((row, STALE_PROPOSAL, {"staleness": value}))
    decided.counts["proposed"] += len(decided.proposals)


def _answered(ids: Collection[UUID]) -> tuple[set[UUID], set[UUID]]:
    """The memories not to propose for staleness, and those not to propose for their content."""
    about = Q(first__in=ids) | Q(playbook__in=ids)
    asked = (
        ReviewItem.objects.unscoped("hygiene of every owner")
        .filter(kind=ReviewKind.EVICTION)
        .filter(about, decision__in=(ReviewDecision.OPEN, ReviewDecision.KEEP))
        .annotate(memory=Coalesce("first", "playbook"))
    )
    lately: set[UUID] = set()
    ever: set[UUID] = set()
    for memory_id, decision, decided_at in asked.values_list("memory", "decision", "decided_at"):
        ever.add(memory_id)
        if decision == ReviewDecision.OPEN or (decided_at and decided_at > timezone.now() - KEPT_FOR):
            lately.add(memory_id)
    return lately, ever


def _carry_out(w: Write, asking: Write | None, decided: Decided) -> None:
    """Apply the decisions in the open transaction."""
    for (status, value), rows in decided.status.items():
        stand = change_rows(w, rows, {"status": status, "staleness": value})
        w.audit_drafts([_event(row, status, value, stand[row.pk]) for row in rows])
    # The version stays, because the search plane does not index staleness.
    rows_to_age: list[Any] = decided.aged
    model_of(decided.kind).objects.bulk_update(rows_to_age, ["staleness"], batch_size=250)
    if decided.withdrawals:
        withdraw(w, decided.withdrawals, kind=ReviewKind.EVICTION)
    if asking is not None:
        for row, reason, evidence in decided.proposals:
            open_eviction(asking, row, reason=reason, evidence=evidence)


def _event(row: Fact | Playbook, status: str, value: float, stands: dict[str, Any]) -> EventDraft:
    ended = status == Status.STALE
    return EventDraft(
        f"{AUDIT_NOUN[row.kind]}.{'stale' if ended else 'fresh'}",
        row.kind.value,
        row.pk,
        STALE if ended else FRESH,
        before={"status": str(row.status), "staleness": row.staleness},
        after={"status": str(status), "staleness": value},
        row=stands,
    )


@contextmanager
def _keeping(owner: Owner) -> Iterator[tuple[Write, Write | None]]:
    """Write scopes for an owner's memories and for their reviews; reviews of shared ones use an administrator's."""
    if owner.user_id is not None or owner.tenant_id is None:
        with housekeeping(owner) as w:
            yield w, w if w.member else None
        return
    admins = Membership.objects.filter(tenant=owner.tenant_id, role=Role.ADMIN, is_active=True)
    first = admins.select_related("user").order_by("id").first()
    if first is None:
        with housekeeping(owner) as w:
            yield w, None
        return
    # The global lock order: an owner's lock before the tenant's.
    with write(keeping_principal(first), also_inactive=True) as asking, housekeeping(owner) as w:
        yield w, asking
