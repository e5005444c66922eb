"""Turns of a conversation: what the user said is committed, with its episode, before any model is called.

Invariant: a user message and its episode exist together or not at all; the same `turn_id` never makes a second one.
Who answers a turn passes, as `after`, the message that it knows to be the last: of two that answer the same turn, in
whatever process, the slower one gets a Conflict at its next message, and their messages never mix. What an agent still
adds to a turn that was erased while it was answered is stored without its words.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from memories.constants import MAX_MESSAGE_CHARACTERS
from memories.errors import Conflict, NotFound
from memories.hygiene.text import clean_text
from memories.models import Mention, Message, MessageRole, MessageState, RecallTrace, Relation, Session
from memories.selectors.erasure import require_no_hold
from memories.selectors.policies import policy_of
from memories.services.ownership import owner_lock
from memories.services.screening import Screen, masked_kinds
from memories.services.sessions.entries import renew
from memories.services.sessions.episodes import create_episode, turn_ended
from memories.services.sessions.recorded_use import note_use
from memories.services.sessions.sessions import create_session, locked_session, title_from
from memories.types import ForgetOutcome, Kind, Owner, Recall, WriteOutcome, WriteResult
from memoryhub.db.compiled_query import Prepared, PreparedUpdate
from tenants.principal import Principal, Right


@dataclass(frozen=True, slots=True)
class Turn:
    """A user turn as stored; `created` is False when the same `turn_id` had been stored before."""

    session_id: UUID
    turn: int
    message_id: UUID
    episode_id: UUID | None
    created: bool
    text: str
    happened_at: datetime
    masked: tuple[str, ...] = ()


def begin_turn(
    principal: Principal,
    *,
    text: str,
    session_id: UUID | None = None,
    turn_id: UUID | None = None,
    at: datetime | None = None,
) -> Turn:
    """Store what the user said: session (if new), message, episode, audit, outbox, in one transaction.

    `turn_id` is chosen by the client: sending it again answers the stored turn, so a double click or a retry adds
    nothing. What must not be stored is masked in message, episode and title; `masked` of the turn names the
    kinds. `at` is when it was said, if not now: the other writers of a turn take it too, for conversations that are
    told afterwards. Raises InvalidInput, NotFound (session), Conflict (the same `turn_id` with another text or
    session).
    """
    principal.require(Right.CHAT)
    clean_text(text, field="message", limit=MAX_MESSAGE_CHARACTERS)
    message_id = _message_id(principal, turn_id)
    said = Screen(principal).said(text)
    text = said.text
    with owner_lock(principal):
        mine = Message.objects.of(principal).select_related("episode")
        stored = mine.filter(pk=message_id).first() if turn_id else None
        if stored is not None:
            if (session_id and stored.session_id != session_id) or stored.text != text:
                raise Conflict("This turn was sent before with another text; send it as a new turn.")
            return _turn(stored, created=False)
        if session_id:
            session = locked_session(principal, session_id)
            renew(principal, session, at=at or timezone.now())
        else:
            session = create_session(principal, title=title_from(text), created_at=at)
        message = _append(
            principal,
            session,
            turn=_next_turn(session),
            message_id=message_id,
            at=at,
            role=MessageRole.USER,
            speaker=principal.speaker,
            text=text,
            sensitivity=dict(said.marks),
        )
        episode = create_episode(principal, session, said=said, message=message)
        message.episode = episode
        return _turn(message, created=True)


def add_tool_step(
    principal: Principal,
    *,
    session_id: UUID,
    turn: int,
    tool_calls: Sequence[Mapping[str, Any]],
    text: str = "",
    after: UUID | None = None,
    at: datetime | None = None,
) -> Message:
    """Store that the agent called tools: `tool_calls` are `{"id", "name", "arguments"}`."""
    screen = Screen(principal)
    said = screen.said(text)
    calls = [dict(call) | {"arguments": screen.arguments(call.get("arguments", {}))} for call in tool_calls]
    with owner_lock(principal):
        return _append(
            principal,
            locked_session(principal, session_id),
            turn=turn,
            after=after,
            at=at,
            role=MessageRole.ASSISTANT,
            text=said.text,
            sensitivity=dict(said.marks),
            tool_calls=calls,
        )


def add_tool_result(
    principal: Principal,
    *,
    session_id: UUID,
    turn: int,
    tool_call_id: str,
    text: str = "",
    recall: Recall | None = None,
    written: Sequence[WriteOutcome] = (),
    forgotten: ForgetOutcome | None = None,
    after: UUID | None = None,
    at: datetime | None = None,
) -> Message:
    """Store what a tool answered. Memories are mentioned by id; `text` is for other answers (errors)."""
    said = Screen(principal).said(text)
    with owner_lock(principal):
        message = _append(
            principal,
            locked_session(principal, session_id),
            turn=turn,
            after=after,
            at=at,
            role=MessageRole.TOOL,
            text=said.text,
            sensitivity=dict(said.marks),
            tool_call_id=tool_call_id,
            recall_id=recall.trace_id if recall else None,
            degraded=bool(recall and recall.degraded),
        )
        Mention.objects.bulk_create(_mentions(message, recall, written, forgotten))
        return message


def finish_turn(
    principal: Principal,
    *,
    session_id: UUID,
    turn: int,
    text: str,
    state: MessageState = MessageState.COMPLETE,
    error: str = "",
    took_ms: float | None = None,
    memory_tokens: int | None = None,
    after: UUID | None = None,
    at: datetime | None = None,
    wordless: bool = False,
) -> Message:
    """Store the agent's answer, whole, cut off or failed. It goes to the transcript alone, never into memory.

    Which of the recalled memories a whole one made use of is noted beside them.

    What must not be stored is masked in it, too. `wordless`: the text repeats nothing of the turn and of memory, so it
    is stored even if they were erased meanwhile.
    """
    said = Screen(principal).said(text)
    with owner_lock(principal):
        turn_ended()
        answer = _append(
            principal,
            locked_session(principal, session_id),
            turn=turn,
            wordless=wordless,
            after=after,
            at=at,
            role=MessageRole.ASSISTANT,
            text=said.text,
            sensitivity=dict(said.marks),
            state=state,
            error=error[:300],
            took_ms=took_ms,
            memory_tokens=memory_tokens,
        )
        note_use(principal, answer, wordless=wordless)
        return answer


def clear_answer(principal: Principal, *, session_id: UUID, turn: int) -> Turn:
    """Remove what followed the user's message of `turn`, so that it can be answered again.

    Raises NotFound, or Conflict if the turn has a complete answer or was erased, or a legal hold keeps what was said.
    """
    with owner_lock(principal):
        messages = Message.objects.of(principal).filter(session_id=session_id, turn=turn)
        question = messages.filter(step=0).select_related("episode").first()
        if question is None:
            raise NotFound("message")
        if question.state == MessageState.REDACTED:
            raise Conflict("This message was erased.")
        answer = messages.filter(step__gt=0).order_by("-step").first()
        answered = answer and answer.role == MessageRole.ASSISTANT and not answer.tool_calls
        if answer and answered and answer.state == MessageState.COMPLETE:
            raise Conflict("This turn is already answered.")
        followed = messages.filter(step__gt=0)
        if any(message.text or message.tool_calls for message in followed):
            require_no_hold(Owner(principal.tenant_id, principal.user_id))
        followed.delete()
        return _turn(question, created=False)


def _message_id(principal: Principal, turn_id: UUID | None) -> UUID:
    """An id of the owner's own: a client's `turn_id` can neither meet nor reveal another owner's message."""
    if turn_id is None:
        return uuid.uuid4()
    return uuid.uuid5(principal.user_id, f"{principal.tenant_id}:turn:{turn_id}")


