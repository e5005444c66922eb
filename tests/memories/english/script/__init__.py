"""Two years of one person's messages, and what somebody who reads them carefully would know after each.

`statements.json` was written before the rules that are measured by it. Each statement lists the facts that it gives
(`needs`: what a wording must hold to count as that fact), which earlier ones each `replaces` or `makes_false`, and what
`ends` with nothing in its place. `may_end` and `tolerated` are true as well but not asked for. What is in none of these
lists is invented, or wrongly superseded.

`jonas.json` and `priya.json` are shorter talks that the rules had not seen when they were first read; see
docs/lifecycle.md for what they found of them then.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memories.types import Contradiction


@dataclass(frozen=True, slots=True)
class Expected:
    """A fact that a statement gives. `valid_from` is the beginning of an ISO date."""

    name: str
    text: str
    quote: str
    needs: tuple[re.Pattern[str], ...]
    key: str = ""
    category: str = ""
    valid_from: str = ""
    replaces: tuple[str, ...] = ()
    makes_false: tuple[str, ...] = ()
    may_end: tuple[str, ...] = ()
    kind: Contradiction = Contradiction.NATURAL

    def is_said_by(self, text: str) -> bool:
        """Whether `text` is a wording of this fact."""
        return all(need.search(text) for need in self.needs)


@dataclass(frozen=True, slots=True)
class Ended:
    """Facts that a statement ends without a successor of their own."""

    names: tuple[str, ...]
    quote: str
    kind: Contradiction = Contradiction.NATURAL
    valid_to: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """One statement with everything that it should do."""

    number: int
    at: datetime
    text: str
    facts: tuple[Expected, ...]
    ends: tuple[Ended, ...]
    tolerated: tuple[re.Pattern[str], ...]
    update: bool


@dataclass(frozen=True, slots=True)
class Script:
    """The person, what was known of them before (name to wording), and what they said."""

    person: str
    known_before: dict[str, str]
    statements: tuple[Said, ...]


def _patterns(listed: list[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(each, re.IGNORECASE) for each in listed)


def _expected(fact: dict[str, Any]) -> Expected:
    lists: dict[str, Any] = {name: tuple(fact.pop(name, ())) for name in ("replaces", "makes_false", "may_end")}
    needs, kind = _patterns(fact.pop("needs")), Contradiction(fact.pop("kind", "natural"))
    return Expected(**fact, **lists, needs=needs, kind=kind)


def _ended(end: dict[str, Any]) -> Ended:
    kind = Contradiction(end.pop("kind", "natural"))
    return Ended(tuple(end.pop("names")), kind=kind, **end)


def load(name: str = "statements") -> Script:
    """The script, or another of the talks in this folder."""
    told = json.loads((Path(__file__).parent / f"{name}.json").read_text("utf-8"))
    said = tuple(
        Said(
            number,
            datetime.fromisoformat(each["at"]).replace(tzinfo=UTC),
            each["said"],
            tuple(_expected(fact) for fact in each.get("facts", ())),
            tuple(_ended(end) for end in each.get("ends", ())),
            _patterns(each.get("tolerated", [])),
            each.get("update", False),
        )
        for number, each in enumerate(told["statements"], 1)
    )
    return Script(told["person"], {each["name"]: each["text"] for each in told["known_before"]}, said)
