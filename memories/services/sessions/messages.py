"""Records messages of a conversation that a program holds elsewhere: a transcript, and episodes of what was said.

Only the words of users become episodes, as in a chat turn: screened, audited, on their way to the index. What an
assistant or a tool said stays in the transcript, where a model sees it only as a quoted record (docs/adr/0025). A call
is one transaction: all of its messages are stored, in order, or none.

A message with the caller's id is stored once in its session. Neither a repeated call nor one that adds to an earlier
one doubles it, and a message that was erased does not return.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from memories.constants import MAX_MESSAGE_CHARACTERS
from memories.errors import Conflict, InvalidInput
from memories.hygiene.sensitivity.detecting import holds_secrets
from memories.hygiene.text import clean_text
from memories.models import Episode, LearningOperation, Message, MessageRole, MessageState, Session
from memories.selectors.policies import policy_for
from memories.selectors.sessions import find_session, own_session
from memories.selectors.speakers import own_names
from memories.services.screening import Screen, masked_kinds, refuse_kept_out
from memories.services.sessions.episodes import (
    MAX_SPEAKER_CHARACTERS,
    EpisodeDraft,
    append_episodes,
    ask_learning,
    screened_episode,
)
from memories.services.sessions.sessions import create_session, renew, title_from
from memories.services.write import Write, write
from memories.types import Kind, WriteOutcome, WriteResult
from memories.words import folded
from tenants.principal import Principal

MAX_MESSAGES = 100
MAX_EXTERNAL_ID = 200


class Learn(StrEnum):
    """When memories are learned from messages. `schedule`: when the tenant's policy says, as from a chat turn."""

    BACKGROUND = "background"
    NOW = "now"
    OFF = "off"
    SCHEDULE = "schedule"


@dataclass(frozen=True, slots=True)
class MessageDraft:
    """A message to record. `name` is who speaks, if it is not the member; `external_id` is the caller's id of it.

    `context` describes an attachment of a user's message; `metadata` is that of its episode.
    """

    role: MessageRole
    content: str
    name: str = ""
    at: datetime | None = None
    external_id: str = ""
    context: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """A message as stored, and its episode, if it is a user's and not kept out of memory.

    `created` is False if it had been stored before.
    """

    message: Message
    episode_id: UUID | None
    created: bool

    @property
    def masked(self) -> tuple[str, ...]:
        """The kinds of values that were masked in it."""
        return masked_kinds(self.message.sensitivity)


@dataclass(frozen=True, slots=True)
class RecordedMessages:
    """The messages of one call. `operation` is None if nothing was asked to be learned, or nobody's words are new."""

    session: Session
    messages: tuple[RecordedMessage, ...]
    operation: LearningOperation | None = None


@dataclass(frozen=True, slots=True)
class _ScreenedMessage:
    """A draft with its texts as they may be stored in `said`; `own`: the member speaks."""

    draft: MessageDraft
    said: EpisodeDraft
    own: bool


def record_messages(
    principal: Principal,
    messages: Sequence[MessageDraft],
    *,
    session: str | UUID = "",
    learn: Learn = Learn.BACKGROUND,
) -> RecordedMessages:
    """Store messages at the end of a session, in one transaction.

    `session` is the caller's own id, for which a session is made if there is none; or the UUID of one that exists; or
    empty for a new one. Raises InvalidInput naming the message at fault, NotFound (a session's UUID), Conflict (a
    stored message has another content, or memory is paused), Forbidden; then nothing is stored.
    """
    _check(messages, session)
    screened = _screened(principal, messages)
    now = timezone.now()
    with write(principal) as w:
        w.require_learning(by_hand=False)
        row = _session_of(w, session, screened, now)
        ids = [message_id(principal, row, each.draft.external_id) for each in screened]
        stored = _stored_before(principal, row, ids, screened)
        turn, step = _end_of(principal, row)
        rows: dict[UUID, Message] = {}
        drafts: list[EpisodeDraft] = []
        for pk, each in zip(ids, screened, strict=True):
            if pk in stored:
                continue
            is_user = each.draft.role is MessageRole.USER
            turn, step = (turn + 1, 0) if is_user or not turn else (turn, step + 1)
            rows[pk] = _message(principal, row, each, pk, (turn, step), at=each.draft.at or now, learn=learn)
            if is_user:
                at, speaker = rows[pk].created_at, rows[pk].speaker
                drafts.append(replace(each.said, message_id=pk, happened_at=at, speaker=speaker))
        Message.objects.bulk_create(rows.values())
        episodes = append_episodes(w, row, drafts)
        known = Episode.objects.of(principal).filter(message__in=stored).only("pk", "message_id", "ordinal")
        of_message = {each.message_id: each for each in (*known, *episodes)}
        recorded = tuple(
            RecordedMessage(
                stored.get(pk) or rows[pk], of_message[pk].pk if pk in of_message else None, created=pk in rows
            )
            for pk in ids
        )
        operation = None
        if learn in (Learn.BACKGROUND, Learn.NOW):
            operation = _operation(w, row, episodes) or _asked_before(principal, known)
        return RecordedMessages(row, recorded, operation)


