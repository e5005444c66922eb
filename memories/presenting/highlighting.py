"""Where searched words occur in a text, to mark them, and the part of a long text that holds the first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# Characters of an excerpt before the first searched word and in all, and of a text that is shown whole.
_BEFORE, _EXCERPT = 80, 280


def pieces(text: str, words: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it is one of `words`; case is ignored."""
    end = 0
    for found in _pattern(words).finditer(text) if words else ():
        yield text[end : found.start()], False
        yield found[0], True
        end = found.end()
    yield text[end:], False


def part_with(text: str, words: Sequence[str]) -> str:
    """A part of a long text with the first of `words` in it, cut at spaces; a short text whole."""
    if not words or len(text) <= _EXCERPT:
        return text
    found = _pattern(words).search(text)
    start = max(0, found.start() - _BEFORE) if found else 0
    start = text.rfind(" ", 0, start) + 1 if start else 0
    stop = start + _EXCERPT
    if stop >= len(text):
        return f"{'…' if start else ''}{text[start:]}"
    stop = max(text.rfind(" ", start, stop), start + _EXCERPT // 2)
    return f"{'…' if start else ''}{text[start:stop]}…"


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)