def _next_turn(session: Session) -> int:
    last = _LAST_TURN.values(session.pk)
    return last[0][0] + 1 if last else 1


def _last_turn(session_id: UUID) -> QuerySet[Message, Any]:
    return Message.objects.filter(session_id=session_id).order_by("-turn").values_list("turn")[:1]


def _of_turn(session_id: UUID, turn: int) -> QuerySet[Message, Any]:
    return Message.objects.filter(session_id=session_id, turn=turn).order_by("-step").values_list("pk", "step", "state")


_LAST_TURN = Prepared(_last_turn)
_OF_TURN = Prepared(_of_turn)


def _append(
    principal: Principal,
    session: Session,
    *,
    turn: int,
    message_id: UUID | None = None,
    after: UUID | None = None,
    at: datetime | None = None,
    wordless: bool = False,
    **columns: Any,
) -> Message:
    """Insert the next message of `turn`, move the session's clock. Raises Conflict if `after` is not the last one.

    A turn is known to be erased, or a memory that its answer is made from, by what `erasure/forget.py` left of it.
    """
    stored = _OF_TURN.values(session.pk, turn)
    if after is not None and (not stored or stored[0][0] != after):
        raise Conflict("This message was answered elsewhere meanwhile.")
    if not wordless and any(state == MessageState.REDACTED for _, _, state in stored):
        columns = _without_words(columns)
    now = at or timezone.now()
    message = Message(
        pk=message_id or uuid.uuid4(),
        session=session,
        tenant_id=principal.tenant_id,
        user_id=principal.user_id,
        turn=turn,
        step=stored[0][1] + 1 if stored else 0,
        created_at=now,
        **columns,
    )
    message.save(force_insert=True)
    session.last_turn_at = now
    session.expires_at = now + policy_of(principal.tenant_id).session_lifetime
    _MOVED.run(session.pk, session.last_turn_at, session.expires_at, session.expired_at, session.ended_at)
    return message


