"""Word-by-word differences between two texts, for display side by side. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

_WORDS = re.compile(r"\s*\S+|\s+$")
# Longer texts are shown unmarked, because comparison time grows with the product of their lengths.
MAX_WORDS = 600
# So are texts in which the same words pair up more often than this: the comparison looks at each such pair again and
# again.
MAX_PAIRS = 30_000


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text; `differs`: the other text lacks it at this position."""

    text: str
    differs: bool


def differences(left: str, right: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Split both texts into pieces; joined, the pieces equal the text."""
    lefts, rights = _WORDS.findall(left), _WORDS.findall(right)
    unmarked = (Piece(left, differs=False),), (Piece(right, differs=False),)
    if max(len(lefts), len(rights)) > MAX_WORDS:
        return unmarked
    ours, theirs = [_bare(word) for word in lefts], [_bare(word) for word in rights]
    counted = Counter(theirs)
    if sum(count * counted[word] for word, count in Counter(ours).items()) > MAX_PAIRS:
        return unmarked
    changes = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    return (
        tuple(_pieces(lefts, [(tag != "equal", begin, end) for tag, begin, end, _, _ in changes])),
        tuple(_pieces(rights, [(tag != "equal", begin, end) for tag, _, _, begin, end in changes])),
    )


def _bare(word: str) -> str:
    """Normalize a word for comparison: case and surrounding punctuation are ignored."""
    return word.strip().strip(".,;:!?\"'()").casefold() or word.strip()


def _pieces(words: list[str], spans: list[tuple[bool, int, int]]) -> Iterator[Piece]:
    for differs, begin, end in spans:
        text = "".join(words[begin:end])
        gap = text[: len(text) - len(text.lstrip())] if differs else ""
        if gap:
            yield Piece(gap, differs=False)
        if text[len(gap) :]:
            yield Piece(text[len(gap) :], differs=differs)
