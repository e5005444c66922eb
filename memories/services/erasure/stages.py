"""Carries out an erasure in stages and batches up to the signed receipt, with one worker at a time.

Access ends first, so nothing new is written during the erasure. Each batch runs under the owner's lock while the worker
holds the lease and no legal hold is in force, and commits its counts. Every stage is repeatable: a new worker starts
with the first. The erasure is done when a sweep under the owner's lock finds nothing, every check of the receipt counts
0, and the audit chain verifies. An erasure that fails is never given up: it is tried again, up to LONGEST_RETRY apart,
and `trouble` keeps the reason until it is done. It stops no other erasure.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.errors import Conflict, MemoriesError
from memories.models import ErasureRequest, RequestState
from memories.recall import recording
from memories.selectors.erasure import due_requests, on_hold, owner_of
from memories.services.erasure.copies import (
    clear_disk,
    count_copies,
    deliver_shared,
    erase_copies,
    erase_part,
)
from memories.services.erasure.receipt import canonical, receipt_of
from memories.services.erasure.requests import AUDIT_KIND
from memories.services.erasure.stores import (
    BATCH,
    OUTBOX,
    STORES,
    ChainPosition,
    ask_all,
    chain_trouble,
    forget_hygiene_places,
)
from memories.services.idempotency import erase_answers
from memories.services.write import write
from memoryhub.db.scope import WideRole, acting_as
from memoryhub.leases import LEASE, LeaseLost, RowLease, backoff, fault_of, free, kept, passes
from memoryhub.observability import tracing
from memoryhub.signing import keys
from tenants.audit.chain import EventDraft, erase_some, owner_chain, record_events, record_tenant_event
from tenants.erasure import (
    end_logins,
    erase_names,
    erase_payloads_about,
    erase_payloads_of_chain,
    lives_elsewhere,
    may_act,
    stop_member,
)
from tenants.errors import TenantsError
from tenants.models import AuditEvent, AuditPayload, Membership, User
from tenants.principal import SYSTEM, Principal
from tenants.principals import keeping_principal

log = logging.getLogger(__name__)

# Pause before a failed erasure is tried again; it doubles with each attempt.
RETRY, LONGEST_RETRY = timedelta(seconds=15), timedelta(minutes=2)
_RUNNABLE = (RequestState.APPROVED, RequestState.RUNNING, RequestState.STOPPED)

Counts = Mapping[str, int]


class UnderLegalHold(Exception):
    """A legal hold is in force. The request is marked as stopped until the hold is released."""


def take(request_id: UUID, noted: Noted) -> Work | None:
    """Take the lease of a request. None if it cannot continue now or another worker holds the lease."""
    now = timezone.now()
    with transaction.atomic():
        locked = ErasureRequest.objects.select_for_update(of=("self",), no_key=True)
        runnable = locked.filter(free(now), pk=request_id, state__in=_RUNNABLE)
        row = runnable.select_related("membership__user").first()
        if row is None or (row.begins_at is not None and row.begins_at > now):
            return None
        if on_hold(owner_of(row.membership)):
            stop(request_id)
            return None
        if row.state != RequestState.RUNNING:
            record(row, "begun" if row.started_at is None else "resumed")
        row.state, row.leased_until = RequestState.RUNNING, now + LEASE
        row.started_at = row.started_at or now
        row.attempts += 1
        row.save(update_fields=["state", "leased_until", "started_at", "attempts"])
    rows = ErasureRequest.objects.filter(pk=row.pk, state=RequestState.RUNNING)
    return Work(row.pk, row.membership, RowLease(rows, row.leased_until), noted)


def stop(request_id: UUID) -> Counts:
    """Mark a request as stopped by a legal hold. Runs in the caller's transaction."""
    row = ErasureRequest.objects.get(pk=request_id)
    if row.state != RequestState.STOPPED:
        row.state, row.leased_until = RequestState.STOPPED, None
        row.save(update_fields=["state", "leased_until"])
        record(row, "stopped")
    return {}


def record(request: ErasureRequest, what: str) -> None:
    """Record the progress of an erasure in the tenant's audit log, with ids only."""
    draft = EventDraft(f"erasure.{what}", AUDIT_KIND, request.pk)
    record_tenant_event(SYSTEM, request.tenant_id, draft)


