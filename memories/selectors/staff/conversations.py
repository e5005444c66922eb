"""Conversations for staff: the list, one turn with its recalls, and the turns in which a memory was used.

Rows are reached through the principal's own sessions, so that a turn of another owner raises NotFound.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from itertools import accumulate
from typing import Any
from uuid import UUID

from django.db.models import Count, DateField, Max, Min, Q, QuerySet
from django.db.models.functions import Cast

from memories.errors import NotFound
from memories.models import (
    CatalogEntry,
    Episode,
    Fact,
    Mention,
    Message,
    MessageRole,
    MessageState,
    Playbook,
    RecallTrace,
    Relation,
    Session,
)
from memories.models.base import MemoryRow
from memories.selectors.history.stories import questions_of
from memories.selectors.memories import Memory, find_memory, memories_by_id, messages_using
from memories.selectors.paging import page_of
from memories.selectors.sessions import TurnView, find_turn, get_session
from memories.types import Kind
from tenants.principal import Principal, Right

_ENDED_BADLY = (MessageState.FAILED, MessageState.CUT_OFF)
_SAID = (MessageRole.USER, MessageRole.ASSISTANT)


@dataclass(frozen=True, slots=True)
class Digest:
    """Counts for a session: turns, messages that failed or were cut off, and degraded recalls."""

    turns: int = 0
    failed: int = 0
    degraded: int = 0


@dataclass(frozen=True, slots=True)
class TracedRecall:
    """A recorded recall of a turn; `memories` are its candidates that still exist."""

    trace: RecallTrace
    memories: Mapping[UUID, Memory]

    @property
    def scores(self) -> dict[UUID, float]:
        """The score of each candidate."""
        return {UUID(line["id"]): float(line["score"]) for line in self.trace.candidates}


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A turn, its recalls by id of their trace, and the numbers of the turns before and after it."""

    session: Session
    view: TurnView
    recalls: Mapping[UUID, TracedRecall]
    previous: int | None
    following: int | None


def digests(principal: Principal, sessions: Iterable[Session]) -> dict[UUID, Digest]:
    """Counts for each of these sessions; one query."""
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
    """One turn with its recalls. Raises NotFound."""
    view = find_turn(principal, session_id, turn, replaced=True)
    session = get_session(principal, session_id)
    beside = (
        Message.objects.of(principal)
        .filter(session=session)
        .aggregate(previous=Max("turn", filter=Q(turn__lt=turn)), following=Min("turn", filter=Q(turn__gt=turn)))
    )
    return TurnRecord(session, view, _recalls(principal, view), **beside)


def mentions_of(principal: Principal, memory_id: UUID) -> tuple[Memory | None, QuerySet[Mention]]:
    """A memory and its mentions, latest first; None for a memory that was forgotten but still has mentions.

    Raises NotFound for an unknown or foreign id.
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
    """The question and the answer of the turns of these mentions, by session and turn; one query."""
    turns = {(mention.message.session_id, mention.message.turn) for mention in mentions}
    messages = (
        _messages_in(principal, {session for session, _ in turns})
        .filter(turn__in={turn for _, turn in turns}, role__in=_SAID)
        .order_by("step")
        .values_list("session_id", "turn", "role", "text")
    )
    exchanges: dict[tuple[UUID, int], tuple[str, str]] = dict.fromkeys(turns, ("", ""))
    for session, turn, role, text in messages:
        if (session, turn) in turns and text:
            question, answer = exchanges[session, turn]
            exchanges[session, turn] = (text, answer) if role == MessageRole.USER else (question, text)
    return exchanges


def _messages_in(principal: Principal, session_ids: Iterable[UUID]) -> QuerySet[Message]:
    """The messages of these sessions, if they are the principal's own.

    The query has no condition on the owner, because its index would read all of the owner's messages.
    """
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


# A memory's page lists this many sources, and this many memories learned from it.
MOST_LINKED = 50
_ALIKE = 24  # characters of the question to compare with the title


@dataclass(frozen=True, slots=True)
class AnswerUse:
    """A turn in which a memory was recalled. `question` is empty if it was forgotten.

    `used` says whether the answer used the memory; None means unknown. `reasons` say why it was recalled.
    """

    session_id: UUID
    turn: int
    question: str
    at: datetime
    conversation: str
    used: bool | None
    reasons: tuple[str, ...]


def uses_of(principal: Principal, memory_id: UUID, *, limit: int) -> tuple[tuple[AnswerUse, ...], bool]:
    """The latest uses within `limit` messages, one for each turn, and whether there are more. Three queries."""
    page = page_of(messages_using(principal, memory_id).order_by("-created_at", "id"), limit=limit)
    questions = {(asked.session_id, asked.turn): asked for asked in questions_of(principal, page.rows)}
    recalled = Mention.objects.of(principal).filter(
        message__in=[message.pk for message in page.rows], memory_id=memory_id, relation=Relation.RECALLED
    )
    mentions = {mention.message_id: mention for mention in recalled.order_by("-position")}
    uses: dict[tuple[UUID, int], AnswerUse] = {}
    for message in page.rows:
        place = (message.session_id, message.turn)
        asked, mention = questions.get(place), mentions.get(message.pk)
        uses.setdefault(
            place,
            AnswerUse(
                session_id=message.session_id,
                turn=message.turn,
                question=asked.text if asked else "",
                at=message.created_at,
                conversation=_title(message.session.title, asked.text if asked else ""),
                used=mention.used if mention else None,
                reasons=tuple(mention.reasons) if mention else (),
            ),
        )
    return tuple(uses.values()), bool(page.next_cursor)


def _title(title: str, question: str) -> str:
    """The title of a conversation; empty if it only repeats the start of the question."""
    return "" if question.startswith(title.rstrip("….")[:_ALIKE]) else title


def learned_from(principal: Principal, episode: Episode) -> tuple[Fact | Playbook, ...]:
    """The principal's facts and playbooks that were learned from an episode, newest first; two queries."""
    principal.require(Right.READ)
    found: list[Fact | Playbook] = [
        row
        for model in (Fact, Playbook)
        for row in model.objects.of(principal).filter(supporting_episodes=episode).order_by("-learned_at")[:MOST_LINKED]
    ]
    return tuple(found)


# The start of a memory by kind: an episode starts when it was said, not when it was imported.
_BEGAN: tuple[tuple[type[MemoryRow], str], ...] = (
    (Episode, "happened_at"),
    (Fact, "learned_at"),
    (Playbook, "learned_at"),
    (CatalogEntry, "created_at"),
)


def kept_by_day(tenants: Collection[UUID], days: Sequence[date]) -> Mapping[Kind, list[int]]:
    """The number of memories of each kind at the end of each day (UTC); two queries for each kind.

    `days` must be consecutive. Only memories that still exist are counted, from the day they began.
    """
    found: dict[Kind, list[int]] = {}
    since = datetime.combine(days[0], time(), UTC)
    for model, column in _BEGAN:
        rows = model.objects.unscoped("staff look at their tenants").filter(tenant_id__in=list(tenants)).order_by()
        late = rows.filter(**{f"{column}__gte": since}).annotate(day=Cast(column, DateField()))
        new = dict(late.values_list("day").annotate(count=Count("*")))
        before = rows.filter(**{f"{column}__lt": since}).count()
        found[model.kind] = list(accumulate((new.get(day, 0) for day in days), initial=before))[1:]
    return found
