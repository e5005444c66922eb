"""Reads a filter from JSON. Errors name the path in the tree.

{"and": [{"field": "metadata.trip.to", "op": "eq", "value": "Lisbon"},
{"not": {"field": "created_at", "op": "lt", "value": "2026-01-01T00:00:00Z"}}]}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.utils.dateparse import parse_datetime

from memories.attributes.metadata import KEY, MAX_METADATA_DEPTH, METADATA, unstorable
from memories.constants import FIRST_YEAR, LAST_YEAR, MAX_KEY_CHARACTERS
from memories.errors import InvalidInput
from memories.types import ALL_KINDS, Condition, Filter, FilterOperator, Junction, Negation, Scalar, Status

MAX_FILTER_DEPTH = 8
MAX_CONDITIONS = 64
MAX_FILTER_VALUES = 100
# Characters of a text that filters compare; a longer one in metadata matches `exists` alone.
MAX_COMPARED = 256

TIMES = frozenset({"created_at", "happened_at"})
_CHOICES: Mapping[str, tuple[str, ...]] = {"kind": ALL_KINDS, "status": tuple(Status)}
FIELDS = ("kind", "status", "category", "key", "session", "app", "created_at", "happened_at")
ITEM_FIELDS = ("key", "app", "created_at")
# Not for callers: the prefixes of the namespace of an item.
NAMESPACE = "namespace"
_ALWAYS = frozenset({"kind", "status", "created_at"})
RANGES = frozenset({FilterOperator.GT, FilterOperator.GTE, FilterOperator.LT, FilterOperator.LTE})
_OPERATORS = ("eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "exists", "contains")
EVERYTHING = Junction(())


class _TreeReader:
    """Reads one tree and counts its conditions."""

    def __init__(self, document: str, fields: Sequence[str]) -> None:
        self.conditions = 0
        self.document, self.fields = document, fields

    def tree(self, data: object, at: str, depth: int) -> Filter:
        if not isinstance(data, Mapping):
            raise InvalidInput(at, 'must be an object: "and", "or", "not", or a condition with "field" and "op".')
        if depth > MAX_FILTER_DEPTH:
            raise InvalidInput(at, f"lies too deep: at most {MAX_FILTER_DEPTH} levels are allowed.")
        if "field" in data:
            return self._condition(data, at)
        if len(data) != 1 or (name := next(iter(data))) not in ("and", "or", "not"):
            raise InvalidInput(at, 'must have exactly one of "and", "or" and "not", or "field" and "op".')
        inside = f"{at}.{name}"
        if name == "not":
            return Negation(self.tree(data[name], inside, depth + 1))
        if not isinstance(data[name], list) or not data[name]:
            raise InvalidInput(inside, "must be a list with at least one filter.")
        parts = tuple(self.tree(each, f"{inside}.{place}", depth + 1) for place, each in enumerate(data[name]))
        return Junction(parts, every=name == "and")

    def _condition(self, data: Mapping[Any, Any], at: str) -> Filter:
        self.conditions += 1
        if self.conditions > MAX_CONDITIONS:
            raise InvalidInput(at, f"is one condition too many: at most {MAX_CONDITIONS} are allowed.")
        if set(data) - {"field", "op", "value"}:
            raise InvalidInput(at, 'takes "field", "op" and "value" and nothing else.')
        path = self._path(data["field"], f"{at}.field")
        op = data.get("op")
        if op not in _OPERATORS:
            raise InvalidInput(f"{at}.op", f"must be one of {', '.join(_OPERATORS)}.")
        if "value" not in data:
            raise InvalidInput(f"{at}.value", "is missing.")
        _require_comparable(path, op, f"{at}.op")
        return _compared(path, op, data["value"], f"{at}.value")

    def _path(self, name: object, at: str) -> tuple[str, ...]:
        if not isinstance(name, str):
            raise InvalidInput(at, "must be text.")
        first, *keys = name.split(".")
        if first == self.document and 1 <= len(keys) <= MAX_METADATA_DEPTH and all(map(KEY.fullmatch, keys)):
            if not unstorable(name):
                return METADATA, *keys
        elif not keys and first in self.fields:
            return (first,)
        known, path = ", ".join(self.fields), self.document
        raise InvalidInput(at, f"must be one of {known}, or {path} with a path, such as {path}.trip.to.")


def parse_filter(
    data: object, name: str = "filters", *, document: str = METADATA, fields: Sequence[str] = FIELDS
) -> Filter:
    """Return the filter that JSON describes; `name` is that of the argument. Raises InvalidInput.

    `document` is what callers call the JSON whose paths they compare; `fields` are the others that they may name.
    """
    return _TreeReader(document, fields).tree(data, name, 1)


def both(one: Filter | None, other: Filter | None) -> Filter | None:
    """The filter that matches what both match; None matches everything."""
    return Junction((one, other)) if one and other else one or other


def of_app(app: str) -> Filter:
    """The filter of a call that is confined to an app: its memories and those of no app."""
    own, of_any = Condition(("app",), FilterOperator.IN, (app,)), Condition(("app",), FilterOperator.EXISTS)
    return Junction((own, Negation(of_any)), every=False)


def of_namespace(text: str) -> Filter | None:
    """The filter of the items in a namespace and those inside it, from its text; None for all items."""
    return Condition((NAMESPACE,), FilterOperator.CONTAINS, (text,)) if text else None


def conditions(filters: Filter | None) -> Iterator[Condition]:
    """Yield the conditions of a filter."""
    match filters:
        case Condition():
            yield filters
        case Negation():
            yield from conditions(filters.part)
        case Junction():
            for part in filters.parts:
                yield from conditions(part)


def _require_comparable(path: tuple[str, ...], op: str, at: str) -> None:
    """Raise InvalidInput for a range of a name, or for the elements of what is no list."""
    in_metadata = path[0] == METADATA
    if op == FilterOperator.CONTAINS and not in_metadata:
        raise InvalidInput(at, "contains asks for an element of a list in metadata.")
    if op in RANGES and not in_metadata and path[0] not in TIMES:
        raise InvalidInput(at, f"{op} compares times, and numbers and texts in metadata.")


def _compared(path: tuple[str, ...], op: str, value: object, at: str) -> Filter:
    if op == FilterOperator.EXISTS:
        if not isinstance(value, bool):
            raise InvalidInput(at, "must be true or false.")
        there: Filter = EVERYTHING if path[0] in _ALWAYS else Condition(path, FilterOperator.EXISTS)
        return there if value else Negation(there)
    if op in ("in", "nin"):
        if not isinstance(value, list) or not 1 <= len(value) <= MAX_FILTER_VALUES:
            raise InvalidInput(at, f"must be a list of 1 to {MAX_FILTER_VALUES} values.")
        values = tuple(_value(path, each, f"{at}.{place}") for place, each in enumerate(value))
    else:
        values = (_value(path, value, at),)
    if op in RANGES and isinstance(values[0], bool):
        raise InvalidInput(at, "must be a number or text; true and false have no order.")
    if op in ("eq", "ne", "in", "nin"):
        equal = Condition(path, FilterOperator.IN, values)
        return Negation(equal) if op in ("ne", "nin") else equal
    return Condition(path, FilterOperator(op), values)


def _value(path: tuple[str, ...], value: object, at: str) -> Scalar:
    """A value in the form in which it is compared. Raises InvalidInput."""
    if value is None:
        raise InvalidInput(at, 'must not be null; null counts as missing, so ask with "exists".')
    if path[0] == METADATA:
        if not isinstance(value, str | bool | int | float):
            raise InvalidInput(at, "must be text, a number, true or false.")
        if reason := unstorable(value):
            raise InvalidInput(at, reason)
        if isinstance(value, str) and len(value) > MAX_COMPARED:
            raise InvalidInput(at, f"is too long: texts of at most {MAX_COMPARED} characters are compared.")
        return value
    if not isinstance(value, str):
        raise InvalidInput(at, "must be text.")
    if path[0] in TIMES:
        return _moment(value, at)
    if path[0] in _CHOICES and value not in _CHOICES[path[0]]:
        raise InvalidInput(at, f"must be one of {', '.join(_CHOICES[path[0]])}.")
    if path[0] == "session":
        try:
            return str(UUID(value))
        except ValueError:
            raise InvalidInput(at, "is not a UUID.") from None
    if not value or len(value) > MAX_KEY_CHARACTERS or unstorable(value):
        raise InvalidInput(at, f'must have 1 to {MAX_KEY_CHARACTERS} characters; ask for an empty one with "exists".')
    return value


def _moment(value: str, at: str) -> datetime:
    try:
        found = parse_datetime(value)
        moment = found.astimezone(UTC) if found is not None and found.tzinfo is not None else None
    except (ValueError, OverflowError):
        moment = None
    if moment is None or not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise InvalidInput(at, "is not a time in ISO 8601 with a time zone, such as 2026-03-01T09:30:00Z.")
    return moment
