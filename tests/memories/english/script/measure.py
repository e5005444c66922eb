"""Measures what a memory holds after the script against what it should hold.

Invariant: every fact that was stored counts as expected, tolerated or invented; every end of one as expected or wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memories.types import Contradiction
from tests.memories.english.script import Said, Script


@dataclass(frozen=True, slots=True)
class Learned:
    """A fact as a memory holds it. `said_in` numbers the statement it was learned from; none: known before.

    `ended_in` numbers the statement that ended it, `successor` is the text of what took its place.
    """

    text: str
    said_in: int | None
    valid_from: datetime | None = None
    ended_in: int | None = None
    kind: Contradiction | None = None
    successor: str = ""


@dataclass(slots=True)
class Score:
    """Counts, and what they are made of for whoever reads a failure."""

    facts: int = 0
    expected_facts: int = 0
    ends: int = 0
    expected_ends: int = 0
    times: int = 0
    expected_times: int = 0
    invented: list[str] = field(default_factory=list)
    wrong_ends: list[str] = field(default_factory=list)
    wrong_times: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)


def measure(script: Script, learned: Sequence[Learned]) -> Score:
    """The score of a memory."""
    score = Score()
    names = {fact: name for fact in learned if (name := _name(script, fact, score))}
    held = set(names.values())
    for said in script.statements:
        for expected in said.facts:
            score.expected_facts += 1
            score.facts += expected.name in held
            if expected.name not in held:
                score.missed.append(f"{said.number}: {expected.text}")
    _measure_times(script, names, score)
    found = {(name, fact.ended_in) for fact, name in names.items() if _ends_rightly(script, fact, name, score)}
    for name, number in _expected_ends(script):
        score.expected_ends += 1
        score.ends += (name, number) in found
        if (name, number) not in found:
            score.missed.append(f"{number}: the end of {name}")
    return score


def _name(script: Script, fact: Learned, score: Score) -> str:
    """Which expected fact this is; a fact that nobody told is counted as invented."""
    if fact.said_in is None:
        return next((name for name, text in script.known_before.items() if text == fact.text), "")
    said = script.statements[fact.said_in - 1]
    for expected in said.facts:
        if expected.is_said_by(fact.text):
            return expected.name
    if not any(pattern.search(fact.text) for pattern in said.tolerated):
        score.invented.append(f"{said.number}: {fact.text}")
    return ""


def _measure_times(script: Script, names: dict[Learned, str], score: Score) -> None:
    expected = {fact.name: fact for said in script.statements for fact in said.facts}
    score.expected_times = sum(bool(fact.valid_from) for fact in expected.values())
    for learned, name in names.items():
        if name in expected and learned.valid_from and (told := expected[name].valid_from):
            right = learned.valid_from.isoformat().startswith(told)
            score.times += right
            if not right:
                score.wrong_times.append(f"{learned.text}: {learned.valid_from}")


def _expected_ends(script: Script) -> Iterator[tuple[str, int]]:
    for said in script.statements:
        for fact in said.facts:
            yield from ((name, said.number) for name in (*fact.replaces, *fact.makes_false))
        for end in said.ends:
            yield from ((name, said.number) for name in end.names)


def _ends_rightly(script: Script, fact: Learned, name: str, score: Score) -> bool:
    """Whether a fact ended where it should; an end that should not be is counted as wrong."""
    if fact.ended_in is None:
        return False
    said = script.statements[fact.ended_in - 1]
    if fact.kind in _kinds(said, fact, name):
        return True
    if not any(name in each.may_end for each in said.facts):
        score.wrong_ends.append(f"{said.number}: {fact.text} ({fact.kind}) -> {fact.successor}")
    return False


def _kinds(said: Said, fact: Learned, name: str) -> set[Contradiction]:
    """In which ways a statement may end this fact, given what took its place."""
    kinds = {end.kind for end in said.ends if name in end.names}
    for each in said.facts:
        if name in each.replaces and (not fact.successor or each.is_said_by(fact.successor)):
            kinds.add(each.kind)
        if name in each.makes_false:
            kinds.add(Contradiction.NATURAL)
    return kinds
