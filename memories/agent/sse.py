"""Events as JSON and as server-sent events: what the chat page's script and API clients read.

Each frame is `event: <type>`, one `data:` line of JSON, and an empty line. The JSON always holds its own `type`.
Ids are UUID strings, times ISO 8601 with a zone, absent values null. The shapes, by type:

    turn_started      session_id, turn (int), message_id, episode_id|null, masked: [kind],
                      text (what was stored, where something was masked; else absent)
    stage             doing: "recalling" | "thinking" | "writing"
    notice            kind: "offline" | "degraded" | "closed" | "erased" | "masked", text
    memories_recalled automatic (bool), trace_id, query, degraded (bool), took_ms, items: [item]
    text_delta        text
    memory_written    result: "created" | "merged" | "superseded" | "blocked" | "queued_for_review",
                      kind, id, key, text, reason, superseded: [{id, text}]
    memories_retired  kind, harsh (bool: they never were true), ended: [{id, text}]
    memory_forgotten  kind, id, text, erased: [{kind, id}]
    task_changed      goal, steps (int), done (int), current, finished (bool)
    turn_finished     message_id, state: "complete" | "cut_off", took_ms, used, wrote, replaced (ints), masked: [kind],
                      text (the answer as stored, where something was masked in it; else absent)
    turn_failed       message, retryable (bool)

    item              rank (int, from 1), kind: "episodic" | "semantic" | "procedural" | "catalog", id, text, title,
                      key, speaker,
                      since|null, until|null, status, scope, session_id|null, superseded_by|null, retracted (bool),
                      confidence|null, trigger, steps: [str], success_count, failure_count, reasons: [str]

A turn is turn_started, any of the middle ones, then one turn_finished or turn_failed. Clients ignore types and members
that they do not know.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from typing import Any

from memories.agent.events import (
    Event,
    MemoriesRecalled,
    MemoriesRetired,
    MemoryForgotten,
    MemoryWritten,
    Notice,
    Stage,
    TaskChanged,
    TextDelta,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from memories.types import Recall, Recalled

CONTENT_TYPE = "text/event-stream; charset=utf-8"

_TYPES: dict[type[Event], str] = {
    TurnStarted: "turn_started",
    Stage: "stage",
    Notice: "notice",
    MemoriesRecalled: "memories_recalled",
    TextDelta: "text_delta",
    MemoryWritten: "memory_written",
    MemoriesRetired: "memories_retired",
    MemoryForgotten: "memory_forgotten",
    TaskChanged: "task_changed",
    TurnFinished: "turn_finished",
    TurnFailed: "turn_failed",
}


def frames(events: Iterator[Event]) -> Generator[bytes]:
    """The body of a `text/event-stream` response. Closing it closes `events`, so a turn learns that nobody listens."""
    try:
        for event in events:
            yield frame(event)
    finally:
        if isinstance(events, Generator):
            events.close()


def frame(event: Event) -> bytes:
    """One event as a server-sent event. JSON escapes line breaks, so the data is always one line."""
    data = json.dumps(to_json(event), ensure_ascii=False, separators=(",", ":"))
    return f"event: {type_of(event)}\ndata: {data}\n\n".encode()


def type_of(event: Event) -> str:
    """The name of an event on the wire."""
    return _TYPES[type(event)]


def to_json(event: Event) -> dict[str, Any]:
    """One event as plain values, with its `type`; see the module's docstring for the shapes."""
    return {"type": type_of(event), **_members(event)}


def _members(event: Event) -> dict[str, Any]:
    members: dict[str, Any]
    match event:
        case TurnStarted():
            members = {
                "session_id": str(event.session_id),
                "turn": event.turn,
                "message_id": str(event.message_id),
                "episode_id": _text(event.episode_id),
                **_masked(event),
            }
        case Stage():
            members = {"doing": event.doing.value}
        case Notice():
            members = {"kind": event.kind.value, "text": event.text}
        case MemoriesRecalled():
            members = {"automatic": event.automatic, **recall_to_json(event.recall)}
        case TextDelta():
            members = {"text": event.text}
        case MemoryWritten():
            members = _written(event)
        case MemoriesRetired():
            members = {
                "kind": event.kind.value,
                "harsh": event.harsh,
                "ended": [{"id": str(memory_id), "text": text} for memory_id, text in event.ended],
            }
        case MemoryForgotten():
            members = {
                "kind": event.kind.value,
                "id": str(event.memory_id),
                "text": event.text,
                "erased": [{"kind": kind.value, "id": str(memory_id)} for kind, memory_id in event.erased],
            }
        case TaskChanged():
            members = {
                "goal": event.goal,
                "steps": event.steps,
                "done": event.done,
                "current": event.current,
                "finished": event.finished,
            }
        case TurnFinished():
            members = {
                "message_id": str(event.message_id),
                "state": event.state.value,
                "took_ms": round(event.took_ms, 1),
                "used": event.used,
                "wrote": event.wrote,
                "replaced": event.replaced,
                **_masked(event),
            }
        case TurnFailed():
            members = {"message": event.message, "retryable": event.retryable}
    return members


def _masked(event: TurnStarted | TurnFinished) -> dict[str, Any]:
    """The kinds that were taken out and, if any were, the words without them."""
    return {"masked": list(event.masked), "text": event.text} if event.masked else {"masked": []}


def _written(event: MemoryWritten) -> dict[str, Any]:
    return {
        "result": event.outcome.result.value,
        "kind": event.outcome.kind.value,
        "id": str(event.outcome.memory_id),
        "key": event.key,
        "text": event.text,
        "reason": event.outcome.reason,
        "superseded": [{"id": str(memory_id), "text": text} for memory_id, text in event.superseded],
    }


def recall_to_json(recall: Recall) -> dict[str, Any]:
    """A recall as plain values."""
    return {
        "trace_id": str(recall.trace_id),
        "query": recall.query,
        "degraded": recall.degraded,
        "took_ms": round(recall.took_ms, 1),
        "items": [{"rank": rank, **item_to_json(item)} for rank, item in enumerate(recall.items, start=1)],
    }


def item_to_json(item: Recalled) -> dict[str, Any]:
    """One recalled memory as plain values; its score and signals stay in the trace."""
    return {
        "kind": item.kind.value,
        "id": str(item.id),
        "text": item.text,
        "title": item.title,
        "key": item.key,
        "speaker": item.speaker,
        "since": item.since.isoformat() if item.since else None,
        "until": item.until.isoformat() if item.until else None,
        "status": item.status.value,
        "scope": item.scope.value,
        "session_id": _text(item.session_id),
        "superseded_by": _text(item.superseded_by),
        "retracted": item.retracted,
        "confidence": item.confidence,
        "trigger": item.trigger,
        "steps": list(item.steps),
        "success_count": item.success_count,
        "failure_count": item.failure_count,
        "reasons": list(item.reasons),
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)
