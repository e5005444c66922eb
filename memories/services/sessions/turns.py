"""Turns of a conversation: the user's message and its episode are committed before any model is called.

A user message and its episode are stored together; the same `turn_id` never creates a second message. A process that
answers a turn passes as `after` the last message it knows. If two processes answer the same turn, the slower one gets a
Conflict and their messages never mix. Messages that an agent adds to a turn that was erased meanwhile, or that used a
memory erased since, are stored without text.

A complete answer also records which memories it was made from (`sources.py`).
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Required, TypedDict, Unpack
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.constants import MAX_MESSAGE_CHARACTERS
from memories.errors import Conflict, NotFound, existing
from memories.hygiene.text import clean_text
from memories.models import (
    Episode,
    Mention,
    Message,
    MessageRole,
    MessageState,
    RecallTrace,
    Relation,
    Session,
)
from memories.selectors.erasure import require_no_hold
from memories.selectors.policies import Policy
from memories.services.screening import Screen, masked_kinds
from memories.services.sessions.episodes import create_episode, turn_ended
from memories.services.sessions.sessions import create_session, policy_in, renew, title_from
from memories.services.sessions.sources import can_judge, count_uses, judge_use, note_use
from memories.services.write import Write, write
from memories.types import Kind, Owner, Recall, WriteOutcome, WriteResult
from memoryhub.db.compiled_query import Prepared
from tenants.models import AuditEvent
from tenants.principal import Principal, Right


@dataclass(frozen=True, slots=True)
class Turn:
    """A stored user turn, with the session and policy read for it.

    `created` is False if the same `turn_id` had been stored before.
    """

    session: Session
    policy: Policy
    message: Message
    episode_id: UUID | None
    created: bool = False

    @property
    def session_id(self) -> UUID:
        """The id of the turn's session."""
        return self.session.pk

    @property
    def turn(self) -> int:
        """The turn's number in the session, from 1."""
        return self.message.turn

    @property
    def message_id(self) -> UUID:
        """The id of the user's message."""
        return self.message.pk

    @property
    def text(self) -> str:
        """The user's message as stored."""
        return self.message.text

    @property
    def masked(self) -> tuple[str, ...]:
        """The kinds of values that were masked in the message."""
        return masked_kinds(self.message.sensitivity)


