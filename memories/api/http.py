"""Answers of the API: a turn folded into one, memories in the shape of their kind, and who may change which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    to_json,
)
from memories.api.problems import TurnNotAnswered
from memories.api.serializers.memories import MEMORY_SERIALIZERS, WriteOutcomeSerializer
from memories.selectors.history.stories import supporting_episodes
from memories.selectors.memories import Memory, find_memory, get_memory, is_shared
from memories.services.write import shared_scopes
from memories.types import Kind, Recall, WriteOutcome
from tenants.errors import Forbidden
from tenants.principal import Principal

_SHARED = "This memory is shared; it cannot be changed here."


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


def rendered(principal: Principal, memory: Memory) -> dict[str, Any]:
    """One memory."""
    return rendered_all(principal, [memory])[0]


def rendered_all(principal: Principal, memories: Sequence[Memory]) -> list[dict[str, Any]]:
    """Memories in their order; one query for the words behind the facts among them."""
    facts = [memory.pk for memory in memories if memory.kind is Kind.SEMANTIC]
    context = {"support": supporting_episodes(principal, facts) if facts else {}}
    return [dict(MEMORY_SERIALIZERS[memory.kind](memory, context=context).data) for memory in memories]


def written(principal: Principal, outcome: WriteOutcome) -> dict[str, Any]:
    """What a write did, with the memory as it is now."""
    memory = get_memory(principal, outcome.kind, outcome.memory_id)
    return {**WriteOutcomeSerializer(outcome).data, "memory": rendered(principal, memory)}


def memory_to_change(principal: Principal, memory_id: UUID) -> Memory:
    """One of the caller's own, or a shared one that they may change. Raises NotFound, or Forbidden as `own_memory`."""
    memory = find_memory(principal, memory_id)
    if is_shared(memory) and memory.scope not in shared_scopes(principal):
        raise Forbidden(_SHARED)
    return memory


def own_memory(principal: Principal, memory_id: UUID) -> Memory:
    """A memory of the caller's own. Raises NotFound, or Forbidden for one that they see because it is shared."""
    memory = find_memory(principal, memory_id)
    if is_shared(memory):
        raise Forbidden(_SHARED)
    return memory
