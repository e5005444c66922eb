"""Forget: erase memories for good, on the owner's explicit request. Contradictions use `supersede` instead.

Afterwards no table holds the text, and SQLite's log is emptied if no reader prevents it: not the row, the audit
payloads, the transcript, tool arguments, titles, recall traces, working memory (L0), session entries (L1) or outputs of
consolidation. A message that repeats it
stays only if the owner wrote it and did not erase it. The audit chain still verifies.

A consolidation run that read, wrote or repeats an erased memory keeps its ids, verdicts and counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import Min, Q, QuerySet

from memories.consolidation.rules import marking
from memories.models import (
    CaseNote,
    ConsolidationRun,
    Episode,
    Fact,
    Feedback,
    Mention,
    Message,
    MessageRole,
    MessageState,
    RecallTrace,
    ReviewItem,
    ReviewKind,
    Session,
    SessionEntry,
    SupportCase,
)
from memories.models.base import MemoryRow
from memories.selectors.erasure import require_no_hold
from memories.selectors.sessions import own_session
from memories.services.erasure.reach import (
    ErasedWording,
    reach,
    strings_in,
    supported_by_nothing_else,
    wording_of,
)
from memories.services.facts.closing import Supersedable, model_of
from memories.services.idempotency import erase_answers
from memories.services.originals import erase_originals
from memories.services.reviews.queue import reviews_naming
from memories.services.screening import screened_reason
from memories.services.write import AUDIT_NOUN, Write, write
from memories.slots import Slots, from_json, to_json
from memories.types import ForgetOutcome, Kind, Source
from memoryhub.db.sqlite import scrub_log
from tenants.audit.chain import EventDraft, erase_payloads
from tenants.principal import Principal

Turn = tuple[UUID, int]


def redact_transcript(principal: Principal, rows: Sequence[MemoryRow]) -> int:
    """Remove the texts of `rows` from messages, tool arguments, titles and traces; return how many messages changed."""
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
    _empty_titles_and_notes(principal, rows)
    return changed + _redact_later(principal, rows)


def _redact_turn(principal: Principal, episode: Episode) -> int:
    """Empty the whole turn of an episode, because its answer and tool calls were made from that text."""
    if episode.message_id is None:
        return 0
    message = Message.objects.of(principal).get(pk=episode.message_id)
    turn = Message.objects.of(principal).filter(session_id=message.session_id, turn=message.turn)
    RecallTrace.objects.of(principal).filter(messages__in=turn).update(query="")
    return empty(turn)


def _redact_later(principal: Principal, rows: Sequence[MemoryRow]) -> int:
    """Empty the answers that repeat `rows` later in the sessions that knew them, whose prompts held that as history."""
    ids = [row.pk for row in rows]
    knew = Message.objects.of(principal).filter(Q(mentions__memory_id__in=ids) | Q(episode__in=ids))
    first = dict(knew.order_by().values_list("session_id").annotate(Min("turn")))
    # Most words of an event are anybody's; what was learned from it has its own.
    own = wording_of(row for row in rows if not isinstance(row, Episode)).words
    wording = replace(wording_of(rows), words=own)
    changed = 0
    for session_id, turn in first.items():
        later = Message.objects.of(principal).filter(session_id=session_id, turn__gt=turn, step__gt=0)
        answers = later.filter(role=MessageRole.ASSISTANT, tool_calls=[]).exclude(text="")
        repeating = [message.pk for message in answers if wording.repeated_in(message.text)]
        changed += empty(later.filter(pk__in=repeating))
    return changed


def _empty_titles_and_notes(principal: Principal, rows: Sequence[MemoryRow]) -> None:
    """Empty the titles of sessions that knew the erased words and hold them, and the notes of any feedback that do."""
    spoken = spoken_of(principal, rows)
    titled = Session.objects.of(principal).filter(pk__in=spoken.sessions).exclude(title="")
    held = [pk for pk, title in titled.values_list("pk", "title") if spoken.wording.repeated_in(title)]
    Session.objects.of(principal).filter(pk__in=held).update(title="")
    own = wording_of(row for row in rows if not isinstance(row, Episode)).words
    elsewhere = replace(spoken.wording, words=own)
    notes = Feedback.objects.of(principal).exclude(note="").values_list("pk", "session_id", "note")
    held = [
        pk
        for pk, session_id, note in notes
        if (spoken.wording if session_id in spoken.sessions else elsewhere).repeated_in(note)
    ]
    Feedback.objects.of(principal).filter(pk__in=held).update(note="")


def _redact_mentions(principal: Principal, session_id: UUID, turn: int, row: MemoryRow) -> int:
    """Empty the assistant messages of a turn that used or wrote `row`, if their text or tool arguments repeat it.

    If the turn is still being answered, its last message is emptied too, which tells `turns` to store no text.
    """
    whole = Message.objects.of(principal).filter(session_id=session_id, turn=turn)
    messages = whole.filter(step__gt=0)
    wrote = set(
        messages.filter(mentions__memory_id=row.pk, role=MessageRole.TOOL)
        .exclude(mentions__relation="recalled")
        .values_list("tool_call_id", flat=True)
    )
    wording = wording_of([row])
    said = marking(" ".join(whole.filter(step=0).values_list("text", flat=True)))
    changed = 0
    last = messages.order_by("step").last()
    unanswered = last if last and (last.role != MessageRole.ASSISTANT or last.tool_calls) else None
    for message in messages.filter(Q(role=MessageRole.ASSISTANT) | Q(pk=unanswered and unanswered.pk)):
        calls = any(call.get("id") in wrote for call in message.tool_calls)
        if calls or message == unanswered or _repeats(message, wording, said):
            changed += empty(Message.objects.of(principal).filter(pk=message.pk))
    for trace in RecallTrace.objects.of(principal).filter(messages__in=whole).exclude(query="").distinct():
        if wording.repeated_in(trace.query, but=said):
            RecallTrace.objects.of(principal).filter(pk=trace.pk).update(query="")
    return changed


def _repeats(message: Message, wording: ErasedWording, said: frozenset[str]) -> bool:
    """Whether an answer repeats the memory, or its tool arguments do in words that the user's message does not have."""
    arguments = " ".join(strings_in([call.get("arguments") for call in message.tool_calls]))
    return wording.repeated_in(message.text) or wording.repeated_in(arguments, but=said)


