"""Masked texts beside the words that they were made of. Pure."""

from __future__ import annotations

import re

from memories.hygiene.sensitivity.findings import label
from memories.types import SensitiveKind

_LABEL = re.compile("|".join(re.escape(label(kind)) for kind in SensitiveKind))


def has_label(text: str) -> bool:
    """Whether something was taken out of `text`."""
    return _LABEL.search(text) is not None


def could_have_been(masked: str, words: str) -> bool:
    """Whether `masked` is `words`, but for a value or more behind each label. Both in the same form (`normalised`)."""
    first, *rest = _LABEL.split(masked)
    if not rest:
        return masked == words
    if not words.startswith(first):
        return False
    at = len(first)
    for part in rest[:-1]:
        # A label stands for one character at least.
        at = words.find(part, at + 1)
        if at < 0:
            return False
        at += len(part)
    return words.endswith(rest[-1]) and at + 1 + len(rest[-1]) <= len(words)
