"""Reading rows with nothing taken for granted: a value that its column cannot have is told apart, not an error.

SQLite takes anything for a time, an id or a flag; Django then fails on it, or reads nothing where something is. Other
databases refuse that, but not a status that there is not. Invariant: what was put there is no part of what is said.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any, TypeVar
from uuid import UUID

from django.db import connection, models
from django.db.models import F, Field, Func, QuerySet
from django.db.models.constants import LOOKUP_SEP
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django.utils.dateparse import parse_datetime

Rows = TypeVar("Rows", bound=QuerySet[Any, Any])


class Unreadable(Enum):
    """What stands in the place of a value that its column cannot have."""

    HERE = "unreadable"


UNREADABLE = Unreadable.HERE

# What Django, and whoever goes on with what it read, may fail with where a value is not of its column's type.
READING_FAILS = (ValueError, TypeError, AttributeError, OverflowError)


class _Bare(Func):
    """A column as it is stored: texts as their bytes, which may be no text at all; what was put there as bytes is none.

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
        for values in rows.values_list(*names).iterator(chunk_size=chunk_size):
            yield tuple(_possible(field, value) for field, value in zip(fields, values, strict=True)), None
        return
    reads = [_reading(field) for field in fields]
    stored = rows.values_list(*map(_Bare, names), _place(rows.model))
    for *values, place in stored.iterator(chunk_size=chunk_size):
        yield tuple(read(value) for read, value in zip(reads, values, strict=True)), place


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


def _reading(field: Field[Any, Any]) -> Callable[[Any], Any]:
    convert = next((read for kind, read in _READS.items() if isinstance(field, kind)), _text)

    def read(value: Any) -> Any:
        if value is None:
            return None
        try:
            return _possible(field, convert(value))
        except (*READING_FAILS, RecursionError):
            return UNREADABLE

    return read


def _possible(field: Field[Any, Any], value: Any) -> Any:
    """`value`, if it is one of those that there are, or of the shape that the field begins with."""
    if value is not None and isinstance(field, models.JSONField) and field.default in (list, dict):
        return value if isinstance(value, field.default) else UNREADABLE
    if value and field.choices and value not in dict(field.flatchoices):
        return UNREADABLE
    return value


def _text(value: Any) -> str:
    return bytes.decode(value)


def _id(value: Any) -> UUID:
    text = _text(value)
    read = UUID(text)
    if read.hex != text:
        raise ValueError("no id that a query would find")
    return read


def _moment(value: Any) -> datetime:
    moment = parse_datetime(_text(value))
    if moment is None:
        raise ValueError("no time")
    aware = moment if timezone.is_aware(moment) else timezone.make_aware(moment, connection.timezone)
    return aware.astimezone(UTC)


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


_READS: dict[type[Field[Any, Any]], Callable[[Any], Any]] = {
    models.UUIDField: _id,
    models.DateTimeField: _moment,
    models.BooleanField: _flag,
    models.IntegerField: _number,
    models.FloatField: _share,
    models.JSONField: _json,
}
