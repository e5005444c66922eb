"""Actor: who does something to a tenant, its members or its tokens, where no owner's memory is touched."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from tenants.principal import ActorKind


@dataclass(frozen=True, slots=True)
class Actor:
    """The `actor` of administrative services; for memory, a `Principal` takes its place."""

    kind: ActorKind
    id: UUID | None = None
    request_id: str = ""


SYSTEM = Actor(ActorKind.SYSTEM)
