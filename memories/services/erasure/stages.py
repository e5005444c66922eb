"""Carrying out an erasure: stage after stage, batch after batch, to the receipt.

Invariants: first nobody acts as the member any more, so that nothing is written behind the erasure's back; every stage
may be repeated, so a worker that was killed anywhere is followed by another that begins at the first; and it is done
only when a sweep under the owner's lock has found nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from uuid import UUID

from django.db import DatabaseError

from memories.errors import MemoriesError
from memories.models import ErasureRequest, ErasureState
from memories.recall import recording
from memories.selectors.erasure import due_requests, owner_of
from memories.services.erasure.copies import (
    FileInUse,
    clear_disk,
    count_copies,
    deliver_shared,
    erase_copies,
    erase_part,
)
from memories.services.erasure.leasing import Counts, UnderLegalHold, Work, put_off, take
from memories.services.erasure.receipt import ERASED, complete
from memories.services.erasure.stores import BATCH, OUTBOX, STORES, forget_hygiene_places
from memoryhub.leases import LeaseLost
from memoryhub.observability import tracing
from tenants.audit.chain import EventDraft, record_events
from tenants.erasure import (
    end_logins,
    erase_names,
    erase_payloads_about,
    erase_payloads_of_chain,
    stop_member,
)
from tenants.errors import TenantsError
from tenants.models import AuditPayload, User

log = logging.getLogger(__name__)

# What it is doing, in words, by the name of its stage.
STAGES = {
    "stop": "ending logins, tokens and the search key",
    "copies": "erasing what was promoted",
    **{store.name: f"erasing {store.noun}" for store in STORES},
    "index": "erasing the search index",
    "trail": "erasing what the audit log says of it",
    "names": "erasing names",
    "sweep": "looking for what came back",
    "disk": "clearing the disk",
    "receipt": "writing the receipt",
}

Noted = Callable[[str, Counts], object]


class CameBack(Exception):
    """The sweep found rows that were not there before; another round erases them."""


def carry_out(request_id: UUID, *, noted: Noted = lambda _stage, _counts: None) -> bool:
    """Go on with an erasure until it is done; `noted` hears of each batch. False if another worker has it, or may not.

    What fails is put off and tried again; a legal hold stops it before its next batch.
    """
    work = take(request_id)
    if work is None:
        return False
    with tracing.span("erasure", erasure=request_id) as span:
        try:
            _Erasure(work, noted).to_the_end()
        except UnderLegalHold:
            span.note(held=True)
            return False
        except LeaseLost:
            return False
        except (MemoriesError, TenantsError, DatabaseError, CameBack, FileInUse) as error:
            # Its type alone: the message of a database may quote the row.
            log.warning("Erasure %s: %s. It is tried again.", request_id, type(error).__name__)
            put_off(work, _in_words(error))
            return False
    return True


def carry_out_due() -> int:
    """Go on with everything that is due; return how many erasures were brought to their end."""
    return sum(carry_out(request.pk) for request in due_requests())


class _Erasure:
    """One erasure under its lease."""

    def __init__(self, work: Work, noted: Noted) -> None:
        self._work = work
        self._member = work.membership
        self._noted = noted

    def to_the_end(self) -> None:
        """All stages, in order."""
        self._do("stop", lambda: asdict(stop_member(self._member)))
        logins = end_logins(self._member.user_id)
        self._do("stop", lambda: {"logins": logins})
        recording.flush()
        self._emptied("copies", lambda: erase_copies(self._member, at_most=BATCH))
        for store in STORES:
            self._emptied(store.name, partial(store.erase_some, self._member))
        self._do("runs", lambda: {"hygiene": forget_hygiene_places(self._member)})
        self._index()
        self._emptied("trail", lambda: erase_payloads_of_chain(self._member, at_most=BATCH), "payloads")
        self._emptied("trail", lambda: erase_payloads_about(self._member, at_most=BATCH), "payloads_elsewhere")
        self._do("names", lambda: {"names": 1} if erase_names(self._member) else {})
        self._do("sweep", self._sweep)
        with self._work.kept():
            disk = self._disk()
            complete(self._work, disk)

    def _index(self) -> None:
        with self._work.kept():
            deliver_shared(self._member.tenant_id, copies=self._work.counted("copies"))
            erase_part(owner_of(self._member))
        self._do("index", lambda: {"outbox": OUTBOX.rows(self._member).delete()[0]})

    def _sweep(self) -> Counts:
        """Nothing is left, and nobody can bring anything back: both are so while the owner's lock is held."""
        left = {store.name: store.count(self._member) for store in (*STORES, OUTBOX)}
        left["copies"] = count_copies(self._member)
        if any(left.values()):
            raise CameBack
        erase_payloads_of_chain(self._member, at_most=BATCH)  # of staff who looked meanwhile
        events = record_events(self._work.principal, [EventDraft(ERASED, "membership", self._member.pk)])
        AuditPayload.objects.filter(event__in=events).delete()
        return {}

    def _disk(self) -> dict[str, object]:
        self._do("disk", dict)
        tables = {store.rows(self._member).model._meta.db_table for store in (*STORES, OUTBOX)}
        return clear_disk(tables | {AuditPayload._meta.db_table, User._meta.db_table})

    def _emptied(self, stage: str, some: Callable[[], int], counted: str = "") -> None:
        """Erase batch after batch until there is nothing left."""
        name = counted or stage
        while self._do(stage, lambda: {name: some()})[name]:
            pass

    def _do(self, stage: str, work: Callable[[], Counts]) -> Counts:
        done = self._work.within(work, stage=stage)
        self._noted(stage, done)
        return done


def state_of(request_id: UUID) -> ErasureState:
    """The state of a request."""
    return ErasureState(ErasureRequest.objects.values_list("state", flat=True).get(pk=request_id))


def _in_words(error: Exception) -> str:
    """Why it waits, for staff: our own sentence, or the type of what was not ours."""
    return str(error) if isinstance(error, (MemoriesError, TenantsError)) else type(error).__name__
