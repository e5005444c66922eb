"""The rules of `metadata`, the caller's own JSON object on a memory, and its texts for screening. Pure.

The rules bound what both search planes index: depth, number of values, and keys without the signs of a path.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from memories.errors import InvalidInput

# As JSON in UTF-8, in bytes.
MAX_METADATA_BYTES = 16 * 1024
MAX_METADATA_DEPTH = 5
MAX_METADATA_VALUES = 256
MAX_METADATA_KEY = 64
# Beyond it, integers are not exact as a double, and a database may return another form of a number.
MAX_EXACT = 2**53

# A dot separates the keys of a path; the other signs are syntax in the path of a database.
KEY = re.compile(r'[^."\\\x00-\x1f\x7f]{1,64}')
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

Path = tuple[str, ...]
# The first part of a path of metadata in filters, errors and screening.
METADATA = "metadata"


def checked_metadata(value: object) -> dict[str, Any]:
    """Return `value` if it may be stored as metadata. Raises InvalidInput naming the path."""
    if not isinstance(value, Mapping):
        raise InvalidInput(METADATA, "must be an object.")
    found = sum(1 for _ in _checked(value, (METADATA,)))
    if found > MAX_METADATA_VALUES:
        raise InvalidInput(METADATA, f"has {found} values; at most {MAX_METADATA_VALUES} are allowed.")
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    if size > MAX_METADATA_BYTES:
        raise InvalidInput(
            METADATA, f"is too long: {size:,} bytes as JSON, at most {MAX_METADATA_BYTES:,} are allowed."
        )
    return dict(value)


def joined_metadata(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a memory into which an equal one merges: the new value of each key. Raises InvalidInput."""
    return checked_metadata({**old, **new}) if new else dict(old)


def _checked(value: object, path: Path) -> Iterator[None]:
    """Check a value and yield once for it and for each value inside."""
    name = ".".join(path)
    if len(path) > MAX_METADATA_DEPTH + 1:
        raise InvalidInput(name, f"lies too deep: at most {MAX_METADATA_DEPTH} levels are allowed.")
    yield
    match value:
        case Mapping():
            for key, inner in value.items():
                if not isinstance(key, str) or not KEY.fullmatch(key) or _UNSTORABLE.search(key):
                    raise InvalidInput(
                        name,
                        f"has a key that is not allowed: 1 to {MAX_METADATA_KEY} characters, without dots, double"
                        " quotes, backslashes and control characters.",
                    )
                yield from _checked(inner, (*path, key))
        case list() | tuple():
            for place, inner in enumerate(value):
                yield from _checked(inner, (*path, str(place)))
        case _:
            if reason := unstorable(value):
                raise InvalidInput(name, reason)


def unstorable(value: object) -> str:
    """Why a single value cannot be stored; empty if it can."""
    match value:
        case bool() | None:
            return ""
        case str():
            return (
                "holds a NUL character or half of a character (a lone surrogate)." if _UNSTORABLE.search(value) else ""
            )
        case int() | float():
            exact = math.isfinite(value) and abs(value) <= MAX_EXACT
            return "" if exact else "is no number that is compared exactly; send it as text."
    return "must be text, a number, true, false, null, a list or an object."


def keys_in(value: object, path: Path = (METADATA,)) -> Iterator[tuple[Path, str]]:
    """Yield each key in metadata with the path of its object, outer ones first."""
    match value:
        case Mapping():
            yield from ((path, key) for key in value)
            for key, inner in value.items():
                yield from keys_in(inner, (*path, key))
        case list() | tuple():
            for place, inner in enumerate(value):
                yield from keys_in(inner, (*path, str(place)))


def values_in(value: object, path: Path = (METADATA,)) -> Iterator[tuple[Path, str | int | float]]:
    """Yield the texts and numbers in metadata with their paths."""
    match value:
        case Mapping():
            for key, inner in value.items():
                yield from values_in(inner, (*path, key))
        case list() | tuple():
            for place, inner in enumerate(value):
                yield from values_in(inner, (*path, str(place)))
        case bool() | None:
            return
        case str() | int() | float():
            yield path, value


def with_values(value: Any, others: Mapping[Path, str], path: Path = (METADATA,)) -> Any:
    """Return metadata with the values at these paths replaced."""
    match value:
        case Mapping():
            return {key: with_values(inner, others, (*path, key)) for key, inner in value.items()}
        case list() | tuple():
            return [with_values(inner, others, (*path, str(place))) for place, inner in enumerate(value)]
        case float():
            value += 0.0  # no database keeps the sign of zero
    return others.get(path, value)
