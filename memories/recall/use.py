"""Whether an answer took up a memory that it was given. Pure.

Invariant: words of the question prove nothing, for an answer repeats them whatever it was given. Where a memory has no
others, nobody can tell.
"""

from __future__ import annotations

import math
import re

from memories.consolidation.rules import content_words

# A name or a number is taken up by itself; of ordinary words a part has to be there, for some are in every answer.
_SHARE = 0.25
# Each half begins at the beginning of a run and never gives back: a long memory is read once.
_VALUE = re.compile(r"(?<=[^.!?:\s])\s+([^\W\d_][^\W_]+)|(?<![^\W_])([^\W\d_]*+\d[^\W_]*)")


def takes_up(answer: str, question: str, memory: str) -> bool | None:
    """Whether `answer` says what `memory` holds beyond `question`; None where that cannot be decided."""
    asked = content_words(question)
    distinctive = content_words(memory) - asked
    if not distinctive:
        return None
    said = content_words(answer)
    if (_values(memory) - asked) & said:
        return True
    return len(distinctive & said) >= max(1, math.ceil(_SHARE * len(distinctive)))


def _values(text: str) -> set[str]:
    """Names, as far as a capital inside a sentence shows them, and what has a digit."""
    found: set[str] = set()
    for name, number in _VALUE.findall(text):
        word = name or number
        if number or name[0].isupper():
            found |= content_words(word)
    return found & content_words(text)
