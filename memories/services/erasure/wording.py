"""When a text repeats a memory: it holds the memory's wording, or a word of it that says more than any memory's would.

Invariant: pure functions of text. In doubt a text repeats: an answer emptied too much is lost, one too little tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memories.consolidation.grammar.changes import read_changes
from memories.consolidation.grammar.statement import End
from memories.consolidation.grammar.text import plain, sentences
from memories.consolidation.grammar.vocabulary import QUESTION
from memories.consolidation.grammar.words import STOP_WORDS
from memories.models.base import MemoryRow

_WORD = re.compile(r"\w{3,}|\d+")
# Words too common to show that a text repeats a memory: those that every memory starts with, and short ones.
_COMMON = STOP_WORDS | frozenset(
    "allergic called favorite favourite have home into like likes live lived lives longer named never new one prefers"
    " she true two work works".split()
)


@dataclass(frozen=True, slots=True)
class Wording:
    """What tells that a text repeats one of several memories: their whole texts, or words that mark them."""

    texts: frozenset[str]
    words: frozenset[str]

    def repeated_in(self, text: str, *, but: frozenset[str] = frozenset()) -> bool:
        """Whether `text` repeats it; words in `but` do not count."""
        plain_text = _even(text)
        return bool((self.words - but) & marking(text)) or any(each in plain_text for each in self.texts)


def wording_of(rows: Iterable[MemoryRow]) -> Wording:
    """What tells that a text repeats one of `rows`."""
    texts = [row.searchable_text for row in rows]
    evened = frozenset(filter(None, map(_even, texts)))
    return Wording(evened, frozenset().union(*map(marking, texts)))


def marking(text: str) -> frozenset[str]:
    """The words of a text that mark what it says."""
    return frozenset(word for word in _WORD.findall(text.casefold()) if word not in _COMMON)


def only_asks(text: str) -> bool:
    """Whether every sentence of a text is a question: it states nothing."""
    return all(QUESTION.search(sentence) for sentence in sentences(plain(text)))


def ends(text: str, wording: Wording) -> bool:
    """Whether a text says that something of this wording is over, was never so, or was another thing."""
    for change in read_changes(text):
        named = (change.what,) if isinstance(change, End) else (change.about, getattr(change, "wrong", ""))
        if any(wording.repeated_in(each) for each in named):
            return True
    return False


def strings_in(value: object) -> Iterator[str]:
    """Every string inside a JSON value, but for the names of members."""
    match value:
        case str():
            yield value
        case dict():
            for member in value.values():
                yield from strings_in(member)
        case list() | tuple():
            for member in value:
                yield from strings_in(member)


def _even(text: str) -> str:
    return " ".join(text.casefold().split())
