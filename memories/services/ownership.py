"""Whose a row is: the columns that say so, and who may write in which scope."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from memories.errors import InvalidInput, NotFound
from memories.models import Episode
from memories.types import Scope
from tenants.errors import Forbidden
from tenants.principal import ActorKind, Principal, Role

SHARED = (Scope.TENANT, Scope.GLOBAL)


def require_scope(principal: Principal, scope: Scope) -> None:
    """Raise Forbidden unless the principal may write in `scope`.

    Members write in their own memory; administrators, in person or by a token of theirs, what their tenant shares;
    platform staff what all share. An agent never writes above its user, whoever that is. The system may write all.
    """
    if scope in (Scope.USER, Scope.TASK):
        return
    if principal.actor_kind is ActorKind.SYSTEM:
        return
    if scope in shared_scopes(principal):
        return
    who = "platform staff" if scope is Scope.GLOBAL else "an administrator"
    raise Forbidden(f"Only {who} may write memories of scope {scope.value}.")


def own_episodes(principal: Principal, ids: Collection[UUID]) -> list[Episode]:
    """The owner's episodes `ids`, all of them. Raises NotFound."""
    wanted = set(ids)
    episodes = list(Episode.objects.of(principal).filter(pk__in=wanted)) if wanted else []
    if len(episodes) != len(wanted):
        raise NotFound("supporting episode")
    return episodes


def shared_scopes(principal: Principal) -> tuple[Scope, ...]:
    """The scopes whose memories the principal may change one by one; none for an agent or the system by itself."""
    if principal.platform and principal.actor_kind is ActorKind.STAFF:
        return (Scope.GLOBAL,)
    if principal.role is Role.ADMIN and principal.actor_kind in (ActorKind.MEMBER, ActorKind.TOKEN):
        return (Scope.TENANT,)
    return ()


def owner_columns(principal: Principal, scope: Scope, task: str) -> dict[str, UUID | str | None]:
    """The columns that say whose a row of `scope` is."""
    if (scope is Scope.TASK) != bool(task):
        raise InvalidInput("task", "name a task exactly when the scope is task.")
    return {
        "tenant_id": None if scope is Scope.GLOBAL else principal.tenant_id,
        "user_id": principal.user_id if scope in (Scope.USER, Scope.TASK) else None,
        "scope": scope,
        "task": task or None,
    }
