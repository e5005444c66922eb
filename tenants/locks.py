"""The lock of an owner: the row of their membership, held to the end of the transaction.

Every writer of an owner's memory or audit chain holds it. On SQLite the immediate transaction itself is the lock.
A member who was deactivated before the lock was taken writes nothing more.

Whoever holds one may change memory rows: on PostgreSQL the query that takes it sets `memoryhub.write` for the
transaction, which the triggers on those rows ask for.

All row locks leave out the key (`no_key`): PostgreSQL checks foreign keys at commit with a lock on the named row, and a
lock of the whole row would make committing writers wait for each other in a circle.
"""

from __future__ import annotations

from typing import TypeVar
from uuid import UUID

from django.db import connection, transaction
from django.db.models import BooleanField, Func, Model, QuerySet, TextField, Value

from memoryhub.db.compiled_query import Prepared
from tenants.errors import Forbidden
from tenants.models import Membership, Tenant
from tenants.principal import Principal

Locked = TypeVar("Locked", bound=Model)


def lock_owner(principal: Principal) -> Membership:
    """Lock the principal's membership row for this transaction. Raises Forbidden if nobody may act as this member."""
    _require_transaction()
    membership = _USABLE.first(*_named(principal))
    if membership is None:
        raise Forbidden("This membership is not active.")
    return membership


def wait_for_owner(principal: Principal) -> bool:
    """Take the lock of an owner to note what happened, also if nobody may act as them any more; whether there is one.

    Whoever takes several in one transaction takes them by membership id, so that two of them never wait for each other.
    """
    return held_owner(principal) is not None


def held_owner(principal: Principal) -> Membership | None:
    """The same; the membership as it is now, active or not."""
    _require_transaction()
    return _LOCKED.first(*_named(principal))


def lock_tenant(tenant_id: UUID) -> Tenant:
    """Lock a tenant's row for this transaction, as every writer of shared memory must. Raises Forbidden."""
    _require_transaction()
    tenant = _marking(Tenant.objects.select_for_update(no_key=True).filter(id=tenant_id, is_active=True)).first()
    if tenant is None:
        raise Forbidden("This tenant is not active.")
    return tenant


def wait_for_tenant(tenant_id: UUID) -> bool:
    """Take the lock of a tenant also if it is not active any more; whether there is one."""
    _require_transaction()
    return _marking(Tenant.objects.select_for_update(no_key=True).filter(id=tenant_id)).first() is not None


def _require_transaction() -> None:
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("A lock of an owner or a tenant needs a transaction.")


def _named(principal: Principal) -> tuple[UUID, UUID, UUID]:
    return principal.membership_id, principal.tenant_id, principal.user_id


def _locked(membership_id: UUID, tenant_id: UUID, user_id: UUID) -> QuerySet[Membership]:
    """The membership row of exactly this owner, locked when it is read; every write does, so it joins for no order."""
    rows = Membership.objects.select_for_update(of=("self",), no_key=True)
    return _marking(rows.filter(id=membership_id, tenant_id=tenant_id, user_id=user_id).order_by())


def _marking(rows: QuerySet[Locked]) -> QuerySet[Locked]:
    """The same rows, in a query that also marks PostgreSQL's transaction as one that may change memory rows."""
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
    """The same, if anybody may act as this member now (`Membership.is_usable`)."""
    locked = _locked(membership_id, tenant_id, user_id)
    return locked.filter(is_active=True, tenant__is_active=True, user__is_active=True)


_LOCKED = Prepared(_locked)
_USABLE = Prepared(_usable)
