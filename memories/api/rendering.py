"""Memories as their kind's shape, and which of them a caller may change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from memories.api.serializers.memories import MEMORY_SERIALIZERS, OutcomeSerializer
from memories.selectors.history.stories import supporting_episodes
from memories.selectors.memories import Memory, find_memory, get_memory, is_shared
from memories.services.ownership import shared_scopes
from memories.types import Kind, WriteOutcome
from tenants.errors import Forbidden
from tenants.principal import Principal


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
    return {**OutcomeSerializer(outcome).data, "memory": rendered(principal, memory)}


def memory_to_change(principal: Principal, memory_id: UUID) -> Memory:
    """One of the caller's own, or a shared one that they may change. Raises NotFound, or Forbidden as `own_memory`."""
    memory = find_memory(principal, memory_id)
    return memory if memory.scope in shared_scopes(principal) else own_memory(principal, memory_id)


def own_memory(principal: Principal, memory_id: UUID) -> Memory:
    """A memory that the caller may change. Raises NotFound, or Forbidden for one that they see because it is shared."""
    memory = find_memory(principal, memory_id)
    if is_shared(memory):
        raise Forbidden("This memory is shared; it cannot be changed here.")
    return memory