@dataclass(frozen=True, slots=True)
class ToolStep:
    """The agent calls tools: `calls` are `{"id", "name", "arguments"}`."""

    calls: Sequence[Mapping[str, Any]]
    text: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool. Memories are mentioned by id; `text` is for other results, such as errors.

    `shown` are memories that the result named without a recall.
    """

    call_id: str
    text: str = ""
    recall: Recall | None = None
    written: Sequence[WriteOutcome] = ()
    shown: Sequence[tuple[Kind, UUID]] = ()


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """The agent's answer: complete, cut off or failed. It is stored in the transcript only, never in a memory.

    `shown` are the memories that the answer may repeat although the turn recalled none of them. `sources` are the
    memories that it was made from, if whoever made it knows; they are among the recalled or shown ones.
    """

    text: str
    state: MessageState = MessageState.COMPLETE
    error: str = ""
    took_ms: float | None = None
    memory_tokens: int | None = None
    shown: Sequence[tuple[Kind, UUID]] = ()
    sources: Collection[UUID] | None = None


TurnMessage = ToolStep | ToolResult | FinalAnswer


def begin_turn(
    principal: Principal,
    *,
    text: str,
    session_id: UUID | None = None,
    turn_id: UUID | None = None,
    at: datetime | None = None,
    temporary: bool = False,
) -> Turn:
    """Store the user's message in one transaction: session (if new), message, episode, audit events, outbox entries.

    The client chooses `turn_id`; a repeated one returns the stored turn, so a double click or a retry stores nothing.
    Sensitive values are masked in message, episode and title, and the turn's `masked` names their kinds. `at` is when
    it was said, by default now. With `temporary`, a new session is a temporary chat. Raises InvalidInput, NotFound
    (session), Conflict (the same `turn_id` with another text or session), Forbidden.
    """
    principal.require(Right.CHAT)
    clean_text(text, field="message", limit=MAX_MESSAGE_CHARACTERS)
    message_id = _message_id(principal, turn_id)
    said = Screen(principal).said(text)
    now = at or timezone.now()
    with write(principal) as w:
        if turn_id and _SENT_BEFORE.any(principal.tenant_id, principal.user_id, message_id):
            stored = Message.objects.of(principal).select_related("episode", "session").get(pk=message_id)
            if (session_id and stored.session_id != session_id) or stored.text != said.text:
                raise Conflict(_("This turn was sent before with another text; send it as a new turn."))
            return stored_turn(w, stored)
        if session_id:
            session = existing(_SESSION.first(principal.tenant_id, principal.user_id, session_id), "session")
            renew(w, session, at=now)
            number, sequence = (session.last_turn or 0) + 1, session.last_sequence or 0  # type: ignore[attr-defined]
            session.last_turn_at = now
            _row_of(session.pk).update(
                last_turn_at=now,
                expires_at=session.expires_at,
                expired_at=session.expired_at,
                ended_at=session.ended_at,
            )
        else:
            session = create_session(w, title=title_from(said.text), created_at=now, temporary=temporary)
            number, sequence = 1, 0
        message = Message(
            pk=message_id,
            session=session,
            tenant_id=principal.tenant_id,
            user_id=principal.user_id,
            turn=number,
            step=0,
            role=MessageRole.USER,
            speaker=principal.speaker,
            text=said.text,
            sensitivity=dict(said.marks),
            created_at=now,
        )
        message.save(force_insert=True)
        episode_id = create_episode(w, session, said=said, message=message, after_sequence=sequence)
        return Turn(session, policy_in(w, session), message, episode_id, created=True)


def extend_turn(
    principal: Principal,
    *,
    session_id: UUID,
    turn: int,
    messages: Sequence[TurnMessage],
    after: UUID | None = None,
    at: datetime | None = None,
    policy: Policy | None = None,
    screen: Screen | None = None,
) -> tuple[list[Message], list[Mention]]:
    """Append the agent's messages to a turn in one transaction, and extend the session. A final answer must come last.

    Sensitive values are masked; `screen` may already have judged some. A complete answer records which recalled
    memories it used. Raises NotFound, and Conflict if the turn was replaced, or if `after` is given and is not the last
    message.
    """
    screen = screen or Screen(principal)
    drafts = [screened_columns(screen, each) for each in messages]
    answer = messages[-1] if isinstance(messages[-1], FinalAnswer) else None
    now = at or timezone.now()
    with write(principal, policy=policy) as w:
        used = {id_ for each in messages for _, _, id_, _ in _mentioned(each)}
        place = (principal.tenant_id, principal.user_id, session_id, turn)
        stored = _OF_TURN.values(*place, used or {session_id})
        if not stored:
            raise NotFound("turn")
        last_step, kept = stored[-1][1], [row for row in stored if row[5] is None]
        if not kept or (after is not None and kept[-1][0] != after):
            raise Conflict(_("This message was answered elsewhere meanwhile."))
        if any(state == MessageState.REDACTED or forgotten for _, _, state, _, forgotten, _ in kept):
            drafts = [*map(_without_words, drafts)]
        whose: dict[str, Any] = {"tenant_id": principal.tenant_id, "user_id": principal.user_id}
        rows = [
            Message(session_id=session_id, turn=turn, step=step, created_at=now, **whose, **columns)
            for step, columns in enumerate(drafts, start=last_step + 1)
        ]
        mentions = [
            Mention(
                message=row, position=position, relation=relation, kind=kind, memory_id=id_, reasons=reasons, **whose
            )
            for row, each in zip(rows, messages, strict=True)
            for position, (relation, kind, id_, reasons) in enumerate(_mentioned(each))
        ]
        if answer is not None and len(kept) == 1 and can_judge(principal, rows[-1]):
            texts, said = _given(messages), stored[0][3]
            judge_use(principal, mentions, texts, question=said, answer=rows[-1].text, sources=answer.sources)
        Message.objects.bulk_create(rows)
        Mention.objects.bulk_create(mentions)
        _row_of(session_id).update(last_turn_at=now, expires_at=now + w.policy.session_lifetime)
        if answer is not None:
            turn_ended()
            judged = note_use(principal, rows[-1], answer.sources) if len(kept) > 1 else mentions
            count_uses(principal, judged, now)
    return rows, mentions


class TurnPlace(TypedDict, total=False):
    """The position and time of a new message; see `extend_turn`."""

    session_id: Required[UUID]
    turn: Required[int]
    after: UUID | None
    at: datetime | None


def add_tool_step(
    principal: Principal, *, tool_calls: Sequence[Mapping[str, Any]], text: str = "", **place: Unpack[TurnPlace]
) -> Message:
    """Store a message in which the agent calls tools."""
    return extend_turn(principal, messages=[ToolStep(tool_calls, text)], **place)[0][0]


def add_tool_result(
    principal: Principal,
    *,
    tool_call_id: str,
    text: str = "",
    recall: Recall | None = None,
    written: Sequence[WriteOutcome] = (),
    shown: Sequence[tuple[Kind, UUID]] = (),
    **place: Unpack[TurnPlace],
) -> Message:
    """Store the result of one tool."""
    result = ToolResult(tool_call_id, text, recall, written, shown)
    return extend_turn(principal, messages=[result], **place)[0][0]


def finish_turn(
    principal: Principal,
    *,
    session_id: UUID,
    turn: int,
    after: UUID | None = None,
    at: datetime | None = None,
    **answer: Any,
) -> Message:
    """Store the agent's answer; `answer` are the fields of `FinalAnswer`."""
    messages = [FinalAnswer(**answer)]
    return extend_turn(principal, session_id=session_id, turn=turn, messages=messages, after=after, at=at)[0][0]


