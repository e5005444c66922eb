"""The database scope: whose rows PostgreSQL shows and takes, whatever a query asks for (docs/adr/0022).

An edge (request, job, command, thread) sets the scope of its work: an owner, or a named wider role. The cursor of
`memoryhub/db/postgresql` sends it with the first statement of each transaction, and the policies of
`memoryhub/db/row_security.py` enforce it. Without a scope no row is visible. SQLite has no such guard.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID


class WideRole(StrEnum):
    """A role of the database that sees more than one owner; the serving role may take it and does not inherit it."""

    STAFF = "memoryhub_staff"  # pages of staff
    JOBS = "memoryhub_jobs"  # background jobs and commands
    SIGN_IN = "memoryhub_signin"  # finding out who asks; reads users, memberships and tokens, no memory


class OwnerScope(NamedTuple):
    """One member's rows and their tenant's shared ones; without a user, the tenant's shared rows alone."""

    tenant_id: UUID
    user_id: UUID | None


class _Confined(OwnerScope):
    """An owner's scope inside work that may act for any owner, such as a job."""


DatabaseScope = OwnerScope | WideRole | None

_scope: ContextVar[DatabaseScope] = ContextVar("database_scope", default=None)


def current_scope() -> DatabaseScope:
    """The scope of this context; None shows no rows."""
    return _scope.get()


def enter(scope: DatabaseScope) -> None:
    """Set the scope until the surrounding `acting_as` ends, for edges whose answer is rendered after their function."""
    _scope.set(scope)


@contextmanager
def acting_as(scope: DatabaseScope) -> Iterator[None]:
    """Set the scope for the block. This may widen it, so only edges and named exceptions call it."""
    token = _scope.set(scope)
    try:
        yield
    finally:
        _scope.reset(token)


@contextmanager
def confined_to(tenant_id: UUID, user_id: UUID | None) -> Iterator[None]:
    """Narrow the block to one owner. A member's request stays theirs, so a call for another owner finds no rows."""
    scope = _scope.get()
    is_final = isinstance(scope, OwnerScope) and not isinstance(scope, _Confined)
    token = _scope.set(scope if is_final else _Confined(tenant_id, user_id))
    try:
        yield
    finally:
        _scope.reset(token)


@lru_cache(maxsize=4096)
def setting_of(scope: DatabaseScope) -> str:
    """The SQL that sets the scope until the end of the transaction: one statement with one result."""
    role = scope.value if isinstance(scope, WideRole) else "none"
    owner = scope if isinstance(scope, OwnerScope) else (None, None)
    tenant, user = (str(UUID(str(id_))) if id_ else "" for id_ in owner)
    return (
        f"SELECT set_config('role', '{role}', true), set_config('memoryhub.tenant', '{tenant}', true),"
        f" set_config('memoryhub.member', '{user}', true);\n"
    )
