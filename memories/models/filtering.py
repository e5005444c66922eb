"""Filters as conditions of the database, with the meaning of `memories/attributes/evaluation.py`."""

from __future__ import annotations

import functools
import json
import operator
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, F, Func, Q
from django.db.models.sql.compiler import SQLCompiler

from memories.attributes.filters import MAX_COMPARED, NAMESPACE
from memories.attributes.metadata import METADATA
from memories.models.item import begins_with
from memories.types import Condition, Filter, FilterOperator, Junction, Kind, Negation, Scalar

_NOTHING = Q(pk__in=[])
# The column of each field, and the kinds that have it.
_COLUMNS: dict[str, tuple[str, frozenset[Kind]]] = {
    "status": ("status", frozenset(Kind)),
    "app": ("app", frozenset(Kind)),
    "created_at": ("created_at", frozenset(Kind)),
    "happened_at": ("happened_at", frozenset({Kind.EPISODIC})),
    "session": ("session_id", frozenset({Kind.EPISODIC})),
    "key": ("key", frozenset({Kind.SEMANTIC, Kind.ITEM})),
    "category": ("category", frozenset({Kind.SEMANTIC, Kind.PROCEDURAL})),
}
_SIGNS = {FilterOperator.GT: ">", FilterOperator.GTE: ">=", FilterOperator.LT: "<", FilterOperator.LTE: "<="}


def filter_of(filters: Filter, kind: Kind) -> Q:
    """The condition on rows of `kind` that a filter means."""
    match filters:
        case Negation():
            return ~filter_of(filters.part, kind)
        case Junction(parts=()):
            return ~_NOTHING
        case Junction():
            join = operator.and_ if filters.every else operator.or_
            return functools.reduce(join, (filter_of(part, kind) for part in filters.parts))
        case Condition():
            return _condition(filters, kind)


def _condition(condition: Condition, kind: Kind) -> Q:
    field, comparison, values = condition.path[0], condition.operator, condition.values
    if field == METADATA:
        return Q(MetadataCondition(condition))
    if field == NAMESPACE:
        return Q(begins_with(str(values[0]))) if kind is Kind.ITEM else _NOTHING
    if field == "kind":
        return ~_NOTHING if kind in values else _NOTHING
    column, kinds = _COLUMNS[field]
    if kind not in kinds:
        return _NOTHING
    if comparison is FilterOperator.IN:
        return Q(**{f"{column}__in": values})
    if comparison is FilterOperator.EXISTS:
        # Only texts can be empty: the other columns of a kind that has them are always set.
        return ~Q(**{column: ""}) if field in ("app", "key", "category") else ~_NOTHING
    return Q(**{f"{column}__{comparison.value}": values[0]})


class MetadataCondition(Func):
    """A condition on metadata. It is true or false, never null, so that its negation is the rest."""

    output_field = BooleanField()

    def __init__(self, condition: Condition) -> None:
        super().__init__(F(METADATA))
        self.condition = condition

    def as_sqlite(
        self,
        compiler: SQLCompiler,
        connection: BaseDatabaseWrapper,  # noqa: ARG002 - the framework's signature
        **extra_context: Any,  # noqa: ARG002 - likewise
    ) -> tuple[str, Any]:
        """With SQLite's JSON functions. Keys are escaped as they are stored; a number is read from JSON like those."""
        column, params = compiler.compile(self.source_expressions[0])
        path = "$" + "".join(f".{json.dumps(key)}" for key in self.condition.path[1:])
        type_, value, at = f"json_type({column}, %s)", f"json_extract({column}, %s)", [*params, path]
        comparison, values = self.condition.operator, self.condition.values
        match comparison:
            case FilterOperator.EXISTS:
                return f"(coalesce({type_}, 'null') <> 'null')", at
            case FilterOperator.IN:
                each = [_equal_on_sqlite(type_, value, given) for given in values]
                found = " OR ".join(sql for sql, _ in each)
                return f"coalesce({found}, 0)", [more for _, given in each for more in (*at, *at, given)]
            case FilterOperator.CONTAINS:
                sql, given = _equal_on_sqlite("type", "atom", values[0])
                some = f"EXISTS (SELECT 1 FROM json_each({column}, %s) WHERE {sql})"  # noqa: S608 - fixed words and a column
                return f"(coalesce({type_} = 'array', 0) AND {some})", [*at, *at, given]
        sign = _SIGNS[comparison]
        if isinstance(values[0], str):
            short = f"{type_} = 'text' AND length({value}) <= {MAX_COMPARED}"
            return f"coalesce({short} AND {value} {sign} %s, 0)", [*at, *at, *at, values[0]]
        number = f"{type_} IN ('integer', 'real') AND {value} {sign} json_extract(%s, '$')"
        return f"coalesce({number}, 0)", [*at, *at, json.dumps(values[0])]

    def as_postgresql(
        self,
        compiler: SQLCompiler,
        connection: BaseDatabaseWrapper,  # noqa: ARG002 - the framework's signature
        **extra_context: Any,  # noqa: ARG002 - likewise
    ) -> tuple[str, Any]:
        """With the operators of jsonb, whose `->` with a text never reads a list."""
        column, params = compiler.compile(self.source_expressions[0])
        node = column + " -> %s::text" * (len(self.condition.path) - 1)
        at = [*params, *self.condition.path[1:]]
        comparison, values = self.condition.operator, self.condition.values
        match comparison:
            case FilterOperator.EXISTS:
                return f"(coalesce(jsonb_typeof({node}), 'null') <> 'null')", at
            case FilterOperator.IN:
                given = ", ".join(["%s::jsonb"] * len(values))
                return f"coalesce(({node}) IN ({given}), false)", [*at, *map(json.dumps, values)]
            case FilterOperator.CONTAINS:
                holds = f"({node}) @> %s::jsonb"
                sql = f"(CASE WHEN jsonb_typeof({node}) = 'array' THEN {holds} ELSE false END)"
                return sql, [*at, *at, json.dumps(list(values))]
        sign, text = _SIGNS[comparison], f"({node}) #>> '{{}}'"
        if isinstance(values[0], str):
            short = f"jsonb_typeof({node}) = 'string' AND length({text}) <= {MAX_COMPARED}"
            sql = f'(CASE WHEN {short} THEN ({text}) COLLATE "C" {sign} %s::text ELSE false END)'
            return sql, [*at, *at, *at, values[0]]
        number = f"({text})::double precision {sign} %s::double precision"
        sql = f"(CASE WHEN jsonb_typeof({node}) = 'number' THEN {number} ELSE false END)"
        return sql, [*at, *at, json.dumps(values[0])]


def _equal_on_sqlite(type_: str, value: str, given: Scalar) -> tuple[str, str]:
    """The comparison with a value, in which both `type_` and `value` occur, and its parameter."""
    if isinstance(given, bool):
        # The types of JSON are true and false; the value is compared so that both occur once.
        return f"({type_} IN ('true', 'false') AND {value} = json_extract(%s, '$'))", json.dumps(given)
    if isinstance(given, str):
        return f"({type_} = 'text' AND {value} = %s)", given
    return f"({type_} IN ('integer', 'real') AND {value} = json_extract(%s, '$'))", json.dumps(given)
