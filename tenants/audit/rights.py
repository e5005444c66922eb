"""Compares the rows that grant rights with the audit log: tokens, memberships, users and tenants.

Each event about such a row says what it set, so the events of a row, read in their order, give the columns that it must
have. A row that differs was changed outside the application, one without an event was planted. What an erased payload
said is not compared; that a token was revoked or a member deactivated is said by the action itself.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import CharField, Q, QuerySet
from django.db.models.functions import Cast

from memoryhub.db.scope import WideRole, acting_as
from memoryhub.signing.keyed import is_digest_of, keyed_digest
from tenants.audit.chain import PLATFORM_CHAIN
from tenants.audit.digests import canonical_json
from tenants.models import ApiToken, AuditEvent, Membership, Tenant, User, said_in
from tenants.usernames import erased_username

_SECRET = "token"  # noqa: S105 - the purpose of a keyed digest
NAMES_ERASED, USER_ERASED = "member.names_erased", "user.erased"
TENANT_CREATED = "tenant.created"

_TENANT_CHAIN = re.compile(r"tenant:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
_READING_FAILS = (ValueError, TypeError, OverflowError, ValidationError)


def token_record(token: ApiToken) -> dict[str, str]:
    """What the event of a new secret records of it and of the one before: keyed digests, so that others are noticed."""
    before = {"old_secret": keyed_digest(_SECRET, token.previous_digest)} if token.previous_digest else {}
    return {"secret": keyed_digest(_SECRET, token.digest), **before}


@dataclass(frozen=True, slots=True)
class RightsFault:
    """A row that grants other rights than the audit log says. `event` is the place and id of its latest event."""

    row: str
    problem: str
    event: tuple[int, UUID] | None = None


@dataclass(frozen=True, slots=True)
class _Table:
    """A table, and what each action says of its rows by itself; the first action is that of a new row.

    `columns` are compared, under the names that they have in events. Of `quiet` tables, rows without an event grant
    nothing, unless one of these columns is set.
    """

    noun: str
    model: type[models.Model]
    columns: Mapping[str, str]
    says: Mapping[str, Mapping[str, Any]]
    quiet: tuple[str, ...] | None = None


_TOKENS = _Table(
    "api_token",
    ApiToken,
    {
        "membership": "membership_id",
        "scopes": "scopes",
        "networks": "networks",
        "expires_at": "expires_at",
        "revoked": "revoked_at",
        "secret": "digest",
        "old_secret": "previous_digest",
        "old_secret_until": "previous_until",
    },
    {
        "token.issued": {"revoked": False, "old_secret": None, "old_secret_until": None},
        "token.rotated": {},
        "token.revoked": {"revoked": True},
    },
)
_MEMBERSHIPS = _Table(
    "membership",
    Membership,
    {
        "user": "user_id",
        "role": "role",
        "external_id": "external_id",
        "user_name": "user_name",
        "is_active": "is_active",
    },
    {
        "member.added": {"is_active": True},
        "member.role_changed": {},
        "member.changed": {},
        "member.deactivated": {"is_active": False},
        "member.activated": {"is_active": True},
        NAMES_ERASED: {"external_id": "", "user_name": ""},
    },
)
_USERS = _Table(
    "user",
    User,
    {name: name for name in ("username", "email", "is_staff", "is_superuser", "is_active")},
    {
        "user.created": {"is_active": True},
        "user.changed": {},
        "user.deactivated": {"is_active": False},
        "user.activated": {"is_active": True},
        USER_ERASED: {"email": "", "is_staff": False, "is_superuser": False, "is_active": False},
    },
    quiet=("is_staff", "is_superuser"),
)
_TENANTS = _Table(
    "tenant",
    Tenant,
    {"is_active": "is_active"},
    {
        TENANT_CREATED: {"is_active": True},
        "tenant.deactivated": {"is_active": False},
        "tenant.activated": {"is_active": True},
    },
    quiet=(),
)


def rights_faults(chain: str) -> list[RightsFault]:
    """The rows of a tenant, or of the platform, that grant other rights than their chain says; of other chains none.

    A fault counts only if a second look finds it again, because a change may fall between the reads of rows and events.
    """
    with acting_as(WideRole.JOBS):  # the scope of a page shows some of the rows and events
        found = _faults(chain)
        return [fault for fault in _faults(chain) if fault in found] if found else []


def recorded_tenants() -> set[UUID]:
    """The tenants that the application made, as the platform's chain says."""
    return {pk for pk in _made().values_list("target_id", flat=True) if pk is not None}


