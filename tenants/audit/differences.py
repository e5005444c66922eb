"""The values of an event before and after, row by row, with the differing words marked. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

# Beyond that, two texts stand side by side unmarked: comparing takes the square of their length.
_MOST_WORDS = 600
_ORDER = ("changed", "added", "before", "same")


@dataclass(frozen=True, slots=True)
class ValuePiece:
    """Some words: on one side alone (`marked`) or on both."""

    text: str
    marked: bool


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """One value; a side without it is empty. `state`: changed, added, same, or before (there alone)."""

    name: str
    before: tuple[ValuePiece, ...]
    after: tuple[ValuePiece, ...]
    state: str


def differences(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[ValueDifference]:
    """Every value of either side: first what differs, then the rest, each by name.

    A value that only `before` has is not gone: `after` holds only what the event changed.
    """
    old, new = before or {}, after or {}
    rows = [_difference(name, old, new) for name in sorted(old.keys() | new.keys())]
    return sorted(rows, key=lambda row: _ORDER.index(row.state))


def _difference(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> ValueDifference:
    words = name.replace("_", " ")
    if name not in new:
        return ValueDifference(words, (ValuePiece(_plain(old[name]), marked=False),), (), "before")
    if name not in old:
        return ValueDifference(words, (), (ValuePiece(_plain(new[name]), marked=False),), "added")
    first, second = _plain(old[name]), _plain(new[name])
    if first == second:
        return ValueDifference(words, (ValuePiece(first, marked=False),), (ValuePiece(second, marked=False),), "same")
    left, right = first.split(), second.split()
    if max(len(left), len(right)) > _MOST_WORDS:
        return ValueDifference(words, (ValuePiece(first, marked=True),), (ValuePiece(second, marked=True),), "changed")
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    codes = matcher.get_opcodes()
    return ValueDifference(
        words,
        tuple(_pieces(left, [(tag, start, end) for tag, start, end, _, _ in codes])),
        tuple(_pieces(right, [(tag, start, end) for tag, _, _, start, end in codes])),
        "changed",
    )


def _pieces(words: list[str], codes: list[tuple[str, int, int]]) -> Iterator[ValuePiece]:
    for tag, start, end in codes:
        if start < end:
            yield ValuePiece(" ".join(words[start:end]), marked=tag != "equal")


def _plain(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
