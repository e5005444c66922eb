"""Recording recalls: the trace, and the uses of the facts that were given out. Behind the answer, never in its way.

Invariants: each use counts exactly once (`use_count + 1` in the database, never read and written back); what the queue
cannot take is written before the answer instead; `flush` returns once everything recorded so far is written.
"""

from __future__ import annotations

import atexit
import logging
import queue
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connections, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce, Greatest

from memories.models import Fact, Message, MessageState, RecallTrace, Session
from memories.recall.trace import TracedCandidate
from memories.selectors.erasure import is_erased
from memoryhub.db.compiled_query import Prepared
from memoryhub.observability import context as log_context
from tenants.locks import held_owner
from tenants.principal import Principal

log = logging.getLogger(__name__)

# A recall leaves a few kilobytes; a thousand waiting ones mean that the database is far behind.
MAX_WAITING = 1_000
MAX_BATCH = 100


@dataclass(frozen=True, slots=True)
class Record:
    """One recall, to be written."""

    principal: Principal
    trace_id: UUID
    query: str
    session_id: UUID | None
    parameters: dict[str, Any]
    stages: dict[str, Any]
    candidates: tuple[TracedCandidate, ...]
    returned: int
    degraded: bool
    took_ms: float
    recalled_at: datetime
    fact_ids: tuple[UUID, ...]


_waiting: queue.Queue[Record] = queue.Queue(MAX_WAITING)
_starting = threading.Lock()
_thread: threading.Thread | None = None


def record(entry: Record) -> None:
    """Write a recall: on a thread of its own, or now if `MEMORYHUB_RECORDING` is `inline` or the queue is full.

    Never raises: a recall that was answered is not taken back.
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
    """Wait until everything recorded so far is written."""
    _waiting.join()


def _ensure_thread() -> None:
    global _thread  # noqa: PLW0603 - one thread for each process, started after any fork
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
    except Exception:  # whatever it is: this thread goes on, and whoever waits for it in `flush` is let go
        if len(batch) > 1:
            for entry in batch:
                _write_or_log([entry])
            return
        log.exception("A recall could not be recorded.")


def _write(batch: Sequence[Record]) -> None:
    """Under the lock of each owner: what is forgotten meanwhile leaves no trace, and counting never meets a writer."""
    by_owner: dict[UUID, list[Record]] = defaultdict(list)
    for entry in batch:
        by_owner[entry.principal.membership_id].append(entry)
    with transaction.atomic():
        for _, entries in sorted(by_owner.items()):
            principal = entries[0].principal
            member = held_owner(principal)
            if member is None or (not member.is_active and is_erased(member.pk)):
                continue  # of a member who is being erased nothing may come back
            RecallTrace.objects.bulk_create([_trace(entry) for entry in entries if not _was_forgotten(entry)])
            _count_uses(principal, entries)


def _trace(entry: Record) -> RecallTrace:
    return RecallTrace(
        pk=entry.trace_id,
        tenant_id=entry.principal.tenant_id,
        user_id=entry.principal.user_id,
        session_id=entry.session_id,
        query="" if _was_redacted(entry) else entry.query,
        parameters=entry.parameters,
        stages=entry.stages,
        candidates=[line.as_json() for line in entry.candidates],
        returned=entry.returned,
        degraded=entry.degraded,
        took_ms=entry.took_ms,
        created_at=entry.recalled_at,
    )


def _was_forgotten(entry: Record) -> bool:
    """Whether its session was erased before it came to be recorded, and with it all its recalls."""
    if entry.session_id is None:
        return False
    return not _SESSION.any(entry.principal.tenant_id, entry.principal.user_id, entry.session_id)


def _was_redacted(entry: Record) -> bool:
    """Whether the turn that it was made for, the last of its session, was erased before it came to be recorded."""
    if entry.session_id is None:
        return False
    last = _LAST_SAID.values(entry.principal.tenant_id, entry.principal.user_id, entry.session_id)
    return last == [(MessageState.REDACTED,)]


def _session(tenant_id: UUID, user_id: UUID, session_id: UUID) -> QuerySet[Session, Any]:
    rows = Session.objects.filter(tenant_id=tenant_id, user_id=user_id, pk=session_id)
    return rows.order_by().values_list("pk")[:1]


def _last_said(tenant_id: UUID, user_id: UUID, session_id: UUID) -> QuerySet[Message, Any]:
    rows = Message.objects.filter(tenant_id=tenant_id, user_id=user_id, session_id=session_id, step=0)
    return rows.order_by("-turn").values_list("state")[:1]


_SESSION = Prepared(_session)
_LAST_SAID = Prepared(_last_said)


def _count_uses(principal: Principal, entries: Sequence[Record]) -> None:
    """Add the uses to the principal's own facts: one UPDATE for those used equally often, usually one in all.

    Shared facts are not counted: what one member asks must not move what another is given.
    """
    uses = Counter(fact_id for entry in entries for fact_id in entry.fact_ids)
    latest = max(entry.recalled_at for entry in entries)
    for count in sorted(set(uses.values())):
        used = [fact_id for fact_id, times in uses.items() if times == count]
        Fact.objects.of(principal).filter(pk__in=used).update(
            use_count=F("use_count") + count,
            last_used_at=Greatest(Coalesce(F("last_used_at"), latest), latest),
        )
