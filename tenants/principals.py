"""How a membership becomes a Principal; nobody acts as a membership that is not active."""

from __future__ import annotations

from uuid import UUID

from tenants.errors import NoMembership
from tenants.models import Membership
from tenants.principal import ALL_RIGHTS, ActorKind, Principal, Right, Role


def principal_of(
    membership: Membership,
    *,
    actor_kind: ActorKind,
    actor_id: UUID | None = None,
    rights: frozenset[Right] = ALL_RIGHTS,
    request_id: str = "",
) -> Principal:
    """The principal that acts on this member's memory; a member in person is their own actor.

    Raises NoMembership if the membership, its tenant or its user is inactive.
    """
    if not membership.is_usable:
        raise NoMembership("This membership is not active.")
    if actor_id is None and actor_kind is ActorKind.MEMBER:
        actor_id = membership.user_id
    return Principal(
        tenant_id=membership.tenant_id,
        user_id=membership.user_id,
        membership_id=membership.id,
        role=Role(membership.role),
        actor_kind=actor_kind,
        actor_id=actor_id,
        rights=rights,
        speaker=membership.user.speaker,
        request_id=request_id,
    )


def system_principal(membership: Membership) -> Principal:
    """The system acting for a member: commands and tasks."""
    return principal_of(membership, actor_kind=ActorKind.SYSTEM)
