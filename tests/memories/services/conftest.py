"""What the tests of several services share: rows that a turn leaves."""

from __future__ import annotations

from uuid import UUID

from memories.models import Mention, Relation
from memories.services.sessions.turns import Turn
from memories.types import Kind
from tenants.principal import Principal


def mention(principal: Principal, turn: Turn, fact_id: UUID) -> None:
    """Note that a fact was recalled for a turn."""
    owner = {"tenant_id": principal.tenant_id, "user_id": principal.user_id}
    recalled = {"relation": Relation.RECALLED, "kind": Kind.SEMANTIC, "memory_id": fact_id}
    Mention.objects.create(**owner, **recalled, message_id=turn.message_id)
