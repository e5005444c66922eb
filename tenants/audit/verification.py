"""Verifies the chains of the audit log, and keeps the results.

Verification reads every chain in order (`digests.py` has the digests, `anchors.py` the anchors). It finds events that
were changed, made unreadable, deleted or inserted, events cut off the end, payloads that were changed, moved to another
event or deleted without the event that erased them, heads that were changed, and chains that an anchor names otherwise.

A chain's badge shows its latest check. Old checks are deleted, except the latest of each chain. A check holds ids and
digests, never the text of an event.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from time import perf_counter
from typing import TypeVar
from uuid import UUID

from django.db.models import Max, OuterRef, QuerySet, Subquery

from memoryhub.db.statements import in_statements
from memoryhub.signing.keyed import is_keyed
from tenants.audit.anchors import Anchored, anchor, anchored, anchored_at, file_faults
from tenants.audit.chain import tenant_chain
from tenants.audit.digests import GENESIS, columns_of, erasure_fault, fault_of, seal_fault, sealed_in
from tenants.audit.rights import recorded_tenants, rights_faults
from tenants.audit.triggers import missing_triggers
from tenants.models import AuditEvent, AuditHead, ChainCheck, Checked, User

log = logging.getLogger(__name__)

TRIGGERS = "triggers"
"""The name under which the checks of the database's triggers are kept, beside the names of chains."""

_EVENTS_AT_ONCE = 1000
_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class ChainReport:
    """The verification of one chain. `first_bad` is the sequence of the first bad or missing event, `event_id` its id.

    For a row that grants other rights than the chain says, it is the latest event about the row, None without one.
    `events` counts the good events from the first on, `erased` those among them whose payload was erased, which is
    allowed. `digest` is the digest of the last good event.
    """

    chain: str
    ok: bool
    events: int
    erased: int
    digest: str
    first_bad: int | None = None
    event_id: UUID | None = None
    reason: str = ""


def verify_all() -> Iterator[ChainReport]:
    """Verify every chain that has events or a head, or that an anchor names, in order of name."""
    known = anchored()
    for name in sorted(chain_names() | known.keys()):
        yield verify_chain(name, at=known.get(name))


def chain_names() -> set[str]:
    """The names of all chains that have events or a head, and of each tenant's."""
    names = set(AuditHead.objects.values_list("chain", flat=True)) | {*map(tenant_chain, recorded_tenants())}
    return names | set(AuditEvent.objects.order_by().values_list("chain", flat=True).distinct())


def verify_chain(chain: str, *, at: Anchored | None = None, after: int = 0) -> ChainReport:
    """Verify one chain from its first event to its head; the report names the first fault.

    `at` is the latest position that an anchor states. The chain of a tenant or the platform is then compared with the
    rows whose rights it records. Events up to the sequence `after` are not read: the report says nothing of them, nor
    of the rows.
    """
    walk = _Walk(chain, at, after)
    while not walk.broken:
        head = _head(chain)
        walk.unkeyed = head.unkeyed
        if walk.good < head.length:
            walk.go_to(head.length)
            continue
        # Events beyond the head are forged, unless the chain grew since the head was read.
        strays = AuditEvent.objects.filter(chain=chain).exclude(sequence__range=(1, walk.good))
        stray = strays.only("sequence").first()
        if stray and _head(chain).length == head.length:
            walk.stop("the head of the chain does not count this event", stray)
        elif not stray:
            walk.end_at(head)
            break
    report = walk.report()
    return report if walk.broken or after else _with_rights(report)


def _with_rights(report: ChainReport) -> ChainReport:
    """The report of a chain without a fault, after a comparison of the rows whose rights it records."""
    faults = rights_faults(report.chain)
    if not faults:
        return report
    sequence, event_id = faults[0].event or (None, None)
    named = "; ".join(f"{fault.row} {fault.problem}" for fault in faults[:_MOST_NAMED])
    return replace(report, ok=False, first_bad=sequence, event_id=event_id, reason=f"{named}{_more(faults)}")


def _more(found: Sequence[object]) -> str:
    """How many findings a reason does not name, if there are any."""
    return f"; and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""