def remember_said(
    principal: Principal,
    *,
    session_id: UUID,
    text: str,
    name: str = "",
    context: str = "",
    happened_at: datetime | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> WriteOutcome:
    """Record one user's message, to be learned from on schedule. Raises InvalidInput, NotFound, Forbidden."""
    refuse_kept_out(policy_for(principal).in_app(principal.app), {"text": text, "context": context})
    draft = MessageDraft(MessageRole.USER, text, name, happened_at, context=context, metadata=metadata or {})
    try:
        recorded = record_messages(principal, [draft], session=session_id, learn=Learn.SCHEDULE)
    except InvalidInput as error:
        name = error.field.removeprefix("messages.0.")
        raise InvalidInput("text" if name == "content" else name, error.reason) from None
    (message,) = recorded.messages
    if message.episode_id is None:  # the policy changed meanwhile
        raise Conflict(_("This is in the transcript; what it speaks of is kept out of memory here."))
    return WriteOutcome(WriteResult.CREATED, Kind.EPISODIC, message.episode_id)


def _check(messages: Sequence[MessageDraft], session: str | UUID) -> None:
    """Raise InvalidInput naming the field, such as `messages.2.content`."""
    if not messages:
        raise InvalidInput("messages", _("must not be empty."))
    if len(messages) > MAX_MESSAGES:
        raise InvalidInput(
            "messages", _("is too long: at most %(max_messages)s are allowed.") % {"max_messages": MAX_MESSAGES}
        )
    if isinstance(session, str):
        check_session_id(session)
    seen: dict[str, str] = {}
    for number, each in enumerate(messages):
        place = f"messages.{number}"
        clean_text(each.content, field=f"{place}.content", limit=MAX_MESSAGE_CHARACTERS, required=not each.context)
        clean_text(each.context, field=f"{place}.context", limit=MAX_MESSAGE_CHARACTERS, required=False)
        clean_text(each.name, field=f"{place}.name", limit=MAX_SPEAKER_CHARACTERS, required=False)
        clean_text(each.external_id, field=f"{place}.id", limit=MAX_EXTERNAL_ID, required=False)
        if each.at is not None and timezone.is_naive(each.at):
            raise InvalidInput(f"{place}.at", _("needs a time zone."))
        if each.external_id and each.external_id in seen:
            raise InvalidInput(
                f"{place}.id", _("is the id of %(value)s, too; give each its own.") % {"value": seen[each.external_id]}
            )
        seen[each.external_id] = place


def check_session_id(session: str) -> None:
    """Raise InvalidInput unless the caller's own id of a session can be stored."""
    clean_text(session, field="session", limit=MAX_EXTERNAL_ID, required=session != "")
    if holds_secrets(session):
        raise InvalidInput("session", _("holds what is not stored, such as a key or a card number; send another id."))


def _screened(principal: Principal, messages: Sequence[MessageDraft]) -> list[_ScreenedMessage]:
    screen = Screen(principal)
    own = own_names(principal) if any(each.name for each in messages) else frozenset()
    return [
        _ScreenedMessage(
            each,
            screened_episode(
                EpisodeDraft(each.content, speaker=each.name, context=each.context, metadata=each.metadata), screen
            ),
            each.role is MessageRole.USER and (not each.name or folded(each.name).strip() in own),
        )
        for each in messages
    ]


def _session_of(w: Write, session: str | UUID, screened: Sequence[_ScreenedMessage], now: datetime) -> Session:
    """The session to append to: found and renewed, or new."""
    principal = w.principal
    last = max(each.draft.at or now for each in screened)
    if isinstance(session, UUID):
        row: Session | None = own_session(principal, session)
    else:
        row = find_session(principal, session) if session else None
    if row is None:
        title = title_from(next((each.said.text for each in screened if each.own), screened[0].said.text))
        row = create_session(w, title=title, created_at=now, external_id=session if isinstance(session, str) else "")
    else:
        renew(w, row, at=now)
    row.last_turn_at = max(row.last_turn_at, last)
    row.save(update_fields=["last_turn_at", "expires_at", "expired_at", "ended_at"])
    return row


def message_id(principal: Principal, session: Session, external_id: str) -> UUID:
    """An id derived from owner, session and the caller's id, so that it collides with nobody else's message."""
    if not external_id:
        return uuid.uuid4()
    return uuid.uuid5(principal.user_id, f"{principal.tenant_id}:message:{session.pk}:{external_id}")


def _stored_before(
    principal: Principal, session: Session, ids: Sequence[UUID], screened: Sequence[_ScreenedMessage]
) -> dict[UUID, Message]:
    """The messages of `ids` that are stored. Raises Conflict if one has another content, unless it was erased."""
    stored = {row.pk: row for row in Message.objects.of(principal).filter(session=session, pk__in=ids)}
    for number, (pk, each) in enumerate(zip(ids, screened, strict=True)):
        row = stored.get(pk)
        if row is None or row.state == MessageState.REDACTED:
            continue
        if (row.role, row.text) != (each.draft.role, each.said.text):
            raise Conflict(
                _(
                    "messages.%(number)s: a message with this id is stored in this session with another role or"
                    " content. Nothing was stored; send what changed as a message of its own id."
                )
                % {"number": number}
            )
    return stored


def _end_of(principal: Principal, session: Session) -> tuple[int, int]:
    rows = Message.objects.of(principal).filter(session=session).order_by("-turn", "-step")
    return rows.values_list("turn", "step").first() or (0, 0)


def _message(
    principal: Principal,
    session: Session,
    each: _ScreenedMessage,
    pk: UUID,
    place: tuple[int, int],
    *,
    at: datetime,
    learn: Learn,
) -> Message:
    return Message(
        pk=pk,
        session=session,
        tenant_id=principal.tenant_id,
        user_id=principal.user_id,
        turn=place[0],
        step=place[1],
        role=each.draft.role,
        speaker=principal.speaker if each.own else each.said.speaker,
        own=each.own,
        learn=learn is not Learn.OFF,
        text=each.said.text,
        sensitivity=dict(each.said.sensitivity),
        created_at=at,
    )


def _operation(w: Write, session: Session, episodes: Sequence[Episode]) -> LearningOperation | None:
    """Ask for the learning from new episodes; None if there are none."""
    if not episodes:
        return None
    return ask_operation(w, episodes[0].ordinal, episodes[-1].ordinal, session=session)


def ask_operation(w: Write, first: int, last: int, *, session: Session | None = None) -> LearningOperation:
    """Ask for the learning from the episodes with the ordinals `first` to `last`."""
    ask_learning(w, last)
    return LearningOperation.objects.create(
        tenant_id=w.principal.tenant_id,
        user_id=w.principal.user_id,
        session=session,
        first_ordinal=first,
        last_ordinal=last,
    )


def _asked_before(principal: Principal, known: Iterable[Episode]) -> LearningOperation | None:
    """The operation of messages that were all stored before, so that a repeated call gets it again."""
    last = max((each.ordinal for each in known), default=0)
    of_last = LearningOperation.objects.of(principal).filter(first_ordinal__lte=last, last_ordinal__gte=last)
    return of_last.order_by("-created_at").first()
