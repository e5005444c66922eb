"""Computes the digests of the audit log and verifies its chains.

A payload's digest is sha256(salt + canonical JSON): without the salt, an erased payload's text could be guessed. An
event's digest is sha256 of the canonical JSON of all its other columns, including the previous digest. The digests are
computed from plain values, so an export can be verified without a database.

Verification reads every chain in order. It detects events that were changed, made unreadable, deleted or inserted,
events cut off the end, payloads that were changed or moved to another event, and missing triggers. It cannot detect a
chain that was rewritten with its head: store the digests that `verify_audit --json` prints elsewhere, and compare them.

A chain's badge shows its latest check. Old checks are deleted, except the latest of each chain. A check holds ids and
digests, never the text of an event.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import Any, TypeVar
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Max, OuterRef, QuerySet, Subquery

from tenants.models import AuditEvent, AuditHead, AuditPayload, ChainCheck, Checked, User

GENESIS = "0" * 64
"""The `previous_digest` of the first event of a chain."""

DIGESTED_COLUMNS = tuple(
    "id chain sequence previous_digest payload_digest tenant_id owner_id actor_kind actor_id action target_kind"
    " target_id request_id created_at".split()
)


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no spaces and ASCII only: equal values give equal text. Times in UTC, to microseconds."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False, default=_plain)


def payload_digest(salt: str, document: str) -> str:
    """The digest of a payload's canonical JSON; 64 hexadecimal characters."""
    # Formatted as text because SQL may have stored bytes; these give a different digest, not an error.
    return hashlib.sha256(f"{salt}{document}".encode()).hexdigest()


def event_digest(columns: Mapping[str, Any]) -> str:
    """The digest of an event, from its `DIGESTED_COLUMNS`; 64 hexadecimal characters."""
    return hashlib.sha256(canonical_json({name: columns[name] for name in DIGESTED_COLUMNS}).encode()).hexdigest()


def columns_of(event: AuditEvent) -> dict[str, Any]:
    """The columns that the digest covers, and `digest`."""
    return {name: getattr(event, name) for name in (*DIGESTED_COLUMNS, "digest")}


def sealed_in(event: AuditEvent) -> tuple[str, str] | None:
    """Salt and document of an event's payload; None if it was erased."""
    payload: AuditPayload | None = getattr(event, "payload", None)
    return (payload.salt, payload.document) if payload else None


def fault_of(columns: Mapping[str, Any], payload: tuple[str, str] | None) -> str:
    """The fault of a single event; empty if its digests match. `payload` is its salt and document."""
    if event_digest(columns) != columns["digest"]:
        return "the event was changed"
    if payload and payload_digest(*payload) != columns["payload_digest"]:
        return "the payload was changed"
    return ""


def _plain(value: object) -> str | list[Any]:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    raise TypeError(f"The audit log cannot hold a {type(value).__name__}.")


_ON_BOTH = {
    "audit_event_is_not_updated",
    "audit_event_is_not_deleted",
    "audit_payload_is_not_updated",
    "audit_head_is_not_deleted",
    "audit_head_only_grows",
}
# SQLite fires no delete triggers for `INSERT OR REPLACE`; PostgreSQL has TRUNCATE.
_ON_SQLITE = {"audit_event_is_not_replaced", "audit_payload_is_not_replaced", "audit_head_is_not_replaced"}
_ON_POSTGRESQL = {"audit_event_is_not_truncated", "audit_payload_is_not_truncated", "audit_head_is_not_truncated"}


def missing_triggers(connection: BaseDatabaseWrapper) -> list[str]:
    """Names of expected triggers that are missing or disabled; a rebuilt SQLite table loses its triggers silently."""
    query = (
        "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        if connection.vendor == "sqlite"
        else "SELECT tgname FROM pg_trigger WHERE tgenabled <> 'D'"
    )
    with connection.cursor() as cursor:
        cursor.execute(query)
        present = {name for (name,) in cursor.fetchall()}
    return sorted(expected_triggers(connection.vendor) - present)


def expected_triggers(vendor: str) -> set[str]:
    """The names of the triggers that this kind of database must have."""
    return _ON_BOTH | (_ON_SQLITE if vendor == "sqlite" else _ON_POSTGRESQL)


_EVENTS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class ChainReport:
    """The verification of one chain. `first_bad` is the sequence of the first bad or missing event, `event_id` its id.

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
    """Verify every chain, in order of name."""
    for name in chain_names():
        yield verify_chain(name)


def chain_names() -> list[str]:
    """The names of all chains that have events or a head, sorted."""
    names = set(AuditHead.objects.values_list("chain", flat=True))
    names |= set(AuditEvent.objects.order_by().values_list("chain", flat=True).distinct())
    return sorted(names)


def verify_chain(chain: str) -> ChainReport:
    """Verify one chain from its first event to its head; the report names the first fault."""
    walk = _Walk(chain)
    while not walk.broken:
        head = _head(chain)
        if walk.good < head.length:
            walk.go_to(head.length)
            continue
        # Events beyond the head are forged, unless the chain grew since the head was read.
        strays = AuditEvent.objects.filter(chain=chain).exclude(sequence__range=(1, walk.good))
        stray = strays.only("sequence").first()
        if stray and _head(chain).length == head.length:
            walk.stop("the head of the chain does not count this event", stray)
        elif not stray and head.digest != walk.previous:
            # The last event, with its digest, or the head was overwritten.
            last = AuditEvent.objects.filter(chain=chain, sequence=walk.good).first()
            walk.stop("the head of the chain does not match this event", last)
        elif not stray:
            break
    return walk.report()


class _Walk:
    """The progress of a verification."""

    def __init__(self, chain: str) -> None:
        self.chain = chain
        self.good = 0
        self.erased = 0
        self.previous = GENESIS
        self.broken = False
        self._bad: AuditEvent | None = None
        self._reason = ""

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
        events = events.select_related("payload").order_by("sequence")
        try:
            return list(events[:_EVENTS_AT_ONCE])
        except (ValueError, TypeError):  # SQLite stores any value as an id or a time
            return self._readable(events)

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
        elif fault := fault_of(columns_of(event), payload):
            self.stop(fault, event)
        else:
            self.previous, self.good, self.erased = event.digest, self.good + 1, self.erased + (payload is None)
        return not self.broken

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


Result = TypeVar("Result")

# How long checks are kept that are not the latest of their chain.
KEPT = timedelta(days=30)
_REASON_CHARACTERS = 200
_NAMES_PER_STATEMENT = 500  # SQLite limits the variables of a statement; the lowest limit of any build is 999.


def prove(chain: str, by: User | None = None) -> ChainCheck:
    """Verify a chain of the audit log and store the result. `by` None: the daily check."""
    report, took_ms = timed(lambda: verify_chain(chain))
    proof = ChainCheck(
        ok=report.ok,
        count=report.events,
        erased=report.erased,
        digest=report.digest,
        first_bad=report.first_bad,
        event_id=report.event_id,
        reason=report.reason,
    )
    return keep(chain, Checked.AUDIT, proof, took_ms=took_ms, by=by)


def keep(chain: str, what: Checked, proof: ChainCheck, *, took_ms: float, by: User | None = None) -> ChainCheck:
    """Store the result of a verification; `proof` is an unsaved row."""
    proof.chain, proof.what, proof.took_ms, proof.checked_by = chain, what.value, took_ms, by
    proof.reason = proof.reason[:_REASON_CHARACTERS]
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
    names = sorted(set(chains))
    for start in range(0, len(names), _NAMES_PER_STATEMENT):
        some = names[start : start + _NAMES_PER_STATEMENT]
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