# Descriptions of the stages for people.
STAGES = {
    "stop": "ending logins, tokens and the search key",
    "copies": "erasing what was promoted",
    **{store.name: f"erasing {store.noun}" for store in STORES},
    "index": "erasing the search index",
    "audit": "erasing what the audit log says of it",
    "names": "erasing names",
    "sweep": "looking for what came back",
    "disk": "clearing the disk",
    "receipt": "writing the receipt",
}

Noted = Callable[[str, Counts], object]


class CameBack(Exception):
    """The sweep found new rows; another round erases them."""


@dataclass(frozen=True, slots=True)
class Work:
    """An erasure whose lease this worker holds."""

    request_id: UUID
    membership: Membership
    lease: RowLease
    noted: Noted

    @property
    def principal(self) -> Principal:
        """The system principal for work in this member's memory."""
        return keeping_principal(self.membership)

    def within(self, work: Callable[[], Counts], *, stage: str) -> Counts:
        """Run one batch in one transaction and add its counts. Raises LeaseLost, UnderLegalHold."""
        with self.lease.renewing:
            # Copies that all tenants share, names, and payloads in other chains are outside the member's scope.
            with write(self.principal, also_inactive=True), acting_as(WideRole.JOBS):
                until = self.lease.renew(stage=stage)
                held = on_hold(owner_of(self.membership))
                done = stop(self.request_id) if held else self._batch(work)
            self.lease.until = until
        if held:
            raise UnderLegalHold
        return done

    def _batch(self, work: Callable[[], Counts]) -> Counts:
        if may_act(self.membership.pk):
            self._count(asdict(stop_member(self.membership)))
        done = work()
        self._count(done)
        return done

    def counted(self, name: str) -> int:
        """The count recorded under a name so far, by all workers."""
        return int(ErasureRequest.objects.only("progress").get(pk=self.request_id).progress.get(name, 0))

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Extend the lease periodically while the block runs."""

        def lost(error: Exception) -> None:
            log.info("An erasure lost its lease (%s).", type(error).__name__)

        with kept(self.lease.extend, name="erasure-lease", lost=lost):
            yield

    def _count(self, counts: Counts) -> None:
        counted = +Counter(counts)
        if counted:
            row = ErasureRequest.objects.only("progress").get(pk=self.request_id)
            row.progress = dict(Counter(row.progress) + counted)
            row.save(update_fields=["progress"])

    def to_the_end(self) -> None:
        """Run all stages in order."""
        self._do("stop", lambda: asdict(stop_member(self.membership)))
        logins = end_logins(self.membership.user_id)
        self._do("stop", lambda: {"logins": logins})
        recording.flush()
        self._emptied("copies", lambda: erase_copies(self.membership, at_most=BATCH))
        for store in STORES:
            self._emptied(store.name, partial(store.erase_some, self.membership))
        self._do("runs", lambda: {"hygiene": forget_hygiene_places(self.membership)})
        self._index()
        by = self._begun()
        self._emptied("audit", lambda: erase_payloads_of_chain(self.membership, at_most=BATCH, by=by), "payloads")
        self._emptied(
            "audit", lambda: erase_payloads_about(self.membership, at_most=BATCH, by=by), "payloads_elsewhere"
        )
        self._do("names", self._names)
        self._do("sweep", self._sweep)
        with self.kept():
            disk = self._disk()
            complete(self, disk)

    def _index(self) -> None:
        with self.kept():
            deliver_shared(self.membership.tenant_id, copies=self.counted("copies"))
            erase_part(owner_of(self.membership))
        self._do("index", lambda: {"outbox": OUTBOX.rows(self.membership).delete()[0]})

    def _sweep(self) -> Counts:
        """Check under the owner's lock that nothing is left and nothing new can be written. Raises CameBack."""
        left = {store.name: store.count(self.membership) for store in (*STORES, OUTBOX)}
        left["copies"] = count_copies(self.membership)
        if any(left.values()):
            raise CameBack
        # Payloads of read events by staff during the erasure.
        erase_payloads_of_chain(self.membership, at_most=BATCH, by=self._begun())
        (event,) = record_events(self.principal, [EventDraft(ERASED, "membership", self.membership.pk)])
        erase_some(AuditPayload.objects.filter(event=event), by=event.pk)
        return {}

    def _names(self) -> Counts:
        erase_answers(owner_of(self.membership))
        return {"names": 1} if erase_names(self.membership) else {}

    def _begun(self) -> UUID:
        """The event that accounts for the payloads that the erasure deletes."""
        return AuditEvent.objects.get(target_id=self.request_id, action=BEGUN).pk

    def _disk(self) -> dict[str, object]:
        self._do("disk", dict)
        tables = {store.rows(self.membership).model._meta.db_table for store in (*STORES, OUTBOX)}
        return clear_disk(tables | {AuditPayload._meta.db_table, User._meta.db_table})

    def _emptied(self, stage: str, some: Callable[[], int], counted: str = "") -> None:
        """Erase batches until nothing is left."""
        name = counted or stage
        while self._do(stage, lambda: {name: some()})[name]:
            pass

    def _do(self, stage: str, work: Callable[[], Counts]) -> Counts:
        done = self.within(work, stage=stage)
        self.noted(stage, done)
        return done


