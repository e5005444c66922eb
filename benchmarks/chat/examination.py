"""How an examination is written down and graded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

UNKNOWN = "don't know"


class Grade(StrEnum):
    """What an answer is worth. Wrong: it states or does something that is untrue or was not asked for."""

    RIGHT = "right"
    USELESS = "useless"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message and what is expected of the answer. Each expectation is a regular expression; case does not count.

    `has`: the answer holds all of them. `lacks`: an answer that holds one of them is wrong. `believed`: a current fact
    matches each afterwards. `gone`: no current fact may match. A message with neither may not change any fact.
    `unknown`: the answer must own that it does not know, and say nothing else.
    """

    said: str
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    believed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    unknown: bool = False
    may_store: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """What one member says, in order, to a memory that is empty at first. Nobody tunes on one that is held out."""

    who: str
    exchanges: tuple[Exchange, ...]
    held_out: bool = False


def said(
    message: str,
    *has: str,
    lacks: Sequence[str] = (),
    believed: Sequence[str] = (),
    gone: Sequence[str] = (),
    may_store: bool = False,
) -> Exchange:
    """A message, and what the answer has to hold."""
    return Exchange(message, has, tuple(lacks), tuple(believed), tuple(gone), may_store=may_store)


def unknown(message: str, *lacks: str) -> Exchange:
    """A question of which nothing was told."""
    return Exchange(message, (UNKNOWN,), lacks, unknown=True)


def grade(expected: Exchange, answer: str, before: frozenset[str], after: frozenset[str]) -> Grade:
    """Judge an answer by its words and by the current facts `before` and `after` the message."""
    changes = bool(expected.believed or expected.gone or expected.may_store)
    if not changes and before != after:
        return Grade.WRONG
    if any(_holds(pattern, answer) for pattern in expected.lacks):
        return Grade.WRONG
    if any(_holds(pattern, fact) for pattern in expected.gone for fact in after):
        return Grade.WRONG
    if expected.unknown and not (_holds(UNKNOWN, answer) and len(answer) < 60):
        return Grade.WRONG
    told = all(_holds(pattern, answer) for pattern in expected.has)
    kept = all(any(_holds(pattern, fact) for fact in after) for pattern in expected.believed)
    return Grade.RIGHT if told and kept else Grade.USELESS


def _holds(pattern: str, text: str) -> bool:
    return re.search(pattern, text.replace("’", "'"), re.IGNORECASE) is not None
