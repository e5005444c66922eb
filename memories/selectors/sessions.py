"""Reads sessions: the list, and a session's transcript as turns, with the memories of each turn loaded live."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import Any
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery

from memories.errors import NotFound, existing
from memories.models import Mention, Message, MessageRole, MessageState, Relation, Session
from memories.selectors.memories import Memory, memories_by_id
from memories.types import Handling, Kind
from memoryhub.db.compiled_query import MOST_IDS, Prepared
from tenants.principal import ActorKind, Principal, Right

_SPOKEN = (MessageRole.USER, MessageRole.ASSISTANT)

# The relations of memories that a turn was given, and did not change.
_GIVEN = (Relation.RECALLED, Relation.SHOWN)


@dataclass(frozen=True, slots=True)
class MentionView:
    """A memory in a turn. `memory` is None once it was forgotten.

    `used` says whether the answer was made from it; None means unknown.
    """

    relation: Relation
    kind: Kind
    memory_id: UUID
    memory: Memory | None
    reasons: tuple[str, ...] = ()
    used: bool | None = None


@dataclass(frozen=True, slots=True)
class StepView:
    """One message after the user's: a tool call, a tool's result, or text."""

    id: UUID
    role: MessageRole
    text: str
    state: MessageState
    tool_calls: tuple[dict[str, Any], ...]
    tool_call_id: str
    mentions: tuple[MentionView, ...]
    recall_id: UUID | None
    degraded: bool


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn: the user's message, the agent's steps, and its answer. `answer_state` is None without an answer.

    `memory_tokens` is the number of prompt tokens that memories took, if it was counted. `own` is False if somebody
    else than the owner and this agent wrote one of its messages; a model sees such a turn only as a quoted record.
    `replaced_by` is the turn that the member put in its place.
    `shown` are the memories that the prompt or the answer held without a recall.
    """

    session_id: UUID
    turn: int
    message_id: UUID
    episode_id: UUID | None
    speaker: str
    text: str
    state: MessageState
    said_at: datetime
    steps: tuple[StepView, ...]
    answer_id: UUID | None
    answer: str
    answer_state: MessageState | None
    error: str
    took_ms: float | None
    sensitivity: Mapping[str, str] = field(default_factory=dict)
    memory_tokens: int | None = None
    own: bool = True
    replaced_by: int | None = None
    shown: tuple[MentionView, ...] = ()

    @property
    def masked(self) -> tuple[str, ...]:
        """The kinds of sensitive values that were masked in the message before it was stored."""
        return tuple(kind for kind, becomes in self.sensitivity.items() if becomes == Handling.MASK)

    @property
    def mentions(self) -> tuple[MentionView, ...]:
        """All memories of the turn, in order of appearance."""
        return (*(mention for step in self.steps for mention in step.mentions), *self.shown)

    def having(self, *relations: Relation) -> tuple[MentionView, ...]:
        """The distinct memories of the turn with one of `relations`."""
        chosen = {m.memory_id: m for m in reversed(self.mentions) if m.relation in relations}
        return tuple(reversed(chosen.values()))

    @property
    def made_from(self) -> tuple[MentionView, ...]:
        """The memories that the answer was made from, the recalled ones first."""
        given = (*self.having(Relation.RECALLED), *self.having(Relation.SHOWN))
        return tuple({mention.memory_id: mention for mention in given if mention.used}.values())

    @property
    def looked_at(self) -> tuple[MentionView, ...]:
        """The memories that were recalled, that the answer was not made from, and that the turn did not change."""
        other = {mention.memory_id for mention in self.mentions if mention.relation not in _GIVEN or mention.used}
        return tuple(each for each in self.having(Relation.RECALLED) if each.memory_id not in other)

    @property
    def degraded(self) -> bool:
        """Whether a recall of this turn ran without the search plane."""
        return any(step.degraded for step in self.steps)


def list_sessions(principal: Principal) -> QuerySet[Session]:
    """The principal's sessions, latest first, without temporary chats."""
    principal.require(Right.READ)
    return Session.objects.of(principal).filter(temporary=False).order_by("-last_turn_at", "id")


def search_sessions(principal: Principal, query: str = "") -> QuerySet[Session]:
    """The principal's sessions, latest first; each word of `query` must occur in the title or in a message."""
    sessions = list_sessions(principal)
    for word in query.split():
        said = Message.objects.of(principal).filter(session=OuterRef("pk"), role__in=_SPOKEN, text__icontains=word)
        sessions = sessions.filter(Q(title__icontains=word) | Exists(said))
    return sessions


