"""Queries that recall asks again and again, compiled once.

Building a query in the ORM costs as much as running it here. So each is built by the ORM with stand-ins for its values
(what is visible stays defined in one place), its SQL is kept by shape, and each call puts its own values where the
stand-ins are. A stand-in that is left over belongs to nobody and finds nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from memories.recall.request import Request
from memoryhub.db.compiled_query import Statement, filled, length, taken
from tenants.principal import ActorKind, Principal, Role

_NOBODY = Principal(UUID(int=1), UUID(int=2), UUID(int=3), Role.MEMBER, ActorKind.SYSTEM, None)
_TASK = "\x01"
_MOMENT = datetime(1, 1, 1, tzinfo=UTC)
_NOW = datetime(2, 1, 1, tzinfo=UTC)
# The first stand-in of each list; the others follow.
_IDS, _EXCLUDED = 1 << 32, 1 << 64

Build = Callable[[Principal, Request, list[UUID]], QuerySet[Any, Any]]


def fetch(build: Build, principal: Principal, request: Request, ids: Collection[UUID] = ()) -> list[tuple[Any, ...]]:
    """The rows of `build(principal, request, ids)`, a query of values, as the driver gives them.

    Ids are hex on SQLite and UUIDs on PostgreSQL. At most 2,048 ids.
    """
    statement, values = _bound(build, principal, request, ids)
    return statement.raw(values)


def instances(build: Build, principal: Principal, request: Request, ids: Collection[UUID]) -> list[Any]:
    """The rows of `build(principal, request, ids)`, a query of whole rows, as model instances. At most 2,048 ids."""
    statement, values = _bound(build, principal, request, ids)
    return statement.instances(values)


def _bound(build: Build, principal: Principal, request: Request, ids: Collection[UUID]) -> tuple[Statement, list[Any]]:
    excluded = list(request.exclude)
    statement = _compiled(build, _shape(request), length(ids), length(excluded))
    moments = (request.as_of or _MOMENT, request.alive_after)
    return statement, _prepared(principal, request.task, moments, [*filled(ids), *filled(excluded)])


@functools.lru_cache(maxsize=512)
def _compiled(build: Build, shape: Request, ids: int, excluded: int) -> Statement:
    wanted, unwanted = _stand_ins(_IDS, ids), _stand_ins(_EXCLUDED, excluded)
    query = build(_NOBODY, replace(shape, exclude=frozenset(unwanted)), wanted)
    return Statement.of(query, _prepared(_NOBODY, _TASK, (_MOMENT, _NOW), [*wanted, *unwanted]))


def _stand_ins(first: int, count: int) -> list[UUID]:
    return [UUID(int=first + number) for number in range(count)]


def _prepared(principal: Principal, task: str, moments: Iterable[datetime], ids: Iterable[UUID]) -> list[Any]:
    """Values as the database takes them, those of stand-ins and of a call in the same order."""
    return taken((task, *moments, principal.tenant_id, principal.user_id, *ids))


def _shape(request: Request) -> Request:
    """The request with stand-ins, and without what no query looks at."""
    return replace(
        request,
        query="",
        limit=1,
        task=_TASK if request.task else "",
        as_of=_MOMENT if request.as_of is not None else None,
        session_id=None,
        exclude=frozenset(),
        token_budget=None,
        threshold=None,
        cost=None,
        now=_NOW,
    )
