"""Locks of owners and tenants: rows locked until the end of the transaction.

Every writer of an owner's memory or audit chain locks the owner's membership row. On SQLite the immediate transaction
itself is the lock. A member who was deactivated before the lock was taken can write nothing more.

On PostgreSQL the locking query also sets `memoryhub.write` for the transaction; triggers on memory rows refuse writes
without it.

All row locks are FOR NO KEY UPDATE: PostgreSQL's foreign key checks take a key share lock on the referenced row, and
with FOR UPDATE committing writers would deadlock.
"""

from __future__ import annotations

from typing import TypeVar
from uuid import UUID

from django.db import connection, transaction
from django.db.models import BooleanField, Func, Model, QuerySet, TextField, Value
from django.utils.translation import gettext as _

from memoryhub.db.compiled_query import Prepared
from tenants.errors import Forbidden
from tenants.models import Membership, Tenant
from tenants.principal import Principal

Locked = TypeVar("Locked", bound=Model)


def lock_owner(principal: Principal) -> Membership:
    """Lock the principal's membership row for this transaction.

    Raises Forbidden if member, user or tenant is inactive.
    """
    _require_transaction()
    membership = _USABLE.first(*_named(principal))
    if membership is None:
        raise Forbidden(_("This membership is not active."))
    return membership


def wait_for_owner(principal: Principal) -> bool:
    """Lock the owner's membership row, active or not; returns whether it exists.

    A transaction that locks several owners locks them in order of membership id, to avoid deadlocks.
    """
    return held_owner(principal) is not None


def held_owner(principal: Principal) -> Membership | None:
    """Like `wait_for_owner`, but returns the membership row, or None."""
    _require_transaction()
    return _LOCKED.first(*_named(principal))


def lock_tenant(tenant_id: UUID) -> Tenant:
    """Lock a tenant's row for this transaction, as writers of shared memory must.

    Raises Forbidden if it is inactive.
    """
    _require_transaction()
    tenant = _marking(Tenant.objects.select_for_update(no_key=True).filter(id=tenant_id, is_active=True)).first()
    if tenant is None:
        raise Forbidden(_("This tenant is not active."))
    return tenant


def wait_for_tenant(tenant_id: UUID) -> bool:
    """Lock a tenant's row, active or not; returns whether it exists."""
    _require_transaction()
    return _marking(Tenant.objects.select_for_update(no_key=True).filter(id=tenant_id)).first() is not None


def _require_transaction() -> None:
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("A lock of an owner or a tenant needs a transaction.")


def _named(principal: Principal) -> tuple[UUID, UUID, UUID]:
    return principal.membership_id, principal.tenant_id, principal.user_id


def _locked(membership_id: UUID, tenant_id: UUID, user_id: UUID) -> QuerySet[Membership]:
    """Query that locks the membership row of exactly this owner; unordered, since an order would join tables."""
    rows = Membership.objects.select_for_update(of=("self",), no_key=True)
    return _marking(rows.filter(id=membership_id, tenant_id=tenant_id, user_id=user_id).order_by())


def _marking(rows: QuerySet[Locked]) -> QuerySet[Locked]:
    """Annotate the query so that on PostgreSQL it sets `memoryhub.write` for the transaction."""
    if connection.vendor != "postgresql":
        return rows
    mark = Func(
        Value("memoryhub.write"),
        Value("on"),
        Value(value=True, output_field=BooleanField()),
        function="set_config",
        output_field=TextField(),
    )
    marked: QuerySet[Locked] = rows.annotate(write_mark=mark)
    return marked


def _usable(membership_id: UUID, tenant_id: UUID, user_id: UUID) -> QuerySet[Membership]:
    """The same, but only if membership, tenant and user are active (`Membership.is_usable`)."""
    locked = _locked(membership_id, tenant_id, user_id)
    return locked.filter(is_active=True, tenant__is_active=True, user__is_active=True)


_LOCKED = Prepared(_locked)
_USABLE = Prepared(_usable)
