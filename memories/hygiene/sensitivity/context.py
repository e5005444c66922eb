"""Context: whether a number stands by itself, and whether words that say what it is stand near it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from memories.hygiene.sensitivity.folding import BLANK

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


def alone(form: str, text: str, start: int = 0, end: int | None = None, *, flags: int = 0) -> Iterator[re.Match[str]]:
    """Where `form` (a pattern) stands between `start` and `end`, as no part of a word, number or path.

    Several of one form may stand with slashes between them, or one beside what was found before: "536-90-4399/…".
    """
    first, next_one = _alone(form, flags)
    end = len(text) if end is None else end
    for begins in first.finditer(text, start, end):
        found: re.Match[str] | None = begins
        while found:
            yield found
            found = next_one.match(text, found.end() + 1, end) if text.startswith("/", found.end(), end) else None


@lru_cache(maxsize=256)
def _alone(form: str, flags: int) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """`form` that follows nothing, and after a slash."""
    word, fraction = rf"[{LETTERS}_-]", r"[.,]\d"
    whole = rf"(?:{form})(?:(?!/|{word}|{fraction})|(?=/(?:{BLANK}|(?:{form})(?!{word}|{fraction}))))"
    return re.compile(rf"(?:(?<![{LETTERS}_.,/-])|(?<={BLANK}/)){whole}", flags), re.compile(whole, flags)


@lru_cache(maxsize=256)
def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![{LETTERS}])(?:{words})(?![{LETTERS}])", re.IGNORECASE)
