"""Detecting: every sensitive value in a text, by kind."""

from __future__ import annotations

import re

from memories.hygiene.sensitivity.findings import Finding, apart
from memories.types import SensitiveKind

_CARD = re.compile(r"(?<![\d-])(?:\d[ -]?){12,18}\d(?![\d-])")
_LUHN_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)


def scan(text: str) -> tuple[Finding, ...]:
    """What is sensitive in `text`, from left to right, none overlapping."""
    return apart(
        Finding(SensitiveKind.PAYMENT_CARD, found.start(), found.end(), "card")
        for found in _CARD.finditer(text)
        if _luhn(re.sub(r"\D", "", found.group()))
    )


def _luhn(digits: str) -> bool:
    total = sum(int(d) if place % 2 == 0 else _LUHN_DOUBLED[int(d)] for place, d in enumerate(reversed(digits)))
    return total % 10 == 0
