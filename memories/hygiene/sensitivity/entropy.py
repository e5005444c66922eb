"""Entropy: whether a run of characters was drawn by a machine or written by a person."""

from __future__ import annotations

import math
import re
from collections import Counter

_VOWELS = re.compile(r"[aeiouyAEIOUY]")
_PLACEHOLDER = re.compile(
    r"(?i)x{4,}|\*{3,}|\.{3,}|your[-_ ]?|example|placeholder|redacted|removed|changeme|insert|dummy|sample|0{8,}|1234567890abcdef$"
)


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
    """Whether it is made of words and small numbers with separators, such as `tokens-for-testing-2`."""
    parts = [part for part in re.split(r"[-_.]", value) if part]
    return len(parts) > 1 and all(
        (part.isdigit() and len(part) <= 4)
        or (part.isalpha() and (part.islower() or part.istitle() or part.isupper()) and len(part) <= 12)
        for part in parts
    )
