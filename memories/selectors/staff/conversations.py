"""Conversations as staff look through them: the list with what happened in each, and one turn with all behind it.

Invariant: everything is reached through the principal's own session; a turn of another owner is as one that is not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet

from memories.errors import NotFound
from memories.models import Mention, Message, MessageRole, MessageState, RecallTrace, Session
from memories.selectors.memories import Memory, find_memory, memories_by_id
from memories.selectors.sessions import TurnView, find_turn, get_session, list_sessions
from memories.types import Kind
from tenants.principal import Principal, Right

_ENDED_BADLY = (MessageState.FAILED, MessageState.CUT_OFF)
_SAID = (MessageRole.USER, MessageRole.ASSISTANT)


@dataclass(frozen=True, slots=True)
class Digest:
    """What happened in a session: its turns, the answers that failed or were cut off, the degraded recalls."""

    turns: int = 0
    failed: int = 0
    degraded: int = 0


@dataclass(frozen=True, slots=True)
class TracedRecall:
    """One recall of a turn as it was recorded; `memories` are those of its candidates that are still there."""

    trace: RecallTrace
    memories: Mapping[UUID, Memory]

    @property
    def scores(self) -> dict[UUID, float]:
        """The score of each candidate."""
        return {UUID(line["id"]): float(line["score"]) for line in self.trace.candidates}


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A turn with its recalls, by the id of their trace, and the turns before and after it."""

    session: Session
    view: TurnView
    recalls: Mapping[UUID, TracedRecall]
    previous: int | None
    following: int | None


def conversations(principal: Principal, query: str = "") -> QuerySet[Session]:
    """The principal's sessions, latest first; each word of `query` is in the title or in what was said or answered."""
    sessions = list_sessions(principal)
    for word in query.split():
        said = Message.objects.of(principal).filter(session=OuterRef("pk"), role__in=_SAID, text__icontains=word)
        sessions = sessions.filter(Q(title__icontains=word) | Exists(said))
    return sessions


def digests(principal: Principal, sessions: Iterable[Session]) -> dict[UUID, Digest]:
    """What happened in each of these; one query."""
    rows = (
        _messages_in(principal, (session.pk for session in sessions))
        .order_by()
        .values("session_id")
        .annotate(
            turns=Count("turn", distinct=True),
            failed=Count("pk", filter=Q(state__in=_ENDED_BADLY)),
            degraded_recalls=Count("pk", filter=Q(degraded=True)),
        )
    )
    return {row["session_id"]: Digest(row["turns"], row["failed"], row["degraded_recalls"]) for row in rows}


def turn_record(principal: Principal, session_id: UUID, turn: int) -> TurnRecord:
    """One turn with everything behind it. Raises NotFound."""
    view = find_turn(principal, session_id, turn)
    session = get_session(principal, session_id)
    beside = (
        Message.objects.of(principal)
        .filter(session=session)
        .aggregate(previous=Max("turn", filter=Q(turn__lt=turn)), following=Min("turn", filter=Q(turn__gt=turn)))
    )
    return TurnRecord(session, view, _recalls(principal, view), **beside)


def mentions_of(principal: Principal, memory_id: UUID) -> tuple[Memory | None, QuerySet[Mention]]:
    """A memory, and where it came up, latest first. None: it was forgotten, and what it came up in still knows its id.

    Raises NotFound for an id that was never the principal's to see.
    """
    mentions = (
        Mention.objects.of(principal).filter(memory_id=memory_id).select_related("message__session").order_by("-id")
    )
    try:
        return find_memory(principal, memory_id), mentions
    except NotFound:
        if not mentions.exists():
            raise
        return None, mentions


def exchanges_of(principal: Principal, mentions: Iterable[Mention]) -> dict[tuple[UUID, int], tuple[str, str]]:
    """What was said and what was answered in the turns of these mentions, by session and turn; one query."""
    turns = {(mention.message.session_id, mention.message.turn) for mention in mentions}
    messages = (
        _messages_in(principal, {session for session, _ in turns})
        .filter(turn__in={turn for _, turn in turns}, role__in=_SAID)
        .order_by("step")
        .values_list("session_id", "turn", "role", "text")
    )
    told: dict[tuple[UUID, int], tuple[str, str]] = dict.fromkeys(turns, ("", ""))
    for session, turn, role, text in messages:
        if (session, turn) in turns and text:
            question, answer = told[session, turn]
            told[session, turn] = (text, answer) if role == MessageRole.USER else (question, text)
    return told


def _messages_in(principal: Principal, session_ids: Iterable[UUID]) -> QuerySet[Message]:
    """By their sessions, which are the principal's own: a search by the owner would walk through all that they said."""
    principal.require(Right.READ)
    sessions = Session.objects.of(principal).filter(pk__in=list(session_ids))
    return Message.objects.unscoped("rows of a session under the lock").filter(session__in=sessions)


def _recalls(principal: Principal, view: TurnView) -> dict[UUID, TracedRecall]:
    asked = {step.recall_id for step in view.steps if step.recall_id is not None}
    traces = {trace.pk: trace for trace in RecallTrace.objects.of(principal).filter(pk__in=asked)} if asked else {}
    memories = memories_by_id(principal, _candidates(traces.values()))
    return {pk: TracedRecall(trace, memories) for pk, trace in traces.items()}


def _candidates(traces: Iterable[RecallTrace]) -> Mapping[Kind, set[UUID]]:
    ids: dict[Kind, set[UUID]] = defaultdict(set)
    lines: Iterable[dict[str, Any]] = (line for trace in traces for line in trace.candidates)
    for line in lines:
        ids[Kind(line["kind"])].add(UUID(line["id"]))
    return ids
