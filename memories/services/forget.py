"""Forget: erase for good, on the owner's explicit request. Never used for contradictions (see `supersede`).

Invariant: afterwards the text of what was forgotten is in no table: not in the row, the audit payloads, the transcript,
the traces or the records of consolidation; nor in the database's log. What stays is a chain of digests that still
verifies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from memories.models import Episode, Fact, RecallTrace, Session
from memories.models.base import MemoryRow
from memories.search.outbox import enqueue_delete, enqueue_many
from memories.selectors.holds import require_no_hold
from memories.services.erasing.notes import erase_notes
from memories.services.erasing.reach import reach, supported_by_nothing_else
from memories.services.erasing.runs import empty_runs
from memories.services.erasing.transcript import redact_transcript
from memories.services.originals import erase_originals
from memories.services.ownership import owner_lock
from memories.services.reviews import reviews_naming
from memories.services.screening import screened_reason
from memories.services.sessions import locked_session
from memories.services.succession import AUDIT_NOUN, Supersedable, model_of
from memories.types import ForgetOutcome, Kind, Owner, Source
from memoryhub.scrubbing import scrub_log
from tenants.audit import EventDraft, erase_payloads, record_events
from tenants.principal import Principal, Right


@dataclass(frozen=True, slots=True)
class ForgetPreview:
    """What an erasure would remove: rows by kind with their texts (the owner's own), best named first."""

    rows: tuple[tuple[Kind, UUID, str], ...]


def preview_forget(
    principal: Principal, *, kind: Kind, memory_id: UUID, cascade: bool = False, sources: bool = False
) -> ForgetPreview:
    """What `forget` with the same arguments would erase. Changes nothing. Raises NotFound."""
    principal.require(Right.READ)
    rows = reach(principal, kind, memory_id, cascade=cascade, sources=sources)
    return ForgetPreview(tuple((row.kind, row.pk, row.searchable_text) for row in rows))


def forget(
    principal: Principal,
    *,
    kind: Kind,
    memory_id: UUID,
    cascade: bool = False,
    sources: bool = False,
    reason: str = "",
) -> ForgetOutcome:
    """Erase one memory of the owner for good.

    Rows of the same wording go with it. `cascade` also erases what only that memory supported (an episode's facts);
    `sources` also erases the episodes that a fact came from or ended by, and what else was learned from nothing but
    them and repeats it. Raises NotFound (also for a second time), Forbidden, Conflict (a legal hold is in force).
    """
    reason = screened_reason(principal, reason)
    with owner_lock(principal):
        rows = reach(principal, kind, memory_id, cascade=cascade, sources=sources)
        return erase_rows(principal, rows, reason=reason)


def forget_session(principal: Principal, *, session_id: UUID, cascade: bool = False) -> ForgetOutcome:
    """Erase a session: its messages, its episodes, its recalls and, with `cascade`, the facts only they supported.

    Raises NotFound, Forbidden, Conflict (a legal hold is in force).
    """
    with owner_lock(principal):
        session = locked_session(principal, session_id)
        episodes = list(Episode.objects.of(principal).filter(session=session))
        rows: list[MemoryRow] = list(episodes)
        if cascade:
            only = [*supported_by_nothing_else(principal, episodes), *_proposed_by(principal, session, episodes)]
            rows += {row.pk: row for row in only}.values()
        outcome = erase_rows(principal, rows, reason="session forgotten")
        RecallTrace.objects.of(principal).filter(session=session).delete()
        RecallTrace.objects.of(principal).filter(messages__session=session).delete()
        messages = session.messages.count()
        session.delete()
        record_events(principal, [EventDraft("session.forgotten", "session", session_id)])
        return ForgetOutcome(outcome.erased, outcome.redacted_messages + messages)


def erase_rows(principal: Principal, rows: Sequence[MemoryRow], *, reason: str) -> ForgetOutcome:
    """Erase the owner's `rows` and every copy of their texts; the caller holds the owner's lock.

    Raises Conflict while a legal hold keeps what the owner has.
    """
    require_no_hold(Owner(principal.tenant_id, principal.user_id))
    ids = [row.pk for row in rows]
    transaction.on_commit(scrub_log)
    redacted = redact_transcript(principal, rows) + erase_notes(principal, rows)
    empty_runs(principal, rows)
    asked = reviews_naming(principal, ids)
    erase_originals(principal, ids)
    successors: dict[UUID, UUID | None] = {}
    for row in rows:
        if isinstance(row, Supersedable):
            row.refresh_from_db(fields=["superseded_by", "version"])  # of a row beside it, erased just before
            bridge_chain(row)
            successors[row.pk] = row.superseded_by_id
        enqueue_delete(row.kind, row.pk, row.version + 1, row.owner)
    for row in rows:
        row.delete()
    erase_payloads(principal, target_ids=[*ids, *asked])
    record_events(
        principal,
        [
            EventDraft(f"{AUDIT_NOUN[row.kind]}.forgotten", row.kind.value, pk, reason, after=bridged(successors, pk))
            for row, pk in zip(rows, ids, strict=True)
        ],
    )
    return ForgetOutcome(tuple((row.kind, pk) for row, pk in zip(rows, ids, strict=True)), redacted)


def _proposed_by(principal: Principal, session: Session, episodes: Sequence[Episode]) -> Iterator[Fact]:
    """What the end of a task in this session proposed, also of notes that belong to no turn."""
    ids = {episode.pk for episode in episodes}
    proposed = session.entries.exclude(memory_id=None).values("memory_id")
    for fact in Fact.objects.of(principal).filter(pk__in=proposed, source=Source.TASK_OUTCOME):
        if set(fact.supporting_episodes.values_list("pk", flat=True)) <= ids:
            yield fact


def bridge_chain(row: Supersedable) -> None:
    """Link the predecessors of a row that goes to its successor, so that the chain has no hole."""
    predecessors = list(model_of(row.kind).objects.filter(superseded_by=row.pk))
    for predecessor in predecessors:
        predecessor.superseded_by_id = row.superseded_by_id
        predecessor.version += 1
        predecessor.save(update_fields=["superseded_by", "version", "updated_at"])
    enqueue_many(predecessors)


def bridged(successors: Mapping[UUID, UUID | None], erased: UUID) -> dict[str, str | None] | None:
    """What the trail is told of a state that goes: where links that led to it lead now."""
    if erased not in successors:
        return None
    successor = successors[erased]
    return {"bridged_to": str(successor) if successor else None}
