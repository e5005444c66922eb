"""Reading rows that may hold values which their columns cannot have: each such value is marked, not an error.

SQLite takes anything for a time, an id or a flag; Django then fails on it, or reads nothing where something is. Other
databases refuse that, but not an unknown status. The unreadable value itself is never part of a result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any, TypeVar
from uuid import UUID

from django.db import connection, models
from django.db.models import F, Field, Func, QuerySet
from django.db.models.constants import LOOKUP_SEP
from django.db.models.expressions import RawSQL

Rows = TypeVar("Rows", bound=QuerySet[Any, Any])


class Unreadable(Enum):
    """Stands for a value that its column cannot have."""

    HERE = "unreadable"


UNREADABLE = Unreadable.HERE

# What Django, and whoever goes on with what it read, may fail with where a value is not of its column's type.
READING_FAILS = (ValueError, TypeError, AttributeError, OverflowError)


class _Bare(Func):
    """A column as stored: texts as their bytes, which may be no valid text; a value stored as bytes is unreadable.

    An expression, so that the driver converts nothing by the type that the column was declared with.
    """

    template = (
        "CASE typeof(%(expressions)s) WHEN 'text' THEN CAST(%(expressions)s AS BLOB) WHEN 'blob' THEN X'FF' "
        "ELSE %(expressions)s END"
    )
    arity = 1

    def __init__(self, name: str) -> None:
        super().__init__(F(name), output_field=Field())


def rows_as_stored(
    rows: QuerySet[Any, Any], names: Sequence[str], *, chunk_size: int
) -> Iterator[tuple[tuple[Any, ...], int | None]]:
    """The columns `names` of each row, one row at a time, and its place in the table, where rows have one."""
    fields = [_field(rows.model, name) for name in names]
    if connection.vendor != "sqlite":
        reads = [_reading(field, lambda value: value) for field in fields]
        for values in rows.values_list(*names).iterator(chunk_size=chunk_size):
            yield _read(reads, values), None
        return
    reads = [_reading(field, _conversion(field)) for field in fields]
    stored = rows.values_list(*map(_Bare, names), _place(rows.model))
    for *values, place in stored.iterator(chunk_size=chunk_size):
        yield _read(reads, values), place


def without_places(rows: Rows, places: Collection[int]) -> Rows:
    """`rows` without those that are in these places of their table, where rows have one."""
    if connection.vendor != "sqlite" or not places:
        return rows
    kept: Rows = rows.annotate(place_in_table=_place(rows.model)).exclude(place_in_table__in=places)
    return kept


def _place(model: type[models.Model]) -> RawSQL:
    table = connection.ops.quote_name(model._meta.db_table)
    return RawSQL(f"{table}.rowid", (), output_field=models.BigIntegerField())  # noqa: S611 - a name of ours


def _field(model: type[models.Model], name: str) -> Field[Any, Any]:
    """The field that a name leads to, along relations."""
    first, _, rest = name.partition(LOOKUP_SEP)
    field = model._meta.get_field(first)
    if rest:
        return _field(field.related_model, rest)  # type: ignore[arg-type]  # a relation between models
    return field.target_field if isinstance(field, models.ForeignKey) else field  # type: ignore[return-value]  # ditto


def _read(reads: Sequence[Callable[[Any], Any]], values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(None if value is None else read(value) for read, value in zip(reads, values, strict=True))


def _conversion(field: Field[Any, Any]) -> Callable[[Any], Any]:
    return next((convert for kind, convert in _CONVERSIONS.items() if isinstance(field, kind)), _text)


def _reading(field: Field[Any, Any], convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Converts a value; UNREADABLE for what fails, is none of the choices, or not of the shape that it begins with."""
    choices = frozenset(["", *dict(field.flatchoices)]) if field.choices else None
    shape = field.default if isinstance(field, models.JSONField) and field.default in (list, dict) else None

    def read(value: Any) -> Any:
        try:
            found = convert(value)
        except (*READING_FAILS, RecursionError):
            return UNREADABLE
        if (choices is not None and found not in choices) or (shape is not None and not isinstance(found, shape)):
            return UNREADABLE
        return found

    return read


def _text(value: Any) -> str:
    return bytes.decode(value)


def _id(value: Any) -> UUID:
    text = _text(value)
    read = UUID(text)
    if read.hex != text:
        raise ValueError("no id that a query would find")
    return read


def _moment(value: Any) -> datetime:
    moment = datetime.fromisoformat(_text(value))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=connection.timezone)
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


def _flag(value: Any) -> bool:
    if value not in (0, 1):
        raise ValueError("no flag")
    return bool(value)


def _number(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("no whole number")
    return value


def _share(value: Any) -> float:
    if type(value) not in (int, float):
        raise TypeError("no number")
    return float(value)


def _json(value: Any) -> Any:
    return json.loads(_text(value))


_CONVERSIONS: dict[type[Field[Any, Any]], Callable[[Any], Any]] = {
    models.UUIDField: _id,
    models.DateTimeField: _moment,
    models.BooleanField: _flag,
    models.IntegerField: _number,
    models.FloatField: _share,
    models.JSONField: _json,
}
