"""What was true over time: facts and those that they replaced, in their order, quoted with their times.

Invariant: what was never true is not told as having been so, and of a fact that ended the end is told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memories.agent.offline.records import Memory
from memories.agent.offline.wording import date, quote, tells_of_others
from memories.english.text import content_words, phrases, shared_words

_I_HAVE = r"\b(?:(?:have|had) (?:i|we)|(?:i|we)(?:'ve| have| had))(?: ever| all| already| both| so far)?"
_HISTORY = re.compile(
    rf"{_I_HAVE} (?:"
    + phrases(
        "lived, worked, been living, been working, been called, had, owned, driven, used, studied, rented, stayed"
    )
    + r")\b|\bhistory of my\b|\bmy \w+ history\b|\bover the years\b",
    re.IGNORECASE,
)
# What the question holds besides its topic.
_FRAME = re.compile(rf"{_I_HAVE}|\bhistory\b|\bover the years\b|\bever\b|\bso far\b|\bplaces?\b", re.IGNORECASE)


def asks_for_history(question: str) -> bool:
    """Whether a question is about all that was so, one after the other: "where have I lived?"."""
    return bool(_HISTORY.search(question))


def history(question: str, memories: Sequence[Memory]) -> str:
    """All that was so, a line for each thing that can have one value at a time; empty if memory holds nothing."""
    facts = [memory for memory in memories if memory.kind == "semantic" and not memory.shared and not memory.never_true]
    topical = _topical(
        content_words(_FRAME.sub(" ", question)), [fact for fact in facts if not tells_of_others(fact.text)]
    )
    lines: dict[str, list[Memory]] = {}
    keys = {fact.key for fact in topical if fact.key}
    for fact in facts:
        if fact.key in keys or fact in topical:
            lines.setdefault(fact.key or fact.id, []).append(fact)
    told = [_line(_in_order(line)) for line in lines.values()]
    if len(told) > 1:
        return "\n".join(["From your history:", *(f"- {each}" for each in told)])
    return f"From your history: {told[0]}." if told else ""


def _topical(asked: frozenset[str], facts: Sequence[Memory]) -> list[Memory]:
    """The facts that the question is about: those with its own words, else those with words for the same."""
    own = [fact for fact in facts if asked & content_words(fact.text)]
    return own or [fact for fact in facts if shared_words(asked, fact.words)]


def _in_order(line: Sequence[Memory]) -> list[Memory]:
    """By their ends, for one thing has one value at a time; within a minute each before what took its place."""
    by_id = {fact.id: fact for fact in line}

    def successors(fact: Memory) -> int:
        walked: set[str] = set()
        while (following := by_id.get(fact.replaced_by)) is not None and following.id not in walked:
            walked.add(following.id)
            fact = following
        return len(walked)

    def place(fact: Memory) -> tuple[float, int, float]:
        began = fact.true_from or fact.since
        ended = fact.ended.timestamp() if fact.ended else float("inf")
        return (ended, -successors(fact), began.timestamp() if began else 0.0)

    return sorted(line, key=place)


def _line(facts: Sequence[Memory]) -> str:
    """The values of one thing in their order; what an undo brought back was so all along."""
    told: list[str] = []
    for fact, following in zip(facts, [*facts[1:], None], strict=True):
        if following is not None and following.text == fact.text:
            continue
        began = fact.true_from or (fact.since if told or fact.current else None)
        if began and fact.ended and began >= fact.ended:
            began = None
        times = [f"{'from' if fact.ended else 'since'} {date(began)}" if began else ""]
        times.append(f"until {date(fact.ended)}" if fact.ended else "")
        told.append(" ".join([quote(fact.text), *filter(None, times)]))
    return ", ".join(told)