def with_found_words(principal: Principal, sessions: QuerySet[Session], words: Sequence[str]) -> QuerySet[Session]:
    """The sessions with the first message that holds any of `words` as `found`; None where only the title does."""
    holds = Q()
    for word in words:
        holds |= Q(text__icontains=word)
    said = Message.objects.of(principal).filter(holds, session=OuterRef("pk"), role__in=_SPOKEN)
    return sessions.annotate(found=Subquery(said.order_by("turn", "step").values("text")[:1]))


def get_session(principal: Principal, session_id: UUID) -> Session:
    """One session. Raises NotFound for unknown and foreign ids alike, and to staff for temporary chats."""
    principal.require(Right.READ)
    session = own_session(principal, session_id)
    if session.temporary and principal.actor_kind is ActorKind.STAFF:
        raise NotFound("session")
    return session


def own_session(principal: Principal, session_id: UUID) -> Session:
    """One session, for services that check other rights. Raises NotFound."""
    return existing(_SESSION.first(principal.tenant_id, principal.user_id, session_id), "session")


def find_session(principal: Principal, external_id: str) -> Session | None:
    """The session with the caller's own id, or with this UUID; None if the principal has no such session."""
    rows = Session.objects.of(principal)
    found = rows.filter(external_id=external_id).first()
    if found is not None:
        return found
    try:
        return rows.filter(pk=UUID(external_id)).first()
    except ValueError:
        return None


def last_said(principal: Principal, session: Session, count: int) -> list[tuple[str, str]]:
    """Role and text of the last messages of a session, in order."""
    rows = Message.objects.of(principal).filter(session=session).order_by("-turn", "-step")
    return list(rows.values_list("role", "text")[:count])[::-1]


def _session(tenant_id: UUID, user_id: UUID, session_id: UUID) -> QuerySet[Session]:
    return Session.objects.of_owner(tenant_id, user_id).filter(pk=session_id).order_by()


_SESSION = Prepared(_session)


def transcript(
    principal: Principal,
    session_id: UUID,
    *,
    last: int | None = None,
    before: int | None = None,
    replaced: bool = False,
) -> tuple[TurnView, ...]:
    """The turns of a session in order: the `last` ones of those `before` a turn. Raises NotFound.

    With `replaced`, also the turns and answers that the member replaced, which only staff see. Runs up to four queries
    and one for each kind of memory mentioned, plus one for each further MOST_IDS ids.
    """
    get_session(principal, session_id)
    place = (principal.tenant_id, principal.user_id, session_id)
    after = None
    if last is not None:
        newest = _NEWEST.values(*place, before)
        after = newest[0][0] - last if newest else None
    return _with_memories(principal, (_EVERY if replaced else _MESSAGES).all(*place, before, after))


def conversation(principal: Principal, session_id: UUID, *, last: int, before: int) -> tuple[TurnView, ...]:
    """Messages and answers of the `last` turns before turn `before`, without tools and memories; one query."""
    place = (principal.tenant_id, principal.user_id, session_id)
    return _turns(_SAID.all(*place, before, before - last - 1), (), {})


def find_turn(principal: Principal, session_id: UUID, turn: int, *, replaced: bool = False) -> TurnView:
    """One turn of a session; with `replaced`, also one that the member replaced. Raises NotFound."""
    get_session(principal, session_id)
    place = (principal.tenant_id, principal.user_id, session_id)
    turns = _with_memories(principal, (_EVERY if replaced else _MESSAGES).all(*place, turn + 1, turn - 1))
    if not turns:
        raise NotFound("turn")
    return turns[0]


def _between(
    tenant_id: UUID, user_id: UUID, session_id: UUID, before: int | None, after: int | None = None
) -> QuerySet[Message]:
    rows = Message.objects.of_owner(tenant_id, user_id).filter(session_id=session_id)
    if before is not None:
        rows = rows.filter(turn__lt=before)
    return rows if after is None else rows.filter(turn__gt=after)


def _messages(
    tenant_id: UUID, user_id: UUID, session_id: UUID, before: int | None, after: int | None
) -> QuerySet[Message]:
    """The messages between two turns, both exclusive, without replaced ones, each with the id of its episode."""
    return _every(tenant_id, user_id, session_id, before, after).filter(replaced_by=None)


def _every(
    tenant_id: UUID, user_id: UUID, session_id: UUID, before: int | None, after: int | None
) -> QuerySet[Message]:
    """The same messages, and those that were replaced."""
    rows = _between(tenant_id, user_id, session_id, before, after).order_by("turn", "step")
    return rows.annotate(episode_pk=F("episode__pk"))