def empty(messages: QuerySet[Message]) -> int:
    """Empty the texts of `messages` and mark them redacted; returns how many were not yet.

    Tool calls keep their names but not their arguments. Feedback on an emptied turn is deleted.
    """
    changed = 0
    turns = set()
    for message in messages:
        turns.add((message.tenant_id, message.user_id, message.session_id, message.turn))
        message.text = ""
        message.sensitivity = {}
        message.tool_calls = [{**call, "arguments": {}} for call in message.tool_calls]
        changed += message.state != MessageState.REDACTED
        message.state = MessageState.REDACTED
        message.save(update_fields=["text", "sensitivity", "tool_calls", "state"])
    for tenant_id, user_id, session_id, turn in turns:
        Feedback.objects.of_owner(tenant_id, user_id).filter(session=session_id, turn=turn).delete()
    return changed


def _forget_in_traces(principal: Principal, memory_id: UUID) -> None:
    """Remove a memory's line from the traces of recalls that returned it. The line holds only ids and numbers."""
    traces = RecallTrace.objects.of(principal).filter(messages__mentions__memory_id=memory_id).distinct()
    for trace in traces:
        trace.candidates = [line for line in trace.candidates if line.get("id") != str(memory_id)]
        trace.save(update_fields=["candidates"])


def _forget_in_loose_traces(principal: Principal, rows: Sequence[MemoryRow]) -> None:
    """Remove erased memories from traces without a message: empty repeating queries and drop candidate lines.

    API recalls have no message; neither do recalls in a turn that returned nothing new.
    """
    said = {row.text for row in rows if isinstance(row, Episode)}
    wordings = {str(row.pk): wording_of([row]) for row in rows}
    loose = RecallTrace.objects.of(principal).filter(messages=None)
    for pk, query in loose.exclude(query="").values_list("pk", "query").iterator():
        asked = marking(query)
        if query not in said and not any(asked & each.words for each in wordings.values()):
            continue
        trace = loose.get(pk=pk)
        found = {line.get("id") for line in trace.candidates} & wordings.keys()
        trace.candidates = [line for line in trace.candidates if line.get("id") not in found]
        if query in said or any(asked & wordings[each].words for each in found):
            trace.query = ""
        trace.save(update_fields=["candidates", "query"])


@dataclass(frozen=True, slots=True)
class SpokenOf:
    """The wording of memories, the turns that contained it, and the sessions that mentioned it."""

    wording: ErasedWording
    turns: frozenset[Turn]
    sessions: frozenset[UUID]

    def takes(self, session_id: UUID, turn: int, text: str) -> bool:
        """Whether a text of that turn must go with the memories."""
        if (session_id, turn) in self.turns:
            return True
        wording = self.wording if session_id in self.sessions else replace(self.wording, words=frozenset())
        return wording.repeated_in(text)


