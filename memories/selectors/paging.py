"""Keyset pagination: each page starts after the last row of the one before, so that changes do not shift pages.

A cursor holds the last row's values of the sort columns; access control stays with the queryset. A cursor is signed and
valid only for lists of the same model in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.core import signing
from django.db.models import Field, Model, Q, QuerySet
from django.utils.translation import gettext as _

from memories.errors import InvalidInput

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows, and the cursor of the next page; empty on the last page."""

    rows: tuple[Row, ...]
    next_cursor: str


def page_of(rows: QuerySet[Row], *, limit: int, cursor: str = "") -> Page[Row]:
    """At most `limit` rows after `cursor`, in the order of `rows`, which must end in a unique column without nulls.

    Raises InvalidInput for a cursor that does not belong to such a list, and ValueError for rows without an order.
    """
    order = tuple(str(column) for column in rows.query.order_by or rows.model._meta.ordering or ())
    if not order:
        raise ValueError(f"Pages of {rows.model.__name__} need an order.")
    if cursor:
        rows = rows.filter(_after(order, _read(cursor, rows.model, order)))
    found = list(rows[: limit + 1])
    page = tuple(found[:limit])
    return Page(page, _write(page[-1], order) if len(found) > limit else "")


def _after(order: Sequence[str], values: Sequence[object]) -> Q:
    """The rows after the one with `values`: later in a column, and equal in all columns before it."""
    condition, equal = Q(pk__in=[]), Q()
    for column, value in zip(order, values, strict=True):
        name = column.removeprefix("-")
        direction = "lt" if column.startswith("-") else "gt"
        condition |= equal & Q(**{f"{name}__{direction}": value})
        equal &= Q(**{name: value})
    return condition


def _write(row: Model, order: Sequence[str]) -> str:
    values = [field.value_to_string(row) for field in _columns(type(row), order)]
    return signing.dumps(values, salt=_salt(type(row), order))


def _read(cursor: str, model: type[Model], order: Sequence[str]) -> list[object]:
    try:
        values = signing.loads(cursor, salt=_salt(model, order))
    except signing.BadSignature as error:
        raise InvalidInput("cursor", _("is not a cursor of this list; leave it out to begin anew.")) from error
    return [field.to_python(value) for field, value in zip(_columns(model, order), values, strict=True)]


def _columns(model: type[Model], order: Sequence[str]) -> list[Field[Any, Any]]:
    by_name = {"pk": model._meta.pk, **{field.name: field for field in model._meta.concrete_fields}}
    return [by_name[column.removeprefix("-")] for column in order]


def _salt(model: type[Model], order: Sequence[str]) -> str:
    return f"memories.page:{model._meta.label_lower}:{','.join(order)}"