def clear_answer(principal: Principal, *, session_id: UUID, turn: int) -> Turn:
    """Remove the messages after the user's message of `turn`, so that it can be answered again.

    Raises NotFound, or Conflict if the turn has a complete answer, was erased, or is under a legal hold.
    """
    with write(principal) as w:
        messages = Message.objects.of(principal).filter(session_id=session_id, turn=turn)
        question = existing(messages.filter(step=0).select_related("episode", "session").first(), "message")
        if question.state == MessageState.REDACTED:
            raise Conflict(_("This message was erased; it cannot be answered."))
        followed = messages.filter(step__gt=0, replaced_by=None)
        answer = followed.order_by("-step").first()
        answered = answer and answer.role == MessageRole.ASSISTANT and not answer.tool_calls
        if answer and answered and answer.state == MessageState.COMPLETE:
            raise Conflict(_("This turn is already answered."))
        if any(message.text or message.tool_calls for message in followed):
            require_no_hold(Owner(principal.tenant_id, principal.user_id))
        followed.delete()
        return stored_turn(w, question)


def _message_id(principal: Principal, turn_id: UUID | None) -> UUID:
    """A message id derived from the owner, so that a client's `turn_id` cannot collide with another owner's message."""
    if turn_id is None:
        return uuid.uuid4()
    return uuid.uuid5(principal.user_id, f"{principal.tenant_id}:turn:{turn_id}")


def stored_turn(w: Write, message: Message) -> Turn:
    """The turn of a stored user message, read with its session and episode."""
    episode = getattr(message, "episode", None)
    return Turn(message.session, policy_in(w, message.session), message, episode.pk if episode else None)


def screened_columns(screen: Screen, message: TurnMessage) -> dict[str, Any]:
    """The columns of an agent's message, with sensitive values masked."""
    said = screen.said(message.text)
    columns: dict[str, Any] = {"text": said.text, "sensitivity": dict(said.marks)}
    match message:
        case ToolStep(calls):
            screened = [dict(call) | {"arguments": screen.arguments(call.get("arguments", {}))} for call in calls]
            return columns | {"role": MessageRole.ASSISTANT, "tool_calls": screened}
        case ToolResult():
            found = message.recall
            return columns | {
                "role": MessageRole.TOOL,
                "tool_call_id": message.call_id,
                "recall_id": found.trace_id if found else None,
                "degraded": bool(found and found.degraded),
            }
        case FinalAnswer():
            return columns | {
                "role": MessageRole.ASSISTANT,
                "state": message.state,
                "error": message.error[:300],
                "took_ms": message.took_ms,
                "memory_tokens": message.memory_tokens,
            }


