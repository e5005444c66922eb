"""The events of a turn that is being answered, and their form as JSON and as server-sent events.

A turn is one TurnStarted, any of the others, then one TurnFinished or TurnFailed, unless the reader closed it. The loop
yields the events; the chat page's script and clients of the API read them. A Waiting between them is for whoever drives
the turn (memories/agent/streams.py), and is sent to nobody.

Each frame is `event: <type>`, one `data:` line of JSON, and an empty line. The JSON always holds its own `type`.
Ids are UUID strings, times ISO 8601 with a zone, absent values null. The shapes, by type:

    turn_started      session_id, turn (int), message_id, episode_id|null, masked: [kind],
                      text (what was stored, where something was masked; else absent)
    stage             doing: "recalling" | "thinking" | "writing"
    notice            kind: "offline" | "degraded" | "closed" | "masked", text
    memories_recalled automatic (bool), trace_id, query, degraded (bool), took_ms, items: [item]
    text_delta        text
    memory_written    result: "created" | "merged" | "superseded" | "blocked" | "queued_for_review",
                      kind, id, key, text, reason, superseded: [{id, text}]
    memories_retired  kind, harsh (bool: they never were true), ended: [{id, text}]
    forget_proposed   proposal_id, goes: [{kind, id, text}], stays: [{kind, id, text}], also: [str]; the member
                      decides (POST /api/v1/forget-proposals/{proposal_id}/confirm/ or keep/)
    task_changed      goal, steps (int), done (int), current, finished (bool)
    turn_finished     message_id, state: "complete" | "cut_off", took_ms, used, wrote, replaced (ints), masked: [kind],
                      text (the answer as stored, where something was masked in it; else absent)
    turn_failed       message, retryable (bool)

    item              rank (int, from 1), kind: "episodic" | "semantic" | "procedural" | "catalog", id, text, title,
                      key, speaker,
                      since|null, until|null, status, scope, session_id|null, superseded_by|null, retracted (bool),
                      confidence|null, trigger, steps: [str], success_count, failure_count, proposed (bool),
                      reasons: [str], metadata: {}, app

Clients ignore types and members that they do not know.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any
from uuid import UUID

from memories.llm.base import Waiting
from memories.models import MessageState, Session
from memories.models.base import MemoryRow
from memories.selectors.sessions import TurnView
from memories.types import Kind, Recall, WriteOutcome


class Doing(StrEnum):
    """The stages of an answer that the user sees while waiting."""

    RECALLING = "recalling"
    THINKING = "thinking"
    WRITING = "writing"


class NoticeKind(StrEnum):
    """The kinds of notices about an answer."""

    OFFLINE = "offline"
    DEGRADED = "degraded"
    CLOSED = "closed"
    MASKED = "masked"


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The user's message is stored. `episode_id` is None if that episode was erased.

    `masked` are the kinds of values that were masked in it; `text` is then the stored text, which clients show instead.
    """

    session_id: UUID
    turn: int
    message_id: UUID
    episode_id: UUID | None
    masked: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class StageBegun:
    """The agent starts a stage."""

    doing: Doing


@dataclass(frozen=True, slots=True)
class Notice:
    """A message about this turn: no model or search is available, the key is closed, or text was masked."""

    kind: NoticeKind
    text: str


@dataclass(frozen=True, slots=True)
class MemoriesRecalled:
    """Memories were added to the prompt, either automatically (`automatic`) or at the agent's request."""

    recall: Recall
    automatic: bool


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class MemoryWritten:
    """The agent wrote a memory or was refused (see `outcome.result`). `superseded` are the replaced (id, text)."""

    outcome: WriteOutcome
    text: str
    key: str = ""
    superseded: tuple[tuple[UUID, str], ...] = ()


@dataclass(frozen=True, slots=True)
class MemoriesRetired:
    """The agent ended memories (id, text) without a replacement. `harsh`: they were never true."""

    kind: Kind
    ended: tuple[tuple[UUID, str], ...]
    harsh: bool


@dataclass(frozen=True, slots=True)
class ForgetProposed:
    """The agent proposes to erase memories; only the member confirms it.

    `stays` were learned from the same words and would stay. `also` quotes words that no other memory would hold.
    """

    proposal_id: UUID
    goes: tuple[MemoryRow, ...]
    stays: tuple[MemoryRow, ...] = ()
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskChanged:
    """The session's task was set, advanced or `finished`. The first `done` of its `steps` are done."""

    goal: str
    steps: int = 0
    done: int = 0
    current: str = ""
    finished: bool = False


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The answer is stored. Counts of distinct memories: used in the prompt, written, replaced.

    `masked` are the kinds of values that were masked in the answer; `text` is then the stored text. `view` and
    `session` are the stored turn and its session, set only if the turn did nothing but recall.
    """

    message_id: UUID
    state: MessageState
    took_ms: float
    used: int
    wrote: int
    replaced: int
    masked: tuple[str, ...] = ()
    text: str = ""
    view: TurnView | None = field(default=None, compare=False, repr=False)
    session: Session | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The answer is incomplete; `message` tells the user why. The user's message and the streamed text are stored."""

    message: str
    retryable: bool


