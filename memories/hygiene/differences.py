"""Where two wordings differ, word by word, so that a person who compares them sees it at once. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

_WORDS = re.compile(r"\s*\S+|\s+$")
# Longer wordings are shown unmarked: comparing takes the product of their lengths.
MAX_WORDS = 600


@dataclass(frozen=True, slots=True)
class Piece:
    """Some of a wording; `differs`: the other one does not have it there."""

    text: str
    differs: bool


def differences(left: str, right: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Both wordings in pieces, which joined are the wordings again."""
    lefts, rights = _WORDS.findall(left), _WORDS.findall(right)
    if max(len(lefts), len(rights)) > MAX_WORDS:
        return (Piece(left, differs=False),), (Piece(right, differs=False),)
    matcher = SequenceMatcher(None, [_bare(word) for word in lefts], [_bare(word) for word in rights], autojunk=False)
    changes = matcher.get_opcodes()
    return (
        tuple(_pieces(lefts, [(tag != "equal", begin, end) for tag, begin, end, _, _ in changes])),
        tuple(_pieces(rights, [(tag != "equal", begin, end) for tag, _, _, begin, end in changes])),
    )


def _bare(word: str) -> str:
    """A word as it is compared: case and the punctuation around it make no difference."""
    return word.strip().strip(".,;:!?\"'()").casefold() or word.strip()


def _pieces(words: list[str], spans: list[tuple[bool, int, int]]) -> Iterator[Piece]:
    for differs, begin, end in spans:
        text = "".join(words[begin:end])
        gap = text[: len(text) - len(text.lstrip())] if differs else ""
        if gap:
            yield Piece(gap, differs=False)
        if text[len(gap) :]:
            yield Piece(text[len(gap) :], differs=differs)