class _Walk:
    """The progress of a verification."""

    def __init__(self, chain: str, at: Anchored | None, after: int) -> None:
        self.chain = chain
        self.good = 0
        self.erased = 0
        self.previous = GENESIS
        self.unkeyed = 0
        self.broken = False
        self._anchored = at
        self._erasing: set[UUID | None] = {None}
        self._bad: AuditEvent | None = None
        self._reason = ""
        if after and (before := AuditEvent.objects.filter(chain=chain, sequence=after).only("digest").first()):
            self.good, self.previous = after, before.digest

    def go_to(self, length: int) -> None:
        """Check the events after the last good one up to `length`; stop at the first bad or missing one."""
        while self.good < length:
            page = self._page(length)
            if not page:
                if not self.broken:
                    self.stop("the end of the chain is cut off")
                return
            for event in page:
                if not self._is_good(event):
                    return

    def _page(self, length: int) -> list[AuditEvent]:
        """The next events, up to one that cannot be read; stops the verification if that is the first."""
        events = AuditEvent.objects.filter(chain=self.chain, sequence__gt=self.good, sequence__lte=length)
        events = events.select_related("payload", "erasure").order_by("sequence")
        try:
            page = list(events[:_EVENTS_AT_ONCE])
        except (ValueError, TypeError):  # SQLite stores any value as an id or a time
            page = self._readable(events)
        self._erasing |= _those_there(event.erasure.by for event in page if hasattr(event, "erasure"))
        return page

    def _readable(self, events: QuerySet[AuditEvent]) -> list[AuditEvent]:
        read: list[AuditEvent] = []
        for sequence in events.values_list("sequence", flat=True)[:_EVENTS_AT_ONCE]:
            try:
                read.append(events.get(sequence=sequence))
            except (ValueError, TypeError):
                if not read:
                    self.stop("the event cannot be read", AuditEvent(id=None, sequence=sequence))
                break
        return read

    def _is_good(self, event: AuditEvent) -> bool:
        payload = sealed_in(event)
        if event.sequence != self.good + 1:
            self.stop("the event is missing")
        elif event.previous_digest != self.previous:
            self.stop("the event does not follow from the one before", event)
        elif fault := self._fault(event):
            self.stop(fault, event)
        else:
            self.previous, self.good, self.erased = event.digest, self.good + 1, self.erased + (payload is None)
        return not self.broken

    def _fault(self, event: AuditEvent) -> str:
        at = self._anchored
        if fault := fault_of(columns_of(event), sealed_in(event), unkeyed=self.unkeyed) or erasure_fault(event):
            return fault
        if getattr(event, "erasure", None) and event.erasure.by not in self._erasing:
            return "the payload is missing, and the event that erased it is not there"
        if at and at.length == event.sequence and at.digest != event.digest:
            return f"the event is another than the anchor of {at.when} names"
        return ""

    def end_at(self, head: AuditHead) -> None:
        """Compare the last event with the head and the anchor; all events are good."""
        at = self._anchored
        if at and self.good < at.length:
            gone = "the end of the chain is cut off" if self.good else "the chain is gone, and its head"
            self.stop(f"{gone}: the anchor of {at.when} names {at.length} events")
        elif head.digest != self.previous:
            # The last event, with its digest, or the head was overwritten.
            self.stop("the head of the chain does not match this event", self._last())
        elif head.length and (fault := seal_fault(head)):
            self.stop(fault, self._last())

    def _last(self) -> AuditEvent | None:
        return AuditEvent.objects.filter(chain=self.chain, sequence=self.good).first()

    def stop(self, reason: str, event: AuditEvent | None = None) -> None:
        """End the verification: the next event is bad (`event`) or missing (None)."""
        self.broken, self._reason, self._bad = True, reason, event

    def report(self) -> ChainReport:
        """The result so far."""
        return ChainReport(
            chain=self.chain,
            ok=not self.broken,
            events=self.good,
            erased=self.erased,
            digest=self.previous,
            first_bad=self._bad.sequence if self._bad else self.good + 1 if self.broken else None,
            event_id=self._bad.id if self._bad else None,
            reason=self._reason,
        )


def _head(chain: str) -> AuditHead:
    head = AuditHead.objects.filter(chain=chain).first()
    return head or AuditHead(chain=chain, length=0, digest=GENESIS)


def _those_there(ids: Iterator[UUID | None]) -> set[UUID]:
    """Those of these events that exist."""
    statements = in_statements(sorted({each for each in ids if each}))
    found = (AuditEvent.objects.filter(pk__in=some).order_by().values_list("pk", flat=True) for some in statements)
    return {pk for pks in found for pk in pks}


Result = TypeVar("Result")

# How long checks are kept that are not the latest of their chain.
KEPT = timedelta(days=30)


def prove(chain: str, by: User | None = None, *, known: Mapping[str, Anchored] | None = None) -> ChainCheck:
    """Verify a chain of the audit log and store the result. `by` None: the daily check.

    `known` are the positions that the anchors state, if the caller has read them.
    """
    at = anchored_at(chain) if known is None else known.get(chain)
    report, took_ms = timed(lambda: verify_chain(chain, at=at))
    return keep(chain, Checked.AUDIT, _check(report), took_ms=took_ms, by=by)


def prove_guards() -> list[str]:
    """Check the triggers and the anchor file; store a finding or its end. Returns the findings as sentences."""
    found = [f"The trigger {name} is missing or disabled." for name in missing_triggers()] + file_faults()
    before = latest(TRIGGERS)
    if found or (before and not before.ok):
        reason = f"{' '.join(found[:_MOST_NAMED]).rstrip('.')}{_more(found)}"
        keep(TRIGGERS, Checked.AUDIT, ChainCheck(ok=not found, reason=reason), took_ms=0.0)
    for each in found:
        log.error("%s", each)
    return found


def anchor_and_guard() -> int:
    """Anchor the chains that grew, and check the guards; returns how many. The job `tenants.anchor`."""
    count = anchor()
    prove_guards()
    return count