Event = (
    TurnStarted
    | StageBegun
    | Notice
    | MemoriesRecalled
    | TextDelta
    | MemoryWritten
    | MemoriesRetired
    | ForgetProposed
    | TaskChanged
    | TurnFinished
    | TurnFailed
    | Waiting
)


CONTENT_TYPE = "text/event-stream; charset=utf-8"

_TYPES: dict[type[Event], str] = {
    TurnStarted: "turn_started",
    StageBegun: "stage",
    Notice: "notice",
    MemoriesRecalled: "memories_recalled",
    TextDelta: "text_delta",
    MemoryWritten: "memory_written",
    MemoriesRetired: "memories_retired",
    ForgetProposed: "forget_proposed",
    TaskChanged: "task_changed",
    TurnFinished: "turn_finished",
    TurnFailed: "turn_failed",
}
# Scores and signals are only in the trace; `view` and `session` are for the chat page only.
_LEFT_OUT = frozenset({"score", "signals", "valid_from", "valid_to", "view", "session"})


def frames(events: Iterator[Event]) -> Generator[bytes | Waiting]:
    """The body of a `text/event-stream` response. Closing it also closes `events`, which ends the turn."""
    try:
        for event in events:
            yield event if isinstance(event, Waiting) else frame(event)
    finally:
        if isinstance(events, Generator):
            events.close()


def frame(event: Event) -> bytes:
    """One event as a server-sent event. JSON escapes line breaks, so the data is always one line."""
    data = json.dumps(to_json(event), ensure_ascii=False, separators=(",", ":"))
    return f"event: {type_of(event)}\ndata: {data}\n\n".encode()


def type_of(event: Event) -> str:
    """The wire name of an event."""
    return _TYPES[type(event)]


def to_json(event: Event) -> dict[str, Any]:
    """One event as a JSON object with its `type`. The module docstring lists the shapes."""
    return {"type": type_of(event), **_members(event)}


def _members(event: Event) -> dict[str, Any]:
    match event:
        case TurnStarted() | TurnFinished():
            members = _object(event)
            if not event.masked:
                del members["text"]
            if isinstance(event, TurnFinished):
                members["took_ms"] = round(event.took_ms, 1)
            return members
        case MemoriesRecalled(recall):
            items = [{"rank": rank, **_object(item)} for rank, item in enumerate(recall.items, start=1)]
            return {
                "automatic": event.automatic,
                "trace_id": str(recall.trace_id),
                "query": recall.query,
                "degraded": recall.degraded,
                "took_ms": round(recall.took_ms, 1),
                "items": items,
            }
        case MemoryWritten(outcome, text, key, superseded):
            return {
                "result": outcome.result.value,
                "kind": outcome.kind.value,
                "id": str(outcome.memory_id),
                "key": key,
                "text": text,
                "reason": outcome.reason,
                "superseded": _named(superseded),
            }
        case MemoriesRetired():
            return _object(event) | {"ended": _named(event.ended)}
        case ForgetProposed():
            lists = {"goes": listed(event.goes), "stays": listed(event.stays), "also": list(event.also)}
            return {"proposal_id": str(event.proposal_id), **lists}
        case _:
            return _object(event)


def _named(memories: Iterable[tuple[UUID, str]]) -> list[dict[str, str]]:
    return [{"id": str(memory_id), "text": text} for memory_id, text in memories]


def listed(rows: Iterable[MemoryRow]) -> list[dict[str, str]]:
    """Memories by kind, id and text, as a proposal to forget lists them."""
    return [{"kind": row.kind.value, "id": str(row.pk), "text": row.searchable_text} for row in rows]


def _object(value: Any) -> dict[str, Any]:
    """A dataclass as a JSON object of its fields."""
    return {each.name: _plain(getattr(value, each.name)) for each in fields(value) if each.name not in _LEFT_OUT}


def _plain(value: Any) -> Any:
    """A value as a JSON value."""
    match value:
        case Enum():
            return value.value
        case UUID():
            return str(value)
        case datetime():
            return value.isoformat()
        case tuple() | list():
            return [_plain(inner) for inner in value]
        case _:
            return value
