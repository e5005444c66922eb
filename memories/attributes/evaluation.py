"""What a filter means: its evaluation on one memory, and the sortable tokens by which search planes evaluate it. Pure.

- A field is missing if the memory has none, or if it is empty or null. `exists` asks for that alone.
- `in` holds if the field is a single value that equals one of the values: the same text, number (1 equals 1.0), truth
  or time. Values of different types are never equal. A list or object equals nothing.
- `gt`, `gte`, `lt`, `lte` compare numbers, times, and texts by code point, each with its own type.
- `contains` holds if the field is a list with an element that equals the value.
- Texts of more than MAX_COMPARED characters compare with nothing. A path leads through objects, not into lists.
- Every condition holds or not; a negation holds exactly where its part does not.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from memories.attributes.filters import FIELDS, MAX_COMPARED, NAMESPACE
from memories.attributes.metadata import METADATA
from memories.types import Condition, Filter, FilterOperator, Junction, Negation

# The attributes of a memory by field; metadata as an object, missing ones left out.
Attributes = Mapping[str, Any]

_ORDER: Mapping[FilterOperator, Callable[[Any, Any], bool]] = {
    FilterOperator.GT: operator.gt,
    FilterOperator.GTE: operator.ge,
    FilterOperator.LT: operator.lt,
    FilterOperator.LTE: operator.le,
}
_FIRST_MOMENT = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def attributes_of(row: Any) -> dict[str, Any]:
    """The attributes of a memory row."""
    session_id = getattr(row, "session_id", None)
    found = {name: getattr(row, name, None) for name in (*FIELDS, METADATA)}
    found["session"] = str(session_id) if session_id else None
    found[NAMESPACE] = getattr(row, "prefixes", None)
    return {
        name: str(value) if isinstance(value, str) else value
        for name, value in found.items()
        if value not in (None, "")
    }


def matches(filters: Filter, attributes: Attributes) -> bool:
    """Whether a filter matches a memory with these attributes."""
    match filters:
        case Negation():
            return not matches(filters.part, attributes)
        case Junction():
            return (all if filters.every else any)(matches(part, attributes) for part in filters.parts)
        case Condition():
            return _holds(filters, attributes)


def _holds(condition: Condition, attributes: Attributes) -> bool:
    found = _at(attributes, condition.path)
    match condition.operator:
        case FilterOperator.EXISTS:
            return found is not None
        case FilterOperator.IN:
            return any(_equal(found, value) for value in condition.values)
        case FilterOperator.CONTAINS:
            (value,) = condition.values
            return value in found if isinstance(found, tuple) else _holds_element(found, value)
    (value,) = condition.values
    return _type_of(found) == _type_of(value) != "" and _ORDER[condition.operator](found, value)


def _holds_element(found: Any, value: Any) -> bool:
    return isinstance(found, list) and any(_equal(each, value) for each in found)


def _at(attributes: Attributes, path: tuple[str, ...]) -> Any:
    found: Any = attributes
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _equal(found: Any, value: Any) -> bool:
    return _type_of(found) == _type_of(value) != "" and bool(found == value)


def _type_of(value: object) -> str:
    """The type by which a value is compared, which is also its sign in a token; empty if it is not compared."""
    match value:
        case bool():
            return "b"
        case str():
            return "s" if len(value) <= MAX_COMPARED else ""
        case int() | float() | datetime():
            return "n"
    return ""


# Tokens: the path, a sign that no path holds, and either EXISTS or the value with its type, so that equal values give
# equal tokens and the order of tokens (as UTF-8) is that of the values of one path and type.
_SEPARATOR = "\x1f"
_EXISTS, _ELEMENT = "e", "l"


def tokens_of(attributes: Attributes) -> tuple[str, ...]:
    """The distinct tokens of a memory's attributes."""
    found: dict[str, None] = {}
    for name, value in attributes.items():
        found |= dict.fromkeys(_tokens(value, name))
    return tuple(found)


def _tokens(value: Any, path: str) -> Iterator[str]:
    if value is None:
        return
    yield f"{path}{_SEPARATOR}{_EXISTS}"
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _tokens(inner, f"{path}.{key}")
    elif isinstance(value, list):
        yield from (f"{path}{_SEPARATOR}{_ELEMENT}{_sortable(each)}" for each in value if _type_of(each))
    elif isinstance(value, tuple):  # the prefixes of a namespace, which are compared whatever their length
        yield from (f"{path}{_SEPARATOR}{_ELEMENT}{_sortable(each)}" for each in value)
    elif _type_of(value):
        yield f"{path}{_SEPARATOR}{_sortable(value)}"


def exact_tokens(condition: Condition) -> tuple[str, ...]:
    """The tokens of which a memory that meets this condition has at least one; not for ranges."""
    path = ".".join(condition.path)
    if condition.operator is FilterOperator.EXISTS:
        return (f"{path}{_SEPARATOR}{_EXISTS}",)
    sign = _ELEMENT if condition.operator is FilterOperator.CONTAINS else ""
    return tuple(f"{path}{_SEPARATOR}{sign}{_sortable(value)}" for value in condition.values)


def token_range(condition: Condition) -> tuple[str, str, str, str]:
    """The range of the tokens that meet a range condition: lower operator and bound, upper operator and bound."""
    (value,) = condition.values
    type_ = _type_of(value)
    before = f"{'.'.join(condition.path)}{_SEPARATOR}"
    first, last, bound = f"{before}{type_}", f"{before}{chr(ord(type_) + 1)}", f"{before}{_sortable(value)}"
    match condition.operator:
        case FilterOperator.GT | FilterOperator.GTE:
            return condition.operator.value, bound, "lt", last
        case _:
            return "gte", first, condition.operator.value, bound


def _sortable(value: Any) -> str:
    match value:
        case bool():
            return f"b{value:d}"
        case str():
            return f"s{value}"
        case datetime():
            return _sortable((value - _FIRST_MOMENT) // _MICROSECOND)
    (bits,) = struct.unpack(">Q", struct.pack(">d", float(value) + 0.0))
    # Positive doubles sort like their bits; negative ones in reverse, and before them.
    return f"n{bits ^ (0xFFFF_FFFF_FFFF_FFFF if bits >> 63 else 1 << 63):016x}"
