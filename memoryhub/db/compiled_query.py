"""Queries that the ORM compiles once, for frequent use: compiling a query takes longer than running it.

A query is compiled with placeholder values, and each call substitutes its own; the ORM still defines the query.
Compiling fails if a placeholder is missing from the SQL, so no value is ever left out. Updates are not prepared:
compiling one takes a tenth of a millisecond, a third of a query's time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import DateTimeField, Expression, Model, QuerySet
from django.db.models.expressions import Col
from django.db.models.query import RelatedPopulator, get_related_populators  # type: ignore[attr-defined]  # not public
from django.db.transaction import TransactionManagementError

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Substring:
    """A value for `contains` and `icontains`."""

    text: str


Single = UUID | str | int | datetime | Substring | None
Value = Single | Collection[UUID]
Convert = Callable[[Any, Expression, Any], Any]

# Lists of ids are padded to one of these lengths, so that few variants are compiled.
_LENGTHS = (0, 1, 8, 32, 64, 128, 192, 256, 384, 512, 1024, 2048)
MOST_IDS = _LENGTHS[-1]

_A_TIME: DateTimeField[Any, Any] = DateTimeField()
_FIRST_MOMENT = datetime(1, 1, 1, tzinfo=UTC)
# Fits every integer column, and no query contains this constant itself.
_FIRST_NUMBER = 31_011
# The largest integer of databases; larger values are clamped, since no column holds more.
_LARGEST = 2**63 - 1
# The text of a `str` subclass: an enumeration's own `__str__` may differ.
_plain = str.__str__


@dataclass(frozen=True, slots=True)
class CompiledSql:
    """Compiled SQL and its parameters: constants, or indexes of the values that replace placeholders.

    `sql` is empty for a query that can match nothing. `columns` are attributes of the model, then names of annotations;
    `fields` is the number of the former. `related` fill in what `select_related` joined. `converters` are the field
    converters by column. `locks`: SELECT FOR UPDATE.
    """

    model: type[Model]
    sql: str = ""
    places: tuple[tuple[int | None, Any], ...] = ()
    columns: tuple[str, ...] = ()
    fields: int = 0
    related: tuple[RelatedPopulator, ...] = ()
    converters: tuple[tuple[int, Sequence[Convert], Expression], ...] = ()
    locks: bool = False

    @classmethod
    def of(cls, query: QuerySet[Any, Any], stand_ins: Sequence[Any]) -> CompiledSql:
        """Compile `query`, which was built with `stand_ins`; these are given as database values (`taken`)."""
        # Querysets of memories require a scope (`memories/models/guard.py`).
        getattr(query, "require_scope", bool)()
        compiler = query.query.get_compiler(using=DEFAULT_DB_ALIAS)
        try:
            sql, params = compiler.as_sql()
        except EmptyResultSet:
            return cls(query.model)
        place_of = {stand_in: place for place, stand_in in enumerate(stand_ins)}
        selected = [expression for expression, _, _ in compiler.select or ()]
        added = {place: name for name, place in (compiler.annotation_col_map or {}).items()}
        attributes = [each.target.attname if isinstance(each, Col) else "" for each in selected]
        info = compiler.klass_info or {}
        joined = get_related_populators(info, compiler.select, DEFAULT_DB_ALIAS)
        own = len(info["select_fields"]) + len(added) if joined else len(selected)
        return cls(
            query.model,
            sql,
            tuple((place_of.get(param), param) for param in params),
            tuple(added.get(place, attribute) for place, attribute in enumerate(attributes[:own])),
            own - len(added),
            tuple(joined),
            tuple((place, each, column) for place, (each, column) in compiler.get_converters(selected).items()),
            query.query.select_for_update and compiler.connection.features.has_select_for_update,
        )

    def raw(self, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The driver's rows. `values` are database values (`taken`), in the order of the placeholders.

        Raises TransactionManagementError for a locking query outside a transaction, as the ORM does.
        """
        if not self.sql:
            return []
        database = connections[DEFAULT_DB_ALIAS]
        if self.locks and database.get_autocommit():
            raise TransactionManagementError("A query that locks its rows needs a transaction.")
        with database.cursor() as cursor:
            cursor.execute(self.sql, [constant if place is None else values[place] for place, constant in self.places])
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows

    def rows(self, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """The rows with the fields' converters applied."""
        database = connections[DEFAULT_DB_ALIAS]
        for row in self.raw(values):
            converted = list(row)
            for place, converters, expression in self.converters:
                for convert in converters:
                    converted[place] = convert(converted[place], expression, database)
            yield tuple(converted)

    def instances(self, values: Sequence[Any]) -> Iterator[Any]:
        """The rows of a query for whole rows, as model instances with their annotations."""
        for row in self.rows(values):
            instance = self.model.from_db(DEFAULT_DB_ALIAS, self.columns[: self.fields], row[: self.fields])
            for name, value in zip(self.columns[self.fields :], row[self.fields : len(self.columns)], strict=True):
                setattr(instance, name, value)
            for populator in self.related:
                populator.populate(row, instance)
            yield instance


class Prepared(Generic[Row]):
    """A query compiled once per combination of value types, None values and list lengths.

    `build` receives the call's values in order and must use each that is not None, unless `may_ignore` is set.
    """

    def __init__(self, build: Callable[..., QuerySet[Row, Any]], *, may_ignore: bool = False) -> None:
        self._build = build
        self._may_ignore = may_ignore

    def all(self, *values: Value) -> list[Row]:
        """The model instances of a query for whole rows."""
        return list(self._statement(values).instances(_flat(values)))

    def first(self, *values: Value) -> Row | None:
        """The first instance, or None; the query itself should have a limit of one."""
        return next(iter(self.all(*values)), None)

    def values(self, *values: Value) -> list[tuple[Any, ...]]:
        """The rows of a `values_list` query."""
        return list(self._statement(values).rows(_flat(values)))

    def any(self, *values: Value) -> bool:
        """Whether a row matches; the query itself should have a limit of one."""
        return bool(self.raw(*values))

    def raw(self, *values: Value) -> list[tuple[Any, ...]]:
        """The driver's rows."""
        return self._statement(values).raw(_flat(values))

    def _statement(self, values: Sequence[Value]) -> CompiledSql:
        return _prepared(self._build, tuple(_shape(value) for value in values), self._may_ignore)


@functools.lru_cache(maxsize=512)
def _prepared(
    build: Callable[..., QuerySet[Any, Any]],
    shapes: tuple[type | int, ...],
    may_ignore: bool,  # noqa: FBT001 - part of the cache key
) -> CompiledSql:
    """Compile the query for values of these shapes. Raises ValueError if it leaves out a value."""
    stand_ins = [_stand_in(shape, number) for number, shape in enumerate(shapes)]
    named = [object() if value is None else value for value in _flat(stand_ins)]
    bare = [value.text if isinstance(value, Substring) else value for value in stand_ins]
    statement = CompiledSql.of(build(*bare), named)
    replaced = {place for place, _ in statement.places}
    left = [place for place, value in enumerate(named) if type(value) is not object and place not in replaced]
    if left and statement.sql and not may_ignore:
        raise ValueError(f"The query leaves out its values {left}.")
    return statement


def taken(values: Iterable[Single]) -> list[Any]:
    """Convert values to database values."""
    database = connections[DEFAULT_DB_ALIAS]
    native = database.features.has_native_uuid_field
    found: list[Any] = []
    for value in values:
        if isinstance(value, UUID):
            found.append(value if native else value.hex)
        elif isinstance(value, datetime):
            found.append(_A_TIME.get_db_prep_value(value, database))
        elif isinstance(value, Substring):
            found.append(f"%{database.ops.prep_for_like_query(value.text)}%")
        elif isinstance(value, int):
            found.append(max(-_LARGEST, min(value, _LARGEST)))
        else:
            found.append(_plain(value) if isinstance(value, str) else value)
    return found


def length(ids: Collection[UUID]) -> int:
    """The length to which a list of ids is padded. Raises ValueError for more than 2,048."""
    for most in _LENGTHS:
        if most >= len(ids):
            return most
    raise ValueError("A prepared query takes at most 2,048 ids.")


def filled(ids: Collection[UUID]) -> list[UUID]:
    """The ids, padded with the last one. Raises TypeError for a value that is not a UUID."""
    listed = list(ids)
    if not all(issubclass(kind, UUID) for kind in set(map(type, listed))):
        raise TypeError("A list of a prepared query holds ids only, as UUID.")
    return [*listed, *listed[-1:] * (length(listed) - len(listed))]


def _flat(values: Sequence[Value]) -> list[Any]:
    """Database values, with the padded ids of each list in its place."""
    native = connections[DEFAULT_DB_ALIAS].features.has_native_uuid_field
    flat: list[Any] = []
    for value in values:
        if value is None or isinstance(value, UUID | str | int | datetime | Substring):
            flat += taken((value,))
        else:
            flat += [id_ if native else id_.hex for id_ in filled(value)]
    return flat


def _shape(value: Value) -> type | int:
    """The part of a value that changes the SQL: its type, or the padded length of its list. Raises TypeError."""
    if value is None or type(value) is int:
        return type(value)
    if isinstance(value, str):
        return str
    for kind in (UUID, datetime, Substring):
        if isinstance(value, kind):
            return kind
    if isinstance(value, list | tuple | set | frozenset):
        return length(value)
    raise TypeError("A value of a prepared query is an id or a list of them, a text, a number, a time or None.")


def _stand_in(shape: type | int, number: int) -> Value:
    ids = UUID(int=(1 << 96) + (number << 32))
    if isinstance(shape, int):
        return [UUID(int=ids.int + offset) for offset in range(1, shape + 1)]
    if shape is UUID:
        return ids
    if shape in (str, Substring):
        # A lookup that escapes its value, as LIKE does, changes this text; the query is then refused.
        return f"\x01%_\\{number}" if shape is str else Substring(f"\x01{number}")
    if shape is datetime:
        return _FIRST_MOMENT + timedelta(days=number)
    return _FIRST_NUMBER + number if shape is int else None
