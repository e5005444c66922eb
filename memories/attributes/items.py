"""The rules of items: namespaces, keys and values; what a search reads and what filters compare of a value. Pure.

A namespace is a tuple of labels. Its text has a sign after each label that no label holds, so a prefix of labels is a
prefix of the text, whatever the labels are.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from memories.attributes.filters import MAX_COMPARED
from memories.attributes.metadata import KEY, MAX_METADATA_DEPTH, MAX_METADATA_VALUES, unstorable
from memories.constants import MAX_MEMORY_CHARACTERS
from memories.errors import InvalidInput

MAX_LABELS = 16
MAX_LABEL_CHARACTERS = 128
MAX_NAMESPACE_CHARACTERS = MAX_LABELS * (MAX_LABEL_CHARACTERS + 1)
MAX_ITEM_KEY_CHARACTERS = 512
# As JSON in UTF-8, in bytes.
MAX_VALUE_BYTES = 64 * 1024
MAX_VALUE_DEPTH = 32
MAX_PATHS = 32
MAX_PATH_CHARACTERS = 256
# Half a second, and ten years.
MIN_TTL_MINUTES, MAX_TTL_MINUTES = 0.01, 10 * 366 * 24 * 60

ANY_LABEL = "*"
_AFTER_LABEL = "\x1f"
_NOT_IN_LABEL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_STEP = r"(?:[^.\[\]$][^.\[\]]*|\[(?:\*|\d{1,4})\])"
PATH_PATTERN = rf"\$|{_STEP}(?:\.?{_STEP})*"
_PATH = re.compile(PATH_PATTERN)
_STEPS = re.compile(r"[^.\[\]]+")

Labels = Sequence[str]


def namespace_text(labels: object, field: str = "namespace", *, least: int = 1) -> str:
    """The text of a namespace; empty if it has no labels. Raises InvalidInput naming `field`."""
    if not isinstance(labels, list | tuple):
        raise InvalidInput(field, "must be a list of labels.")
    if not least <= len(labels) <= MAX_LABELS:
        raise InvalidInput(field, f"must have {least} to {MAX_LABELS} labels.")
    for place, label in enumerate(labels):
        good = isinstance(label, str) and label.strip() and len(label) <= MAX_LABEL_CHARACTERS
        if not good or _NOT_IN_LABEL.search(label):
            raise InvalidInput(
                f"{field}.{place}",
                f"must be text of 1 to {MAX_LABEL_CHARACTERS} characters, not blank and without control characters.",
            )
    return "".join(f"{label}{_AFTER_LABEL}" for label in labels)


def labels_of(namespace: str) -> tuple[str, ...]:
    """The labels of a namespace from its text."""
    return tuple(namespace.split(_AFTER_LABEL)[:-1])


def path_of(labels: Labels) -> str:
    """The labels with slashes between them, in which `/` and `%` are percent-encoded, as a query string has them."""
    return "/".join(quote(label, safe="") for label in labels)


def labels_in(path: str) -> tuple[str, ...]:
    """The labels of a namespace from its path. Raises InvalidInput."""
    try:
        labels = tuple(unquote(part, errors="strict") for part in path.split("/"))
    except UnicodeDecodeError:
        raise InvalidInput("namespace", "has a percent sign that encodes no UTF-8.") from None
    namespace_text(labels)
    return labels


def prefixes_of(namespace: str) -> tuple[str, ...]:
    """The texts of all namespaces that hold this one, itself included."""
    return tuple(namespace[: place + 1] for place, sign in enumerate(namespace) if sign == _AFTER_LABEL)


def lies_in(labels: Labels, *, prefix: Labels, suffix: Labels) -> bool:
    """Whether a namespace begins with the labels `prefix` and ends with `suffix`, in which `*` is any label."""
    if len(labels) < max(len(prefix), len(suffix)):
        return False
    pairs = [*zip(prefix, labels, strict=False), *zip(reversed(suffix), reversed(labels), strict=False)]
    return all(wanted in (ANY_LABEL, label) for wanted, label in pairs)


def checked_key(key: object) -> str:
    """Return `key` if it can name an item. Raises InvalidInput."""
    if not isinstance(key, str) or not key.strip() or len(key) > MAX_ITEM_KEY_CHARACTERS:
        raise InvalidInput("key", f"must be text of 1 to {MAX_ITEM_KEY_CHARACTERS} characters that is not blank.")
    if reason := unstorable(key):
        raise InvalidInput("key", reason)
    return key


def address_of(namespace: str, key: str) -> str:
    """A digest that only this namespace and key have."""
    return hashlib.sha256(json.dumps([namespace, key]).encode()).hexdigest()


def value_text(value: object) -> str:
    """The JSON text of a value, from which an equal one is read again. Raises InvalidInput."""
    level = [value]
    for _ in range(MAX_VALUE_DEPTH + 1):
        level = [inner for each in level for inner in _inside(each)]
    if level:
        raise InvalidInput("value", f"lies too deep: at most {MAX_VALUE_DEPTH} levels are allowed.")
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidInput("value", "holds half of a character (a lone surrogate); send valid Unicode.") from None
    except (TypeError, ValueError):
        raise InvalidInput("value", "must be JSON, with finite numbers.") from None
    if size > MAX_VALUE_BYTES:
        raise InvalidInput("value", f"is too long: {size:,} bytes as JSON, at most {MAX_VALUE_BYTES:,} are allowed.")
    return text


def _inside(value: object) -> Iterable[object]:
    match value:
        case Mapping():
            return value.values()
        case list() | tuple():
            return value
    return ()


def filterable(value: object) -> dict[str, Any]:
    """The part of an object that filters compare, within the rules of metadata; empty for what is no object.

    It has the first MAX_METADATA_VALUES values, at most MAX_METADATA_DEPTH levels deep, under names that a path can
    have. A long text is cut to one that is too long to equal anything, so that it still exists.
    """
    left = MAX_METADATA_VALUES

    def part(value: object, depth: int) -> Any:
        nonlocal left
        left -= 1
        match value:
            case Mapping():
                named = ((name, inner) for name, inner in value.items() if KEY.fullmatch(name) and not unstorable(name))
                return dict(parts(named, depth)) if depth < MAX_METADATA_DEPTH else {}
            case list() | tuple():
                return [each for _, each in parts(enumerate(value), depth)] if depth < MAX_METADATA_DEPTH else []
            case str():
                return None if unstorable(value) else value[: MAX_COMPARED + 1]
            case float():
                return None if unstorable(value) else value + 0.0  # no database keeps the sign of zero
        return None if unstorable(value) else value

    def parts(inner: Any, depth: int) -> Iterator[tuple[Any, Any]]:
        for name, each in inner:
            if left <= 0:
                return
            if (found := part(each, depth + 1)) is not None:
                yield name, found

    found = part(value, 0)
    return found if isinstance(found, dict) else {}


def checked_paths(index: object) -> bool | tuple[str, ...]:
    """Which texts of a value are searched: all, none, or those at the paths. Raises InvalidInput."""
    if isinstance(index, bool):
        return index
    if not isinstance(index, list | tuple) or not 1 <= len(index) <= MAX_PATHS:
        raise InvalidInput("index", f"must be true, false or a list of 1 to {MAX_PATHS} paths.")
    for place, path in enumerate(index):
        if not isinstance(path, str) or len(path) > MAX_PATH_CHARACTERS or not _PATH.fullmatch(path):
            raise InvalidInput(f"index.{place}", "is not a path, such as trip.to, stops[0].city, stops[*].city or $.")
    return tuple(index)


def searchable(value: object, index: bool | tuple[str, ...]) -> str:  # noqa: FBT001 - the caller's own word
    """The text that a search reads: a line for each text and number, with its name; at most MAX_MEMORY_CHARACTERS."""
    if isinstance(index, bool):
        lines = [*_lines(value)] if index else []
    else:
        lines = [line for path in index for found in _at(value, path) for line in _lines(found)]
    return "\n".join(lines).replace("\x00", " ")[:MAX_MEMORY_CHARACTERS].strip()


def _lines(value: object, name: str = "") -> Iterator[str]:
    match value:
        case Mapping():
            for inner_name, inner in value.items():
                yield from _lines(inner, inner_name)
        case list() | tuple():
            for inner in value:
                yield from _lines(inner, name)
        case str() | int() | float() if not isinstance(value, bool):
            yield f"{name}: {value}" if name else f"{value}"


def _at(value: object, path: str) -> list[object]:
    """The values at a path; `[*]` is each element of a list."""
    found = [value]
    for step in () if path == "$" else _STEPS.findall(path):
        found = [each for one in found for each in _step(one, step)]
    return found


def _step(value: object, step: str) -> Iterator[object]:
    if isinstance(value, Mapping) and step in value:
        yield value[step]
    elif isinstance(value, list) and step == ANY_LABEL:
        yield from value
    elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
        yield value[int(step)]
