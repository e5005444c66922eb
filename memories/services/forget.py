"""Forget: erase for good, on the owner's explicit request. Never used for contradictions (see `supersede`).

Invariant: afterwards the text of what was forgotten is in no table: not in the row, the audit payloads, the transcript
or the traces; nor in the database's log. What stays is a chain of digests that still verifies.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from memories.constants import MAX_TITLE_CHARACTERS
from memories.errors import NotFound
from memories.hygiene.text import clean_text
from memories.models import (
    MEMORY_MODELS,
    Episode,
    Fact,
    Mention,
    Message,
    MessageRole,
    MessageState,
    RecallTrace,
    Session,
)
from memories.models.base import MemoryRow
from memories.search.outbox import enqueue_delete, enqueue_many
from memories.services.ownership import owner_lock
from memories.services.sessions import locked_session
from memories.services.succession import AUDIT_NOUN, Supersedable, model_of
from memories.types import ForgetOutcome, Kind
from memoryhub.scrubbing import scrub_log
from tenants.audit import EventDraft, erase_payloads, record_events
from tenants.principal import Principal, Right

# Words too common to show that an answer repeats a memory: short ones, and those every memory starts with.
_WORD = re.compile(r"\w{4,}|\d+")
_COMMON = frozenset(
    "about from have into lives likes that their they this what when where which with works your".split()
)


@dataclass(frozen=True, slots=True)
class ForgetPreview:
    """What an erasure would remove: rows by kind with their texts (the owner's own), best named first."""

    rows: tuple[tuple[Kind, UUID, str], ...]


def preview_forget(
    principal: Principal, *, kind: Kind, memory_id: UUID, cascade: bool = False, sources: bool = False
) -> ForgetPreview:
    """What `forget` with the same arguments would erase. Changes nothing. Raises NotFound."""
    principal.require(Right.READ)
    rows = _reach(principal, kind, memory_id, cascade=cascade, sources=sources)
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

    `cascade` also erases what only that memory supported (an episode's facts); `sources` also erases the episodes that
    a fact was learned from. Raises NotFound (also for a second time), Forbidden.
    """
    clean_text(reason, field="reason", limit=MAX_TITLE_CHARACTERS, required=False)
    with owner_lock(principal):
        rows = _reach(principal, kind, memory_id, cascade=cascade, sources=sources)
        return erase_rows(principal, rows, reason=reason)


def forget_session(principal: Principal, *, session_id: UUID, cascade: bool = False) -> ForgetOutcome:
    """Erase a session: its messages, its episodes, its recalls and, with `cascade`, the facts only they supported."""
    with owner_lock(principal):
        session = locked_session(principal, session_id)
        episodes = list(Episode.objects.of(principal).filter(session=session))
        rows: list[MemoryRow] = list(episodes)
        if cascade:
            rows += _only_supported_by(principal, episodes)
        outcome = erase_rows(principal, rows, reason="session forgotten")
        RecallTrace.objects.of(principal).filter(session=session).delete()
        RecallTrace.objects.of(principal).filter(messages__session=session).delete()
        messages = session.messages.count()
        session.delete()
        record_events(principal, [EventDraft("session.forgotten", "session", session_id)])
        return ForgetOutcome(outcome.erased, outcome.redacted_messages + messages)


def erase_rows(principal: Principal, rows: Sequence[MemoryRow], *, reason: str) -> ForgetOutcome:
    """Erase the owner's `rows` and every copy of their texts; the caller holds the owner's lock."""
    ids = [row.pk for row in rows]
    transaction.on_commit(scrub_log)
    redacted = _redact_transcript(principal, rows)
    for row in rows:
        if isinstance(row, Supersedable):
            _bridge_chain(row)
        enqueue_delete(row.kind, row.pk, row.version + 1, row.owner)
    for row in rows:
        row.delete()
    erase_payloads(principal, target_ids=ids)
    record_events(
        principal,
        [
            EventDraft(f"{AUDIT_NOUN[row.kind]}.forgotten", row.kind.value, pk, reason=reason)
            for row, pk in zip(rows, ids, strict=True)
        ],
    )
    return ForgetOutcome(tuple((row.kind, pk) for row, pk in zip(rows, ids, strict=True)), redacted)


def _reach(principal: Principal, kind: Kind, memory_id: UUID, *, cascade: bool, sources: bool) -> list[MemoryRow]:
    """The rows that an erasure of one memory takes with it, that memory first. Only the owner's own."""
    row = MEMORY_MODELS[kind].objects.of(principal).filter(pk=memory_id).first()
    if row is None:
        raise NotFound("memory")
    rows: dict[UUID, MemoryRow] = {row.pk: row}
    if sources and isinstance(row, Fact):
        rows |= {episode.pk: episode for episode in row.supporting_episodes.all()}
    if cascade:
        episodes = [each for each in rows.values() if isinstance(each, Episode)]
        rows |= {fact.pk: fact for fact in _only_supported_by(principal, episodes)}
    return list(rows.values())


def _only_supported_by(principal: Principal, episodes: Sequence[Episode]) -> list[Fact]:
    """The owner's facts whose every supporting episode is among `episodes`."""
    ids = {episode.pk for episode in episodes}
    facts = Fact.objects.of(principal).filter(supporting_episodes__in=ids).distinct()
    return [
        fact
        for fact in facts.prefetch_related("supporting_episodes")
        if {episode.pk for episode in fact.supporting_episodes.all()} <= ids
    ]


def _bridge_chain(row: Supersedable) -> None:
    """Link the predecessors of a row that goes to its successor, so that the chain has no hole."""
    predecessors = list(model_of(row.kind).objects.filter(superseded_by=row.pk))
    for predecessor in predecessors:
        predecessor.superseded_by_id = row.superseded_by_id
        predecessor.version += 1
        predecessor.save(update_fields=["superseded_by", "version", "updated_at"])
    enqueue_many(predecessors)


def _redact_transcript(principal: Principal, rows: Sequence[MemoryRow]) -> int:
    """Take the texts of `rows` out of messages, tool arguments, titles and traces; return how many messages changed."""
    changed = 0
    for row in rows:
        if isinstance(row, Episode):
            changed += _redact_turn(principal, row)
        mentioning = Message.objects.of(principal).filter(mentions__memory_id=row.pk).values_list("session_id", "turn")
        for session_id, turn in set(mentioning):
            changed += _redact_mentions(principal, session_id, turn, row)
        Mention.objects.of(principal).filter(memory_id=row.pk).update(reasons=[])
        _forget_in_traces(principal, row.pk)
    _forget_in_loose_traces(principal, rows)
    return changed


def _redact_turn(principal: Principal, episode: Episode) -> int:
    """Empty the whole turn in which an episode was said: its answer and tool calls were made from those words."""
    if episode.message_id is None:
        return 0
    message = Message.objects.of(principal).get(pk=episode.message_id)
    turn = Message.objects.of(principal).filter(session_id=message.session_id, turn=message.turn)
    RecallTrace.objects.of(principal).filter(messages__in=turn).update(query="")
    if message.turn == 1:
        Session.objects.of(principal).filter(pk=message.session_id).update(title="")
    return _empty(turn)


def _redact_mentions(principal: Principal, session_id: UUID, turn: int, row: MemoryRow) -> int:
    """In a turn that used or wrote `row`: empty the tool arguments that wrote it and the answers that repeat it.

    A turn that is being answered meanwhile may yet repeat it: its last message is emptied, and by that `turns` knows.
    """
    messages = Message.objects.of(principal).filter(session_id=session_id, turn=turn, step__gt=0)
    wrote = set(
        messages.filter(mentions__memory_id=row.pk, role=MessageRole.TOOL)
        .exclude(mentions__relation="recalled")
        .values_list("tool_call_id", flat=True)
    )
    words = _distinctive(row.searchable_text)
    changed = 0
    last = messages.order_by("step").last()
    unanswered = last if last and (last.role != MessageRole.ASSISTANT or last.tool_calls) else None
    for message in messages.filter(Q(role=MessageRole.ASSISTANT) | Q(pk=unanswered and unanswered.pk)):
        repeats = bool(words & _distinctive(message.text))
        calls = any(call.get("id") in wrote for call in message.tool_calls)
        if repeats or calls or message == unanswered:
            changed += _empty(Message.objects.of(principal).filter(pk=message.pk))
    return changed


def _empty(messages: QuerySet[Message]) -> int:
    """Empty the texts of `messages` and say so in their state; tool calls keep their names, not their arguments."""
    changed = 0
    for message in messages:
        message.text = ""
        message.tool_calls = [{**call, "arguments": {}} for call in message.tool_calls]
        message.state = MessageState.REDACTED
        message.save(update_fields=["text", "tool_calls", "state"])
        changed += 1
    return changed


def _forget_in_traces(principal: Principal, memory_id: UUID) -> None:
    """Drop a memory's line from the traces of the recalls that returned it (they hold ids and numbers only)."""
    traces = RecallTrace.objects.of(principal).filter(messages__mentions__memory_id=memory_id).distinct()
    for trace in traces:
        trace.candidates = [line for line in trace.candidates if line.get("id") != str(memory_id)]
        trace.save(update_fields=["candidates"])


def _forget_in_loose_traces(principal: Principal, rows: Sequence[MemoryRow]) -> None:
    """Empty the questions that say what is forgotten, of recalls that no message shows.

    Such are the API's own recalls, and those of a turn that brought up nothing new.
    """
    said = {row.text for row in rows if isinstance(row, Episode)}
    words = {str(row.pk): _distinctive(row.searchable_text) for row in rows}
    loose = RecallTrace.objects.of(principal).filter(messages=None)
    for pk, query in loose.exclude(query="").values_list("pk", "query").iterator():
        asked = _distinctive(query)
        if query not in said and not any(asked & each for each in words.values()):
            continue
        trace = loose.get(pk=pk)
        found = {line.get("id") for line in trace.candidates} & words.keys()
        trace.candidates = [line for line in trace.candidates if line.get("id") not in found]
        if query in said or any(asked & words[each] for each in found):
            trace.query = ""
        trace.save(update_fields=["candidates", "query"])


def _distinctive(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if word not in _COMMON}