def erase_notes(principal: Principal, rows: Sequence[MemoryRow]) -> int:
    """Remove the texts of `rows` from slots and entries; return the number of emptied tool-call messages."""
    erased = spoken_of(principal, rows)
    ids = {row.pk for row in rows}
    gone = [
        entry
        for entry in SessionEntry.objects.of(principal)
        if entry.memory_id in ids or erased.takes(entry.session_id, entry.turn, entry.text)
    ]
    SessionEntry.objects.of(principal).filter(pk__in=[entry.pk for entry in gone]).delete()
    places = {(entry.session_id, entry.place) for entry in gone}
    for session in Session.objects.of(principal).exclude(working_memory={}):
        kept = to_json(_left(session, places, erased))
        if kept != session.working_memory:
            session.working_memory = kept
            session.save(update_fields=["working_memory"])
    return sum(
        _empty_calls(principal, turn, erased.wording) for turn in {(entry.session_id, entry.turn) for entry in gone}
    )


def erase_case_words(principal: Principal, rows: Sequence[MemoryRow]) -> list[UUID]:
    """Delete support's notes and corrections that hold the words of `rows`, and empty such tickets.

    Returns the ids of the corrections.
    """
    erased, ids = spoken_of(principal, rows), [row.pk for row in rows]
    notes = CaseNote.objects.of(principal).values_list("pk", "case__session_id", "case__turn", "text")
    said = [pk for pk, *turn, text in notes if tuple(turn) in erased.turns or erased.wording.repeated_in(text)]
    CaseNote.objects.of(principal).filter(pk__in=said).delete()
    tickets = SupportCase.objects.of(principal).exclude(ticket="").values_list("pk", "session_id", "turn", "ticket")
    said = [pk for pk, *turn, text in tickets if tuple(turn) in erased.turns or erased.wording.repeated_in(text)]
    SupportCase.objects.of(principal).filter(pk__in=said).update(ticket="")
    corrections = ReviewItem.objects.of(principal).filter(kind=ReviewKind.CORRECTION)
    named = set(reviews_naming(principal, ids))
    gone = [
        item.pk
        for item in corrections
        if item.pk in named or any(map(erased.wording.repeated_in, (item.proposed, item.reason)))
    ]
    corrections.filter(pk__in=gone).delete()
    return gone


def spoken_of(principal: Principal, rows: Sequence[MemoryRow]) -> SpokenOf:
    """Where the words of `rows` were said or shown."""
    episodes = [row for row in rows if isinstance(row, Episode)]
    ids = [row.pk for row in rows]
    said = Message.objects.of(principal).filter(pk__in=[row.message_id for row in episodes if row.message_id])
    mentions = Mention.objects.of(principal).filter(memory_id__in=ids)
    knew = {*mentions.values_list("message__session_id", flat=True), *(row.session_id for row in episodes)}
    became = SessionEntry.objects.of(principal).filter(memory_id__in=ids).values_list("session_id", flat=True)
    return SpokenOf(wording_of(rows), frozenset(said.values_list("session_id", "turn")), frozenset({*knew, *became}))


def _left(session: Session, places: set[tuple[UUID, int]], erased: SpokenOf) -> Slots:
    return from_json(session.working_memory).without(
        lambda noted: (session.pk, noted.place) in places or erased.takes(session.pk, noted.turn, noted.text)
    )


def _empty_calls(principal: Principal, turn: Turn, wording: ErasedWording) -> int:
    """Empty the tool calls of a turn that repeat the wording."""
    messages = Message.objects.of(principal).filter(session_id=turn[0], turn=turn[1], step__gt=0)
    repeating = [
        message.pk
        for message in messages.exclude(tool_calls=[])
        if wording.repeated_in(" ".join(strings_in([call.get("arguments") for call in message.tool_calls])))
    ]
    return empty(Message.objects.of(principal).filter(pk__in=repeating))


# Replaces the output of a consolidation run.
ERASED_OUTPUT = {"erased": True}


def empty_runs(principal: Principal, rows: Sequence[MemoryRow]) -> int:
    """Replace the outputs of the runs that read, wrote or repeat `rows`; return how many."""
    ids = {str(row.pk) for row in rows}
    ordinals = {row.ordinal for row in rows if isinstance(row, Episode)}
    runs = ConsolidationRun.objects.of(principal).exclude(output={}).exclude(output=ERASED_OUTPUT)
    wording = wording_of(rows)
    columns = runs.values_list("pk", "first_ordinal", "last_ordinal", "input", "decisions", "output")
    found = [
        pk
        for pk, first, last, read, decided, output in columns.iterator()
        if any(first <= ordinal <= last for ordinal in ordinals)
        or _names(ids, json.dumps([read, decided]))
        or wording.repeated_in(" ".join(strings_in(output)))  # a failed run names no fact but may quote one
    ]
    return ConsolidationRun.objects.of(principal).filter(pk__in=found).update(output=ERASED_OUTPUT)


def _names(ids: set[str], record: str) -> bool:
    return any(each in record for each in ids)


