"""The form of an examination, and the grading of an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

UNKNOWN = "don't know"


class Grade(StrEnum):
    """The grade of an answer. Wrong: it states or does something untrue or unasked."""

    RIGHT = "right"
    USELESS = "useless"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message and the expectations of its answer: regular expressions, searched without regard to case.

    `has`: the answer matches all. `lacks`: an answer that matches one is wrong. `believed`: afterwards each matches a
    current fact. `gone`: none matches a current fact. With neither, and without `may_store`, the message must not
    change any fact. `unknown`: the answer must briefly say that it does not know.
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
    """The messages of one member with an initially empty memory. Rules are never tuned on a held-out one."""

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
    """A message with patterns that the answer must match."""
    return Exchange(message, has, tuple(lacks), tuple(believed), tuple(gone), may_store=may_store)


def unknown(message: str, *lacks: str) -> Exchange:
    """A question whose answer the member never gave."""
    return Exchange(message, (UNKNOWN,), lacks, unknown=True)


def grade(expected: Exchange, answer: str, before: frozenset[str], after: frozenset[str]) -> Grade:
    """Grade an answer by its text and by the texts of current facts `before` and `after` the message."""
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