def _moved(
    session_id: UUID, last: datetime, expires: datetime | None, expired: datetime | None, ended: datetime | None
) -> tuple[QuerySet[Session], Mapping[str, Any]]:
    columns = {"last_turn_at": last, "expires_at": expires, "expired_at": expired, "ended_at": ended}
    return Session.objects.filter(pk=session_id), columns


_MOVED = PreparedUpdate(_moved)


def _without_words(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a message as an erasure would have left them."""
    if recall_id := columns.get("recall_id"):
        RecallTrace.objects.filter(pk=recall_id).update(query="")
    calls = [{**call, "arguments": {}} for call in columns.get("tool_calls", ())]
    return {**columns, "text": "", "tool_calls": calls, "state": MessageState.REDACTED}


def _turn(message: Message, *, created: bool) -> Turn:
    episode = getattr(message, "episode", None)
    return Turn(
        session_id=message.session_id,
        turn=message.turn,
        message_id=message.pk,
        episode_id=episode.pk if episode else None,
        created=created,
        text=message.text,
        happened_at=message.created_at,
        masked=masked_kinds(message.sensitivity),
    )


def _mentions(
    message: Message, recall: Recall | None, written: Sequence[WriteOutcome], forgotten: ForgetOutcome | None
) -> list[Mention]:
    rows: list[tuple[Relation, Kind, UUID, tuple[str, ...]]] = []
    if recall:
        rows += [(Relation.RECALLED, item.kind, item.id, item.reasons) for item in recall.items]
    for outcome in written:
        if outcome.memory_id not in outcome.superseded_ids:  # what ended with nothing in its place was not written
            relation = Relation.CONFIRMED if outcome.result is WriteResult.MERGED else Relation.WROTE
            rows.append((relation, outcome.kind, outcome.memory_id, ()))
        rows += [(Relation.REPLACED, outcome.kind, old, ()) for old in outcome.superseded_ids]
    if forgotten:
        rows += [(Relation.FORGOT, kind, memory_id, ()) for kind, memory_id in forgotten.erased]
    return [
        Mention(
            message=message,
            tenant_id=message.tenant_id,
            user_id=message.user_id,
            relation=relation,
            kind=kind,
            memory_id=memory_id,
            position=position,
            reasons=list(reasons),
        )
        for position, (relation, kind, memory_id, reasons) in enumerate(rows)
    ]
