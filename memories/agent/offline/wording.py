"""How the offline responder quotes: words in quotation marks, days in words, lists of quotes.

Invariant: pure functions of text and time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from memories.english.vocabulary import PEOPLE

_LONGEST_QUOTE = 400
_QUOTED = re.compile(r"“([^”]+)”")
# "Her sister lives in Leeds" tells of somebody else.
_OF_OTHERS = re.compile(rf"(?:(?:her|his|their|my|our) )?(?:{'|'.join(sorted(PEOPLE))})\b", re.IGNORECASE)


def quote(text: str) -> str:
    """The words of a memory in quotation marks, cut at a word if they are very long."""
    line = " ".join(text.split())
    if len(line) > _LONGEST_QUOTE:
        line = f"{line[:_LONGEST_QUOTE].rsplit(' ', 1)[0]} …"
    return f"“{line}”"


def quoted_in(text: str) -> list[str]:
    """What stands in quotation marks."""
    return _QUOTED.findall(text)


def listed(words: Sequence[str]) -> str:
    """One, two and three as a sentence has them: "A", "A and B", "A, B and C"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def date(moment: datetime | None) -> str:
    """A day in words."""
    return f"{moment.day} {moment:%B %Y}" if moment else ""


def tells_of_others(text: str) -> bool:
    """Whether a fact begins with somebody other than its owner."""
    return bool(_OF_OTHERS.match(text))