def carry_out(request_id: UUID, *, noted: Noted = lambda _stage, _counts: None) -> bool:
    """Continue an erasure to its end, calling `noted` after each batch. Returns whether it was completed.

    A failure is recorded and retried later. A legal hold stops the erasure before its next batch.
    """
    work = take(request_id, noted)
    if work is None:
        return False
    with tracing.span("erasure", erasure=request_id) as span:
        try:
            work.to_the_end()
        except UnderLegalHold:
            span.note(held=True)
            return False
        except LeaseLost:
            return False
        except Exception as error:  # noqa: BLE001 - it is recorded, shown and tried again, and the others go on
            log.warning("Erasure %s: %s. It is tried again.", request_id, fault_of(error))
            work.lease.release(until=timezone.now() + _pause(request_id), trouble=_in_words(error)[:200])
            return False
    return True


def _pause(request_id: UUID) -> timedelta:
    attempts = ErasureRequest.objects.only("attempts").get(pk=request_id).attempts
    return RETRY * backoff(attempts - 1, LONGEST_RETRY / RETRY)


def carry_out_due() -> int:
    """Continue all due erasures; return how many were completed."""
    return sum(_carried_out(request.pk) for request in due_requests())


def _carried_out(request_id: UUID) -> bool:
    try:
        return carry_out(request_id)
    except Exception as error:  # its lease or its record fails
        if passes(error):
            raise
        log.error("Erasure %s could not be taken: %s.", request_id, fault_of(error))  # noqa: TRY400 - a message may quote a row
        return False


def _in_words(error: Exception) -> str:
    """The reason shown to staff: our own message, or only the type and the place of a foreign error."""
    return str(error) if isinstance(error, (MemoriesError, TenantsError)) else fault_of(error)


ERASED, BEGUN = "memory.erased", "erasure.begun"


def complete(work: Work, disk: dict[str, object]) -> None:
    """Run the checks, write the receipt and finish the request. Raises Conflict if anything is left."""
    member = work.membership
    place = _place(member)
    asked = ask_all(member, place)
    left = [each.store for each in asked if each.found]
    trouble = chain_trouble(member, place)
    if left or trouble:
        raise Conflict(_("Something is left: %(value)s. It is erased again.") % {"value": ", ".join(left) or trouble})
    answers = [each.as_json() for each in asked]

    def done() -> Counts:
        request = ErasureRequest.objects.get(pk=work.request_id)
        request.finished_at = timezone.now()
        request.receipt = receipt_of(request, place, answers, disk)
        body = canonical(request.receipt)
        request.receipt_digest, request.signature = hashlib.sha256(body).hexdigest(), keys.sign(body)
        request.state, request.stage, request.leased_until = RequestState.DONE, "", None
        request.trouble = ""
        request.save()
        record(request, "done")
        return {}

    work.within(done, stage="receipt")


def _place(member: Membership) -> ChainPosition:
    chain = owner_chain(member.tenant_id, member.user_id)
    last = AuditEvent.objects.filter(chain=chain, action=ERASED).order_by("-sequence")[0]
    return ChainPosition(last.sequence, last.digest, last.created_at, not lives_elsewhere(member))
