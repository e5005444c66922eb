"""Rows changed past every guard, for `test_tampering.py`: what a change notes, and changes of what grants rights."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import models
from django.utils import timezone

from tenants.audit.chain import PLATFORM_CHAIN, tenant_chain
from tenants.models import ApiToken, AuditErasure, AuditEvent, Membership, Tenant, User
from tenants.principal import Right, Role

RECORDED_TENANT = "recorded"
"""The slug of a tenant that the application made, whose rights are changed."""


class Undone(Exception):
    """The change would change nothing."""


@dataclass
class Touched:
    """The chains and memories that a case changed, or whose evidence it changed, and the rows that it planted."""

    chains: set[str] = field(default_factory=set)
    memories: set[UUID] = field(default_factory=set)
    planted: set[UUID] = field(default_factory=set)
    said: list[str] = field(default_factory=list)

    def event(self, event: AuditEvent) -> None:
        """Note the chain of an event, what it is about, and the chains in which it erased payloads."""
        self.chains.add(event.chain)
        if event.target_id:
            self.memories.add(event.target_id)
        erased = AuditErasure.objects.filter(by=event.pk).values_list("event__chain", flat=True)
        self.chains |= set(erased)


Change = Callable[[random.Random, Touched], None]


def rows(model: type[models.Model], **only: Any) -> models.QuerySet[Any]:
    """The rows of a table, past every guard."""
    return models.QuerySet(model).filter(**only).order_by("pk")


def one_of(chance: random.Random, found: models.QuerySet[Any]) -> Any:
    return found[chance.randrange(found.count())]


def other(chance: random.Random, row: models.Model, column: str) -> Any:
    """Another value that the column can have."""
    value, kind = getattr(row, column), row._meta.get_field(column)
    match value:
        case datetime():
            found: Any = value + timedelta(seconds=chance.choice([-86_400, -1, 1, 86_400]))
        case bool():
            found = not value
        case int():
            found = value + chance.choice([1, 7])
        case float():
            found = value / 2 + 0.01
        case list():
            found = [*value, "and then rest"]
        case str() if value and chance.random() < 0.5:
            place = chance.randrange(len(value))
            found = f"{value[:place]}{'Y' if value[place] == 'X' else 'X'}{value[place + 1 :]}"
        case None if isinstance(kind, models.DateTimeField):
            found = datetime.now().astimezone()
        case _ if isinstance(kind, models.UUIDField):
            found = uuid.UUID(int=chance.getrandbits(128))
        case _:
            found = f"{value or ''}x"
    return found


def put(row: models.Model, touched: Touched, **columns: Any) -> None:
    touched.said.append(f"{row._meta.db_table} {row.pk}: {columns}")
    rows(type(row), pk=row.pk).update(**columns)


def changed_right(chance: random.Random, touched: Touched, row: models.Model, **values: list[Any]) -> None:
    """Set one of these columns to another of its values."""
    column = chance.choice(sorted(values))
    put(row, touched, **{column: chance.choice([value for value in values[column] if value != getattr(row, column)])})


def a_token(chance: random.Random, touched: Touched) -> None:
    token = one_of(chance, rows(ApiToken))
    touched.chains.add(tenant_chain(token.membership.tenant_id))
    now = timezone.now()
    changed_right(
        chance,
        touched,
        token,
        scopes=[[], sorted(Right), [*token.scopes, "memory:decide"]],
        expires_at=[None, now + timedelta(days=4_000)],
        revoked_at=[None] if token.revoked_at else [now],
        digest=[f"{chance.getrandbits(256):064x}"],
        membership_id=[each.pk for each in rows(Membership, tenant=token.membership.tenant_id)],
    )


def a_membership(chance: random.Random, touched: Touched) -> None:
    membership = one_of(chance, rows(Membership, tenant__slug=RECORDED_TENANT))
    touched.chains.add(tenant_chain(membership.tenant_id))
    changed_right(
        chance,
        touched,
        membership,
        role=list(Role),
        is_active=[True, False],
        external_id=["", f"{chance.random()}"],
        user_id=list(rows(User).exclude(memberships__tenant=membership.tenant_id).values_list("pk", flat=True)),
    )


def a_flag_of_the_platform(chance: random.Random, touched: Touched) -> None:
    touched.chains.add(PLATFORM_CHAIN)
    if chance.random() < 0.5:
        changed_right(chance, touched, Tenant.objects.get(slug=RECORDED_TENANT), is_active=[True, False])
    else:
        user = one_of(chance, rows(User, memberships__tenant__slug=RECORDED_TENANT))
        flags = ("is_active", "is_staff", "is_superuser")
        changed_right(chance, touched, user, **{flag: [True, False] for flag in flags}, username=[f"{chance.random()}"])


def a_right_planted(chance: random.Random, touched: Touched) -> None:
    membership = one_of(chance, rows(Membership, tenant__slug=RECORDED_TENANT))
    touched.chains.add(tenant_chain(membership.tenant_id))
    pk = uuid.UUID(int=chance.getrandbits(128))
    if chance.random() < 0.5:
        rights = {
            "tenant": membership.tenant,
            "membership": membership,
            "scopes": sorted(Right),
            "digest": f"{chance.getrandbits(256):064x}",
        }
        ApiToken.objects.create(pk=pk, name="planted", prefix="mh_", **rights)
    else:
        user = one_of(chance, rows(User).exclude(memberships__tenant=membership.tenant_id))
        Membership.objects.create(pk=pk, tenant=membership.tenant, user=user, role=Role.ADMIN)
    touched.planted.add(pk)
    touched.said.append(f"a right {pk} planted")


def a_token_removed(chance: random.Random, touched: Touched) -> None:
    token = one_of(chance, rows(ApiToken))
    touched.chains.add(tenant_chain(token.membership.tenant_id))
    if token.pk in touched.planted:
        raise Undone
    touched.said.append(f"token {token.pk} removed")
    token.delete()


RIGHTS: tuple[Change, ...] = (a_token, a_membership, a_flag_of_the_platform, a_right_planted, a_token_removed)
