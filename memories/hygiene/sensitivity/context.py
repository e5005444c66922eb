"""Context: whether words that say what a number is stand near it."""

from __future__ import annotations

import re
from functools import lru_cache

# Letters and digits of the scripts that put spaces between words. In Chinese or Japanese a number touches its name.
LETTERS = r"A-Za-z0-9\u00aa-\u024f\u0370-\u05ff"
# How far before and after a value its name is looked for, in characters: a clause.
BEFORE = 48
AFTER = 28


def near(text: str, start: int, end: int, words: str, *, before: int = BEFORE, after: int = AFTER) -> bool:
    """Whether one of `words` (a pattern) stands around `start` to `end` of `text` as a word, in any case."""
    pattern = _pattern(words)
    left = text[max(0, start - before) : start]
    return bool(pattern.search(left) or pattern.search(text, end, min(len(text), end + after)))


@lru_cache(maxsize=256)
def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![{LETTERS}])(?:{words})(?![{LETTERS}])", re.IGNORECASE)