def accept_file_faults() -> list[str]:
    """End the findings about the anchor file, which the next anchor states; returns them."""
    if found := file_faults():
        anchor(accept=found)
        prove_guards()
    return found


# A page that shows a chain verifies this many of its latest events, which takes less than a fifth of a second.
SEEN_EVENTS = 300
_SEEN_ANCHORS = 24


@dataclass(frozen=True, slots=True)
class SeenChain:
    """The verification of a chain for the page that shows it: `check` says nothing of the first `after` events.

    `earlier` is the stored check that covers these events; None if there is none. `now` is False if `check` is a stored
    one that failed.
    """

    check: ChainCheck
    after: int = 0
    earlier: ChainCheck | None = None
    now: bool = True


def seen_now(chain: str) -> SeenChain:
    """Verify the latest SEEN_EVENTS events of a chain, for a page that shows it. A result that is news is stored.

    A chain whose stored check failed at an earlier event stays broken.
    """
    head, before = AuditHead.objects.filter(chain=chain).first(), latest(chain)
    after = max(0, head.length - SEEN_EVENTS) if head else 0
    doubted = before is not None and not before.ok  # only what the whole search finds clears a finding
    at = anchored_at(chain, newest=None if doubted else _SEEN_ANCHORS)
    report, took_ms = timed(lambda: verify_chain(chain, at=at, after=after))
    check = _check(report)
    if before is not None and not before.ok and check.ok and after:
        return SeenChain(before, now=False)
    if (before is not None and before.ok != check.ok) or (before is None and not check.ok):
        keep(chain, Checked.AUDIT, check, took_ms=took_ms)
    check.chain, check.what, check.took_ms = chain, Checked.AUDIT.value, took_ms
    return SeenChain(check, after, before if before and before.ok and after else None)


def faults_of(events: Collection[AuditEvent]) -> dict[UUID, str]:
    """The faults of events that a page shows, by id, each verified by itself. Their payloads are loaded."""
    plain = {event.chain for event in events if not is_keyed(event.digest)}
    unkeyed = dict(AuditHead.objects.filter(chain__in=plain).values_list("chain", "unkeyed")) if plain else {}
    found = {
        event.pk: fault_of(columns_of(event), sealed_in(event), unkeyed=unkeyed.get(event.chain, 0))
        or erasure_fault(event)
        for event in events
    }
    return {pk: fault for pk, fault in found.items() if fault}


def _check(report: ChainReport) -> ChainCheck:
    return ChainCheck(
        ok=report.ok,
        count=report.events,
        erased=report.erased,
        digest=report.digest,
        first_bad=report.first_bad,
        event_id=report.event_id,
        reason=report.reason,
    )


def keep(chain: str, what: Checked, proof: ChainCheck, *, took_ms: float, by: User | None = None) -> ChainCheck:
    """Store the result of a verification; `proof` is an unsaved row."""
    proof.chain, proof.what, proof.took_ms, proof.checked_by = chain, what.value, took_ms, by
    proof.save()
    return proof


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """The result of `work`, and its duration in milliseconds."""
    began = perf_counter()
    result = work()
    return result, (perf_counter() - began) * 1000


def latest(chain: str, what: Checked = Checked.AUDIT) -> ChainCheck | None:
    """The latest check of a chain, or None."""
    return ChainCheck.objects.filter(chain=chain, what=what.value).select_related("checked_by").first()


def latest_of(chains: Collection[str], what: Checked = Checked.AUDIT) -> Mapping[str, ChainCheck]:
    """The latest check of each chain, by name; chains that were never checked are left out."""
    found: dict[str, ChainCheck] = {}
    for some in in_statements(sorted(set(chains))):
        rows = _latest().filter(chain__in=some, what=what.value).select_related("checked_by")
        found |= {row.chain: row for row in rows}
    return found


def broken(what: Checked | None = None) -> QuerySet[ChainCheck]:
    """Latest checks that failed, newest first; callers limit them to chains that the reader may see."""
    rows = _latest().filter(ok=False)
    return rows if what is None else rows.filter(what=what.value)


def proven_since(moment: datetime, what: Checked) -> set[str]:
    """The names of chains checked at `moment` or later."""
    rows = ChainCheck.objects.filter(what=what.value, checked_at__gte=moment)
    return set(rows.order_by().values_list("chain", flat=True).distinct())


def prune(now: datetime) -> int:
    """Delete checks older than KEPT, except the latest of each chain; returns how many."""
    newest = ChainCheck.objects.order_by().values("chain", "what").annotate(last=Max("pk")).values("last")
    old = ChainCheck.objects.filter(checked_at__lt=now - KEPT)
    return old.exclude(pk__in=newest).delete()[0]


def _latest() -> QuerySet[ChainCheck]:
    same = ChainCheck.objects.filter(chain=OuterRef("chain"), what=OuterRef("what"))
    return ChainCheck.objects.filter(pk=Subquery(same.order_by("-checked_at", "-id").values("pk")[:1]))
