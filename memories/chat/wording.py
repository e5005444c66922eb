"""Small pieces of sentences."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """Such as `1 memory`, `3 memories`; without `many` an s is added."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def sentence(words: str) -> str:
    """The words with a capital at the beginning."""
    return words[:1].upper() + words[1:]