def _made() -> QuerySet[AuditEvent]:
    return AuditEvent.objects.filter(chain=PLATFORM_CHAIN, action=TENANT_CREATED).order_by()


def _faults(chain: str) -> list[RightsFault]:
    if chain == PLATFORM_CHAIN:
        return [*_compared(chain, _USERS, Q()), *_compared(chain, _TENANTS, Q())]
    named = _TENANT_CHAIN.fullmatch(chain)
    if named is None or not _made().filter(target_id=(tenant_id := UUID(named[1]))).exists():
        return []
    whose = Q(tenant_id=tenant_id)
    return [*_compared(chain, _MEMBERSHIPS, whose), *_compared(chain, _TOKENS, whose)]


_BY_ACTION = frozenset({"is_active", "revoked"})


@dataclass(slots=True)
class _Recorded:
    """The columns that the events of a row say. `made` is False if what the event of its making says was erased."""

    made: bool = False
    columns: dict[str, Any] = field(default_factory=dict)
    event: tuple[int, UUID] | None = None


def _recorded(chain: str, table: _Table) -> dict[UUID, _Recorded]:
    """What the events of a chain say of the rows of a table, by id."""
    first = next(iter(table.says))
    found: dict[UUID, _Recorded] = defaultdict(_Recorded)
    events = AuditEvent.objects.filter(chain=chain, action__in=table.says, target_id__isnull=False)
    values: QuerySet[Any, Any] = events.order_by("sequence").values_list(
        "sequence", "id", "action", "target_id", "payload__document"
    )
    for sequence, pk, action, target, document in values.iterator():
        known = found[target]
        known.event = (sequence, pk)
        if document is None:  # erased: what it set is unknown, unless actions alone set it
            known.columns = {name: value for name, value in known.columns.items() if name in _BY_ACTION}
        said = said_in(document)
        known.columns |= {**(said["after"] or {}), **(said["row"] or {}), **table.says[action]}
        if action == first:
            known.made = document is not None
        if action == USER_ERASED:
            known.columns["username"] = erased_username(target)
    return found


def _compared(chain: str, table: _Table, whose: Q) -> Iterator[RightsFault]:
    recorded = _recorded(chain, table)
    for pk, columns in _rows(table, whose):
        row = f"{table.noun} {pk or 'without an id'}"
        known = recorded.pop(pk, None) if pk else None
        if columns is None:
            yield RightsFault(row, "cannot be read", known.event if known else None)
        elif known is None:
            if table.quiet is None or any(columns[name] for name in table.quiet):
                yield RightsFault(row, "was written without an audit event")
        elif other := sorted(name for name in table.columns if _differs(name, columns[name], known.columns)):
            yield RightsFault(row, f"was changed outside the application ({', '.join(other)})", known.event)
    for pk, known in recorded.items():
        if known.made:
            yield RightsFault(f"{table.noun} {pk}", "is not there although the audit tells of no erasure", known.event)


def _differs(name: str, value: Any, said: Mapping[str, Any]) -> bool:
    if name not in said:
        return False  # erased, or of an earlier version that did not record it
    if name in ("secret", "old_secret"):
        return value is not said[name] if None in (value, said[name]) else not is_digest_of(said[name], _SECRET, value)
    now = value is not None if name == "revoked" else value
    return isinstance(now, bytes) or canonical_json(now) != canonical_json(said[name])


def _rows(table: _Table, whose: Q) -> Iterator[tuple[UUID | None, dict[str, Any] | None]]:
    """The id and the compared columns of each row; None for what cannot be read, which only SQLite stores."""
    rows = table.model._default_manager.filter(whose).order_by("pk")
    columns = list(table.columns.values())
    try:
        read = list(rows.values_list("pk", *columns))
    except _READING_FAILS:
        for pk in rows.values_list(Cast("pk", CharField()), flat=True):
            try:
                (values,) = rows.filter(pk=pk).values_list("pk", *columns)
            except _READING_FAILS:
                yield _id(pk), None
            else:
                yield values[0], dict(zip(table.columns, values[1:], strict=True))
        return
    for pk, *values in read:
        yield pk, dict(zip(table.columns, values, strict=True))


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
