"""Records recalls in the background: their traces, and when the returned facts were last recalled.

What an answer was made from is counted with the answer (`services/sessions/turns.py`). If the queue is full, the recall
is written synchronously before its answer is returned.
"""

from __future__ import annotations

import atexit
import logging
import queue
import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import connections, transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Greatest

from memories.models import Fact, Message, MessageState, RecallTrace, Session
from memories.selectors.erasure import is_erased
from memoryhub import observability as log_context
from memoryhub.db.scope import confined_to
from tenants.locks import held_owner
from tenants.principal import Principal

log = logging.getLogger(__name__)

# A queued recall takes a few kilobytes; a thousand of them mean that the database is far behind.
MAX_WAITING = 1_000
MAX_BATCH = 100
# Recalls come in bursts: what follows within this time is written with the first, while the next one is answered.
PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Record:
    """One recall to be written, and the facts that it returned."""

    principal: Principal
    trace: RecallTrace
    fact_ids: tuple[UUID, ...]


_waiting: queue.Queue[Record] = queue.Queue(MAX_WAITING)
_starting = threading.Lock()
_flushing = threading.Event()
_thread: threading.Thread | None = None


def record(entry: Record) -> None:
    """Write a recall in the background, or now if `MEMORYHUB_RECORDING` is `inline` or the queue is full.

    Errors are logged and never raised, because the recall was already answered.
    """
    if settings.MEMORYHUB_RECORDING == "inline":
        _write_or_log([entry])
        return
    _ensure_thread()
    try:
        _waiting.put_nowait(entry)
    except queue.Full:
        _write_or_log([entry])


def flush() -> None:
    """Wait until all recalls recorded so far are written."""
    _flushing.set()
    _waiting.join()
    _flushing.clear()


def _ensure_thread() -> None:
    global _thread  # noqa: PLW0603 - one thread per process, started after any fork
    if _thread is not None and _thread.is_alive():
        return
    with _starting:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_run, name="recall-recorder", daemon=True)
            _thread.start()
            atexit.register(flush)


def _run() -> None:
    log_context.bind(task="recall-recorder")
    while True:
        batch = [_waiting.get()]
        _flushing.wait(PAUSE_SECONDS)
        try:
            while len(batch) < MAX_BATCH:
                batch.append(_waiting.get_nowait())
        except queue.Empty:
            pass
        try:
            _write_or_log(batch)
        finally:
            connections.close_all()
            for _ in batch:
                _waiting.task_done()


def _write_or_log(batch: Sequence[Record]) -> None:
    try:
        _write(batch)
    except Exception:  # the thread must survive, and `flush` must return
        if len(batch) > 1:
            for entry in batch:
                _write_or_log([entry])
            return
        log.exception("A recall could not be recorded.")


def _write(batch: Sequence[Record]) -> None:
    """Write under each owner's lock, so that a concurrent erasure wins."""
    by_owner: dict[UUID, list[Record]] = defaultdict(list)
    for entry in batch:
        by_owner[entry.principal.membership_id].append(entry)
    with transaction.atomic():
        for _, entries in sorted(by_owner.items()):
            with confined_to(entries[0].principal.tenant_id, entries[0].principal.user_id):
                _write_of(entries[0].principal, entries)


def _write_of(principal: Principal, entries: Sequence[Record]) -> None:
    member = held_owner(principal)
    if member is None or (not member.is_active and is_erased(member.pk)):
        return  # the member is being erased
    kept = [entry for entry in entries if not _was_forgotten(entry)]
    for entry in kept:
        if _was_redacted(entry):
            entry.trace.query = ""
    RecallTrace.objects.bulk_create([entry.trace for entry in kept])
    _note_recalled(principal, entries)


def _was_forgotten(entry: Record) -> bool:
    """True if its session, and with it all its recalls, was erased before the recall was recorded."""
    if entry.trace.session_id is None:
        return False
    return not Session.objects.of(entry.principal).filter(pk=entry.trace.session_id).exists()


def _was_redacted(entry: Record) -> bool:
    """True if its turn, the session's last, was erased before the recall was recorded."""
    if entry.trace.session_id is None:
        return False
    said = Message.objects.of(entry.principal).filter(session_id=entry.trace.session_id, step=0)
    return said.order_by("-turn").values_list("state", flat=True).first() == MessageState.REDACTED


def _note_recalled(principal: Principal, entries: Sequence[Record]) -> None:
    """Note the time of the recall on the principal's own facts.

    Shared facts have none, because one member's queries must not change another member's results.
    """
    recalled = {fact_id for entry in entries for fact_id in entry.fact_ids}
    latest = max(entry.trace.created_at for entry in entries)
    Fact.objects.of(principal).filter(pk__in=recalled).update(
        last_used_at=Greatest(Coalesce(F("last_used_at"), latest), latest)
    )
