"""A turn's events folded into one answer, for callers who want it whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any
from uuid import UUID

from memories.agent.events import (
    Event,
    MemoriesRecalled,
    MemoriesRetired,
    MemoryForgotten,
    MemoryWritten,
    Notice,
    TextDelta,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from memories.agent.sse import to_json
from memories.api.problems import TurnNotAnswered
from memories.types import Recall


def whole_answer(events: Iterable[Event]) -> dict[str, Any]:
    """The members of an Answer. Raises TurnNotAnswered, naming the stored turn, if there is no whole answer."""
    answer: dict[str, Any] = {"recalled": [], "written": [], "retired": [], "forgotten": [], "notices": []}
    pieces: list[str] = []
    stored = ""
    for event in events:
        match event:
            case TurnStarted() | TurnFinished():
                finished = isinstance(event, TurnFinished)
                answer |= _named(to_json(event), finished=finished)
                stored = event.text if finished else ""
            case TextDelta():
                pieces.append(event.text)
            case MemoriesRecalled():
                answer["recalled"] += recalled(event.recall)
            case MemoryWritten():
                answer["written"].append(to_json(event))
            case MemoriesRetired():
                answer["retired"].append(to_json(event))
            case MemoryForgotten():
                answer["forgotten"] += to_json(event)["erased"]
            case Notice():
                answer["notices"].append(to_json(event))
            case TurnFailed():
                raise TurnNotAnswered(
                    event.message,
                    session_id=answer.get("session_id"),
                    turn=answer.get("turn"),
                    retryable=event.retryable,
                )
    return answer | {"answer": stored or "".join(pieces), "recalled": _distinct(answer["recalled"])}


def recalled(recall: Recall) -> list[dict[str, Any]]:
    """The items of a recall as `RecalledSerializer` takes them, with their ranks."""
    return [
        {"rank": rank, **{field.name: getattr(item, field.name) for field in fields(item)}}
        for rank, item in enumerate(recall.items, start=1)
    ]


def _named(event: Mapping[str, Any], *, finished: bool) -> dict[str, Any]:
    if not finished:
        named = {name: event[name] for name in ("session_id", "turn", "message_id", "episode_id", "masked")}
        return named | {"message": event.get("text")}
    return {"answer_id": event["message_id"], "state": event["state"], "took_ms": event["took_ms"]}


def _distinct(items: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each memory once, where it first came up."""
    first: dict[UUID, dict[str, Any]] = {}
    for item in items:
        first.setdefault(item["id"], item)
    return [item | {"rank": rank} for rank, item in enumerate(first.values(), start=1)]
