"""Context: whether a number stands by itself, and whether words that say what it is stand near it.

Entropy: whether a run of characters was drawn by a machine or written by a person.
"""

from __future__ import annotations

import math
import re
from collections import Counter
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


_PLACEHOLDER = re.compile(
    r"(?i)x{4,}|\*{3,}|\.{3,}|your[-_ ]?|example|placeholder|redacted|removed|changeme|insert|dummy|"
    r"sample|0{8,}|1234567890abcdef$"
)

_STANDS_FOR = re.compile(
    r"(?i)(?:pass(?:word)?|pwd|secret|token|user(?:name)?|your[_-].*|x{3,}|\*+|\.{3,}|<.*|\[.*|%.*|"
    r"changeme|example|redacted)\d*$"
)


def is_placeholder(value: str) -> bool:
    """Whether `value` stands for a password in an example: `password`, `xxxx`, `<token>`."""
    return bool(_STANDS_FOR.match(value))


def bits(value: str) -> float:
    """Shannon entropy for each character, in bits."""
    count = len(value)
    return -sum(n / count * math.log2(n / count) for n in Counter(value).values()) if count else 0.0


def classes(value: str) -> int:
    """How many of small letters, capitals, digits and signs there are."""
    return sum(bool(re.search(pattern, value)) for pattern in (r"[a-z]", r"[A-Z]", r"\d", r"[^A-Za-z0-9]"))


def looks_random(value: str) -> bool:
    """Whether `value`, the part of a token after its prefix, is no placeholder and no words."""
    if len(value) < 10 or _PLACEHOLDER.search(value):
        return False
    mixed = bool(re.search(r"\d", value)) or (value != value.lower() and value != value.upper())
    return mixed and bits(value) >= 2.8 and not _is_words(value)


def _is_words(value: str) -> bool:
    """Whether it is made of words and small numbers, such as `tokens-for-testing-2` or `TokensForTesting2`."""
    parts = [part for part in re.split(r"[-_.=]", value) if part]
    if len(parts) > 1:
        return all(re.fullmatch(r"\d{1,4}|[a-z]{1,12}|[A-Z][a-z]{1,12}|[A-Z]{1,12}", part) for part in parts)
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", value)
    return len(value) - sum(map(len, words)) <= 2 and bool(words) and len(value) / len(words) >= 3.5
