"""Principal: who acts, for which owner; the first argument of every service. Actor: who acts without an owner's memory.

A principal names exactly one owner (tenant and user); no service takes an owner from anywhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from django.db.models import TextChoices

from tenants.errors import Forbidden


class Role(TextChoices):
    """What a membership may do in its tenant."""

    MEMBER = "member", "member"
    SUPPORT = "support", "support"
    AUDITOR = "auditor", "auditor"
    ADMIN = "admin", "admin"


# What staff of each role may look at and do; platform staff (superusers) may do all of it in all tenants.
READS_MEMORY: tuple[Role, ...] = (Role.SUPPORT, Role.ADMIN)
READS_HISTORY: tuple[Role, ...] = (Role.SUPPORT, Role.AUDITOR, Role.ADMIN)
AUDITS: tuple[Role, ...] = (Role.AUDITOR, Role.ADMIN)
ADMINISTERS: tuple[Role, ...] = (Role.ADMIN,)


class ActorKind(TextChoices):
    """Who acts: the member in person, their agent, their token, tenant staff, or the system (commands, tasks)."""

    MEMBER = "member", "member"
    AGENT = "agent", "agent"
    TOKEN = "token", "token"
    STAFF = "staff", "staff"
    SYSTEM = "system", "system"


class Right(TextChoices):
    """What a principal may do; also the scopes of an API token."""

    READ = "memory:read", "memory:read"
    WRITE = "memory:write", "memory:write"
    CHAT = "chat", "chat"


ALL_RIGHTS: frozenset[Right] = frozenset(Right)


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is acting (`actor_kind`, `actor_id`), for which owner (`tenant_id`, `user_id`), with which rights.

    `membership_id` is the row that serialises this owner's writes; `speaker` is the owner's display name, the default
    speaker of their episodes; `request_id` ties audit events to a request. `platform`: a superuser of the platform
    acts, who alone may write what all tenants share; only `platform_principal` sets it.
    """

    tenant_id: UUID
    user_id: UUID
    membership_id: UUID
    role: Role
    actor_kind: ActorKind
    actor_id: UUID | None
    rights: frozenset[Right] = ALL_RIGHTS
    speaker: str = ""
    request_id: str = ""
    platform: bool = False

    def require(self, right: Right) -> None:
        """Raise Forbidden unless this principal has `right`."""
        if right not in self.rights:
            raise Forbidden(f"This needs the right {right.value}.")

    def as_agent(self) -> Principal:
        """The same owner and rights, with the owner's agent as the actor (for audit)."""
        return replace(self, actor_kind=ActorKind.AGENT, platform=False)


@dataclass(frozen=True, slots=True)
class Actor:
    """The `actor` of administrative services; for memory, a `Principal` takes its place."""

    kind: ActorKind
    id: UUID | None = None
    request_id: str = ""


SYSTEM = Actor(ActorKind.SYSTEM)
