"""Queries that recall asks again and again, compiled once.

Building a query in the ORM costs as much as running it here. So each is built by the ORM with stand-ins for its values
(what is visible stays defined in one place), its SQL is kept by shape, and each call puts its own values where the
stand-ins are. A stand-in that is left over belongs to nobody and finds nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import DateTimeField, Expression, Model, QuerySet
from django.db.models.expressions import Col
from django.db.models.sql.compiler import SQLCompiler

from memories.recall.request import Request
from tenants.principal import ActorKind, Principal, Role

# Lists of ids are filled up to one of these lengths, so that there are few shapes.
_LENGTHS = (1, 8, 32, 64, 128, 192, 256, 384, 512, 1024, 2048)

_NOBODY = Principal(UUID(int=1), UUID(int=2), UUID(int=3), Role.MEMBER, ActorKind.SYSTEM, None)
_A_TIME: DateTimeField[Any, Any] = DateTimeField()
_TASK = "\x01"
_MOMENT = datetime(1, 1, 1, tzinfo=UTC)
_NOW = datetime(2, 1, 1, tzinfo=UTC)
_IDS = tuple(UUID(int=(1 << 32) + number) for number in range(_LENGTHS[-1]))
_EXCLUDED = tuple(UUID(int=(1 << 64) + number) for number in range(_LENGTHS[-1]))

Convert = Callable[[Any, Expression, Any], Any]
Build = Callable[[Principal, Request, list[UUID]], QuerySet[Any, Any]]


@dataclass(frozen=True, slots=True)
class _Statement:
    """SQL with a place for each parameter: its value, or the index of the stand-in it replaces.

    `columns` are attributes of the model, with what makes the driver's values theirs.
    """

    model: type[Model]
    sql: str
    places: tuple[tuple[int | None, Any], ...]
    columns: tuple[tuple[str, Expression, tuple[Convert, ...]], ...]


def fetch(build: Build, principal: Principal, request: Request, ids: Collection[UUID] = ()) -> list[tuple[Any, ...]]:
    """The rows of `build(principal, request, ids)`, a query of values, as the driver gives them.

    Ids are hex on SQLite and UUIDs on PostgreSQL. At most 2,048 ids.
    """
    return _rows(*_bound(build, principal, request, ids))


def instances(build: Build, principal: Principal, request: Request, ids: Collection[UUID]) -> list[Any]:
    """The rows of `build(principal, request, ids)`, a query of whole rows, as model instances. At most 2,048 ids."""
    statement, params = _bound(build, principal, request, ids)
    names = [name for name, _, _ in statement.columns]
    database = connections[DEFAULT_DB_ALIAS]
    made = []
    for row in _rows(statement, params):
        values = list(row)
        for place, (_, column, converters) in enumerate(statement.columns):
            for convert in converters:
                values[place] = convert(values[place], column, database)
        made.append(statement.model.from_db(DEFAULT_DB_ALIAS, names, values))
    return made


def _rows(statement: _Statement, params: list[Any]) -> list[tuple[Any, ...]]:
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(statement.sql, params)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _bound(build: Build, principal: Principal, request: Request, ids: Collection[UUID]) -> tuple[_Statement, list[Any]]:
    excluded = list(request.exclude)
    statement = _compiled(build, _shape(request), _length(ids), _length(excluded))
    moments = (request.as_of or _MOMENT, request.alive_after)
    values = _prepared(principal, request.task, moments, [*_filled(list(ids)), *_filled(excluded)])
    return statement, [constant if place is None else values[place] for place, constant in statement.places]


@functools.lru_cache(maxsize=512)
def _compiled(build: Build, shape: Request, ids: int, excluded: int) -> _Statement:
    query = build(_NOBODY, replace(shape, exclude=frozenset(_EXCLUDED[:excluded])), list(_IDS[:ids]))
    compiler = query.query.get_compiler(using=DEFAULT_DB_ALIAS)
    sql, params = compiler.as_sql()
    stand_ins = _prepared(_NOBODY, _TASK, (_MOMENT, _NOW), [*_IDS[:ids], *_EXCLUDED[:excluded]])
    place_of = {stand_in: place for place, stand_in in enumerate(stand_ins)}
    places = tuple((place_of.get(param), param) for param in params)
    return _Statement(query.model, sql, places, tuple(_columns(compiler)))


def _columns(compiler: SQLCompiler) -> Iterator[tuple[str, Expression, tuple[Convert, ...]]]:
    """The columns that are fields of the model; a query of values may have others, and needs none converted."""
    selected = [expression for expression, _, _ in compiler.select or ()]
    converters = compiler.get_converters(selected)
    for place, column in enumerate(selected):
        if isinstance(column, Col):
            convert, _ = converters.get(place, ((), None))
            yield column.target.attname, column, tuple(convert)


def _prepared(principal: Principal, task: str, moments: Iterable[datetime], ids: Iterable[UUID]) -> list[Any]:
    """Values as the database takes them, those of stand-ins and of a call in the same order."""
    database = connections[DEFAULT_DB_ALIAS]
    whose = (principal.tenant_id, principal.user_id)
    if database.features.has_native_uuid_field:
        named: list[Any] = [*whose, *ids]
    else:
        named = [id_.hex for id_ in (*whose, *ids)]
    return [task, *(_A_TIME.get_db_prep_value(moment, database) for moment in moments), *named]


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


def _length(ids: Collection[UUID]) -> int:
    return next(length for length in (0, *_LENGTHS) if length >= len(ids))


def _filled(ids: list[UUID]) -> list[UUID]:
    """The ids, the last repeated up to the next length."""
    return [*ids, *ids[-1:] * (_length(ids) - len(ids))]
