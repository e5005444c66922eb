"""Reading a playbook out of a message: "to fix X: do A, then B" and "when X, do A, then B".

Invariant: steps are things to do; a message whose steps have a subject of their own tells a story and is no playbook.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memories.consolidation.grammar.text import capitalised, phrases
from memories.constants import MAX_STEPS, MAX_TITLE_CHARACTERS
from memoryhub.regexes import lazy_regex


@dataclass(frozen=True, slots=True)
class Playbook:
    """What to do, when."""

    title: str
    trigger: str
    steps: tuple[str, ...]


_LEAD = r"^(?:(?:please|also|and|ok|note|remember|don't forget|keep in mind|how|that|:|this|,)\s*)*"
_MODAL = r"(?:,\s*(?:you\s+)?(?:must|should|need to|have to)\s*)?"
_TO = lazy_regex(
    rf"{_LEAD}\bto\s+(?P<goal>[^:.?!\n]{{3,150}}?)\s*{_MODAL}:\s*(?P<steps>.+)$", re.IGNORECASE | re.DOTALL
)
_WHEN = lazy_regex(
    rf"{_LEAD}\b(?P<word>when|whenever|if)\s+(?P<trigger>[^,:?!\n]{{3,150}}?)\s*[,:]\s*(?P<steps>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_NOT_A_GOAL = lazy_regex(
    rf"(?:{phrases('be, sum, summarise, summarize, answer, clarify, quote, conclude, my, me, you, the, do list')})\b",
    re.IGNORECASE,
)
_SUBJECT = lazy_regex(
    r"(?:"
    + phrases(
        """
        i, i'm, i'd, i'll, we, we'll, you, he, she, it, it's, they, there, the, my, our, his, her, their, this, that,
        these, a, an, what, what's, why, how, who, where, is, are, was, does, did, do you, should, would, could, can,
        will, please tell, tell me, one, no, not, nobody
        """
    )
    + r"|\w+ed)\b",
    re.IGNORECASE,
)
_NUMBERED = lazy_regex(r"^\s*(?:\d+[.)]|[-*•])\s*")
_NUMBERED_INLINE = lazy_regex(r"(?:^|\s)\d+[.)]\s+")
_BETWEEN = lazy_regex(
    r"\s*;\s*(?:and\s+)?(?:then\s+)?|\s*,?\s+(?:and\s+)?then,?\s+|\s*,\s*(?:and\s+)?(?:then\s+)?|\.\s+(?:then,?\s+)?|\s+and\s+finally\s+",
    re.IGNORECASE,
)
_HYPOTHETICAL = lazy_regex(r"\b(?:would|could|might|were|was|had|did|went|got)\b", re.IGNORECASE)
_FEWEST_STEPS = 2


def read_playbook(text: str) -> Playbook | None:
    """The playbook that `text` states, or None."""
    if text.endswith("?"):
        return None
    if (match := _TO.match(text)) and not _NOT_A_GOAL.match(match["goal"]):
        steps = _steps(match["steps"])
        if steps:
            return Playbook(_title(match["goal"]), "", steps)
    if match := _WHEN.match(text):
        steps = _steps(match["steps"])
        if len(steps) >= _FEWEST_STEPS and not _HYPOTHETICAL.search(match["trigger"]):
            trigger = match["trigger"].strip()
            return Playbook(_title(f"{match['word']} {trigger}"), trigger, steps)
    return None


def read_steps(text: str) -> tuple[str, ...]:
    """What somebody did or says to do, step by step; none if it does not read as things to do."""
    return _steps(text)


def _steps(text: str) -> tuple[str, ...]:
    """The steps, or none if they do not all read as things to do."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        parts: Iterable[str] = (_NUMBERED.sub("", line) for line in lines)
    elif len(numbered := _NUMBERED_INLINE.split(text)) > _FEWEST_STEPS:
        parts = numbered
    else:
        parts = _BETWEEN.split(text)
    steps = tuple(step for part in parts if (step := part.strip(" .!;,\t")))
    if not steps or len(steps) > MAX_STEPS or any(_SUBJECT.match(step) for step in steps):
        return ()
    return tuple(capitalised(step) for step in steps)


def _title(goal: str) -> str:
    return capitalised(" ".join(goal.split()))[:MAX_TITLE_CHARACTERS]