def _without_words(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a message as an erasure would have left them. Also empties the query of its recall trace."""
    if recall_id := columns.get("recall_id"):
        RecallTrace.objects.unscoped("rows by ids under the lock").filter(pk=recall_id).update(query="")
    calls = [{**call, "arguments": {}} for call in columns.get("tool_calls", ())]
    return {**columns, "text": "", "sensitivity": {}, "tool_calls": calls, "state": MessageState.REDACTED}


def _mentioned(message: TurnMessage) -> Iterator[tuple[Relation, Kind, UUID, list[str]]]:
    """The memories that a message mentions, in order."""
    if isinstance(message, ToolStep):
        return
    for kind, memory_id in message.shown:
        yield Relation.SHOWN, kind, memory_id, []
    if isinstance(message, FinalAnswer):
        return
    if message.recall:
        for item in message.recall.items:
            yield Relation.RECALLED, item.kind, item.id, list(item.reasons)
    for outcome in message.written:
        if outcome.result is WriteResult.BLOCKED:
            continue
        if outcome.memory_id not in outcome.superseded_ids:  # a memory that was only ended was not written
            relation = Relation.CONFIRMED if outcome.result is WriteResult.MERGED else Relation.WROTE
            yield relation, outcome.kind, outcome.memory_id, []
        for old in outcome.superseded_ids:
            yield Relation.REPLACED, outcome.kind, old, []


def _given(messages: Sequence[TurnMessage]) -> dict[UUID, str]:
    """The texts of the recalled memories as the model saw them, without keys."""
    recalls = [message.recall for message in messages if isinstance(message, ToolResult) and message.recall]
    return {
        item.id: ". ".join(filter(None, [item.title, item.trigger, item.text, *item.steps]))
        for recall in recalls
        for item in recall.items
    }


def _sent_before(tenant_id: UUID, user_id: UUID, message_id: UUID) -> QuerySet[Message, Any]:
    return Message.objects.of_owner(tenant_id, user_id).filter(pk=message_id).order_by().values_list("pk")


def _session(tenant_id: UUID, user_id: UUID, session_id: UUID) -> QuerySet[Session]:
    """A session with the numbers of its last turn and last episode."""
    turns = Message.objects.filter(session=OuterRef("pk")).order_by("-turn").values("turn")[:1]
    episodes = Episode.objects.filter(session=OuterRef("pk")).order_by("-sequence").values("sequence")[:1]
    rows = Session.objects.of_owner(tenant_id, user_id).filter(pk=session_id).order_by()
    return rows.annotate(last_turn=Subquery(turns), last_sequence=Subquery(episodes))


def _of_turn(tenant_id: UUID, user_id: UUID, session_id: UUID, turn: int, used: list[UUID]) -> QuerySet[Message, Any]:
    """The messages of a turn, replaced ones too, each with whether the owner has erased one of the memories `used`."""
    events = AuditEvent.objects.filter(tenant_id=tenant_id, owner_id=user_id, target_id__in=used)
    of_turn = Message.objects.of_owner(tenant_id, user_id).filter(session_id=session_id, turn=turn)
    rows: QuerySet[Any, Any] = of_turn.annotate(forgotten=Exists(events.filter(action__endswith=".forgotten")))
    return rows.order_by("step").values_list("pk", "step", "state", "text", "forgotten", "replaced_by")


def _row_of(session_id: UUID) -> QuerySet[Session]:
    return Session.objects.unscoped("rows by ids under the lock").filter(pk=session_id)


_SENT_BEFORE = Prepared(_sent_before)
_SESSION = Prepared(_session)
_OF_TURN = Prepared(_of_turn)
