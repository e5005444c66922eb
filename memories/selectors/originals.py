"""Whether what was masked is kept."""

from __future__ import annotations

from uuid import UUID

from memories.models import SealedOriginal
from tenants.principal import Principal, Right


def has_original(principal: Principal, memory_id: UUID) -> bool:
    """Whether the original of an own memory is kept; opening it is for `services/originals.py`."""
    principal.require(Right.READ)
    return SealedOriginal.objects.of(principal).filter(memory_id=memory_id).exists()
