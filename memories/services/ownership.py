"""One write at a time for each owner, in one transaction.

Invariant: every write happens inside `owner_lock`, so that a hundred equal writes make one memory and audit events of
an owner form one chain.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import transaction

from memories.errors import InvalidInput
from memories.types import Scope
from tenants.errors import Forbidden
from tenants.locks import lock_owner, lock_tenant
from tenants.principal import ActorKind, Principal, Right, Role


@contextmanager
def owner_lock(principal: Principal, scope: Scope = Scope.USER) -> Iterator[None]:
    """Open a transaction that holds the owner's lock (and the tenant's, for shared scopes).

    Raises Forbidden if the principal may not write, or not in this scope, or its membership ended.
    """
    principal.require(Right.WRITE)
    require_scope(principal, scope)
    with transaction.atomic():
        lock_owner(principal)
        if scope in (Scope.TENANT, Scope.GLOBAL):
            lock_tenant(principal.tenant_id)
        yield


def require_scope(principal: Principal, scope: Scope) -> None:
    """Raise Forbidden unless the principal may write in `scope`: members in their own, admins in their tenant's."""
    if scope in (Scope.USER, Scope.TASK):
        return
    if principal.actor_kind is ActorKind.SYSTEM:
        return
    if scope is Scope.TENANT and principal.role is Role.ADMIN and principal.actor_kind is not ActorKind.AGENT:
        return
    raise Forbidden(f"Only an administrator may write memories of scope {scope.value}.")


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