def _said(tenant_id: UUID, user_id: UUID, session_id: UUID, before: int | None, after: int | None) -> QuerySet[Message]:
    """The same messages without tool results."""
    return _messages(tenant_id, user_id, session_id, before, after).exclude(role=MessageRole.TOOL)


def _newest(tenant_id: UUID, user_id: UUID, session_id: UUID, before: int | None) -> QuerySet[Message, Any]:
    return _between(tenant_id, user_id, session_id, before).order_by("-turn").values_list("turn")[:1]


def _mentions(tenant_id: UUID, user_id: UUID, messages: list[UUID]) -> QuerySet[Mention]:
    rows = Mention.objects.of_owner(tenant_id, user_id)
    return rows.filter(message__in=messages).order_by("position", "id")


_MESSAGES = Prepared(_messages)
_EVERY = Prepared(_every)
_SAID = Prepared(_said)
_NEWEST = Prepared(_newest)
_MENTIONS = Prepared(_mentions)


def turn_as_stored(
    messages: Sequence[Message], mentions: Iterable[Mention], memories: Mapping[UUID, Memory]
) -> TurnView:
    """Build one turn from rows that were just stored for it, the user's message first."""
    (view,) = _turns(messages, mentions, memories)
    return view


def _with_memories(principal: Principal, rows: Sequence[Message]) -> tuple[TurnView, ...]:
    mentions: list[Mention] = []
    for start in range(0, len(rows), MOST_IDS):
        some = [row.pk for row in rows[start : start + MOST_IDS]]
        mentions += _MENTIONS.all(principal.tenant_id, principal.user_id, some)
    return _turns(rows, mentions, _memories(principal, mentions))


def _turns(
    rows: Iterable[Message], mentions: Iterable[Mention], memories: Mapping[UUID, Memory]
) -> tuple[TurnView, ...]:
    by_message: dict[UUID, list[MentionView]] = defaultdict(list)
    for mention in mentions:
        by_message[mention.message_id].append(
            MentionView(
                Relation(mention.relation),
                Kind(mention.kind),
                mention.memory_id,
                memories.get(mention.memory_id),
                tuple(mention.reasons),
                mention.used,
            )
        )
    turns: dict[int, list[Message]] = defaultdict(list)
    for row in rows:
        turns[row.turn].append(row)
    return tuple(_turn(group, by_message) for group in turns.values() if group[0].step == 0)


def _memories(principal: Principal, mentions: Iterable[Mention]) -> dict[UUID, Memory]:
    ids: dict[Kind, set[UUID]] = defaultdict(set)
    for mention in mentions:
        ids[Kind(mention.kind)].add(mention.memory_id)
    return memories_by_id(principal, ids)


def _turn(messages: Sequence[Message], mentions: dict[UUID, list[MentionView]]) -> TurnView:
    """Build a turn from its messages.

    An imported conversation may start with the assistant, or have an answer of several messages.
    """
    said = messages[0]
    rest = messages if said.role == MessageRole.ASSISTANT else messages[1:]
    standing = (message.replaced_by == said.replaced_by and _is_answer(message) for message in reversed(rest))
    answers = rest[len(rest) - sum(1 for _ in takewhile(bool, standing)) :]
    answer = answers[-1] if answers else None
    return TurnView(
        session_id=said.session_id,
        turn=said.turn,
        message_id=said.pk,
        episode_id=getattr(said, "episode_pk", None),
        speaker=said.speaker,
        text=said.text if said.role == MessageRole.USER else "",
        state=MessageState(said.state),
        said_at=said.created_at,
        steps=tuple(_step(message, mentions) for message in rest[: len(rest) - len(answers)]),
        answer_id=answer.pk if answer else None,
        answer="\n\n".join(message.text for message in answers if message.text),
        answer_state=MessageState(answer.state) if answer else None,
        error=answer.error if answer else "",
        took_ms=answer.took_ms if answer else None,
        sensitivity=said.sensitivity if said.role == MessageRole.USER else {},
        memory_tokens=answer.memory_tokens if answer else None,
        own=all(message.own for message in messages),
        replaced_by=said.replaced_by,
        shown=tuple(mention for message in answers for mention in mentions.get(message.pk, ())),
    )


def _is_answer(message: Message) -> bool:
    return message.role == MessageRole.ASSISTANT and not message.tool_calls


def _step(message: Message, mentions: dict[UUID, list[MentionView]]) -> StepView:
    return StepView(
        id=message.pk,
        role=MessageRole(message.role),
        text=message.text,
        state=MessageState(message.state),
        tool_calls=tuple(message.tool_calls),
        tool_call_id=message.tool_call_id,
        mentions=tuple(mentions.get(message.pk, ())),
        recall_id=message.recall_id,
        degraded=message.degraded,
    )