def forget(
    principal: Principal,
    *,
    kind: Kind,
    memory_id: UUID,
    cascade: bool = False,
    sources: bool = False,
    reason: str = "",
) -> ForgetOutcome:
    """Erase one memory of the owner for good, with all rows of the same wording.

    `cascade` also erases the memories that only this one supported (an episode's facts). `sources` also erases the
    episodes that a fact came from or was ended by, and memories that only these episodes support and that repeat the
    fact. Raises NotFound (also when called again), Forbidden, Conflict (a legal hold is in force).
    """
    reason = screened_reason(principal, reason)
    with write(principal) as w:
        rows = reach(principal, kind, memory_id, cascade=cascade, sources=sources)
        return erase_rows(w, rows, reason=reason)


def forget_session(principal: Principal, *, session_id: UUID, cascade: bool = False) -> ForgetOutcome:
    """Erase a session with its messages, episodes and recalls; `cascade` also erases memories that only they supported.

    Raises NotFound, Forbidden, Conflict (a legal hold is in force).
    """
    with write(principal) as w:
        session = own_session(principal, session_id)
        principal = replace(principal, apart=False)  # a session goes whole, whichever apps wrote in it
        episodes = list(Episode.objects.of(principal).filter(session=session))
        rows: list[MemoryRow] = list(episodes)
        if cascade:
            only = [*supported_by_nothing_else(principal, episodes), *_proposed_by(principal, session, episodes)]
            rows += {row.pk: row for row in only}.values()
        redacted_before = session.messages.filter(state=MessageState.REDACTED).count()
        outcome = erase_rows(w, rows, reason="session forgotten")
        RecallTrace.objects.of(principal).filter(session=session).delete()
        RecallTrace.objects.of(principal).filter(messages__session=session).delete()
        deleted = redacted_before + session.messages.exclude(state=MessageState.REDACTED).count()
        session.delete()
        w.audit("session.forgotten", target_kind="session", target_id=session_id)
        return ForgetOutcome(outcome.erased, outcome.redacted_messages + deleted)


def erase_rows(w: Write, rows: Sequence[MemoryRow], *, reason: str) -> ForgetOutcome:
    """Erase the owner's `rows` and every copy of their texts.

    Raises Conflict while a legal hold is in force.
    """
    principal = w.principal
    require_no_hold(w.owner)
    ids = [row.pk for row in rows]
    transaction.on_commit(scrub_log)
    redacted = redact_transcript(principal, rows) + erase_notes(principal, rows)
    empty_runs(principal, rows)
    asked = reviews_naming(principal, ids) + erase_case_words(principal, rows)
    erase_originals(principal, ids)
    events = delete_rows(w, rows)
    w.flush()  # writes the buffered events about them first, so that their payloads are erased too
    erase_payloads(principal, target_ids=[*ids, *asked], by=(by := uuid4()))
    w.audit_drafts([replace(each, reason=reason, id=None if number else by) for number, each in enumerate(events)])
    return ForgetOutcome(tuple((Kind(event.target_kind), pk) for event, pk in zip(events, ids, strict=True)), redacted)


def delete_rows(w: Write, rows: Sequence[MemoryRow]) -> list[EventDraft]:
    """Delete rows, with stored answers that may show them, and relink chains; return an event per row."""
    successors: dict[UUID, UUID | None] = {}
    for row in rows:
        if isinstance(row, Supersedable):
            row.refresh_from_db(fields=["superseded_by", "version"])  # an adjacent row may just have been deleted
            _bridge(w, row)
            successors[row.pk] = row.superseded_by_id
    w.unindex(*rows)
    erase_answers(w.owner)
    drafts = [
        EventDraft(
            f"{AUDIT_NOUN[row.kind]}.forgotten",
            row.kind.value,
            row.pk,
            after={"bridged_to": successors[row.pk]} if row.pk in successors else None,
        )
        for row in rows
    ]
    for row in rows:
        row.delete()
    return drafts


def _proposed_by(principal: Principal, session: Session, episodes: Sequence[Episode]) -> Iterator[Fact]:
    """Facts proposed when a task of this session ended, and supported by no other episodes (or by none)."""
    ids = {episode.pk for episode in episodes}
    proposed = session.entries.exclude(memory_id=None).values("memory_id")
    for fact in Fact.objects.of(principal).filter(pk__in=proposed, source=Source.TASK_OUTCOME):
        if set(fact.supporting_episodes.values_list("pk", flat=True)) <= ids:
            yield fact


def _bridge(w: Write, row: Supersedable) -> None:
    """Link the predecessors of a deleted row to its successor, so that the chain has no gap."""
    predecessors = list(model_of(row.kind).objects.unscoped("rows by ids under the lock").filter(superseded_by=row.pk))
    for predecessor in predecessors:
        predecessor.superseded_by_id = row.superseded_by_id
        predecessor.version += 1
        predecessor.save(update_fields=["superseded_by", "version", "updated_at"])
    w.index(*predecessors)
