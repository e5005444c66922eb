"""When a text repeats a memory: it holds the memory's wording, or a word of it that says more than any memory's would.

Invariant: pure functions of text. In doubt a text repeats: an answer emptied too much is lost, one too little tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memories.consolidation.rules import over, rules
from memories.models.base import MemoryRow
from memories.words import is_grammar, is_unspaced, words

# A shorter word marks nothing, unless it is a number or of a script without spaces.
_SHORTEST_MARK = 3


@dataclass(frozen=True, slots=True)
class ErasedWording:
    """What tells that a text repeats one of several memories: their whole texts, or words that mark them."""

    texts: frozenset[str]
    words: frozenset[str]

    def repeated_in(self, text: str, *, but: frozenset[str] = frozenset()) -> bool:
        """Whether `text` repeats it; words in `but` do not count."""
        plain_text = _even(text)
        return bool((self.words - but) & marking(text)) or any(each in plain_text for each in self.texts)


def wording_of(rows: Iterable[MemoryRow]) -> ErasedWording:
    """What tells that a text repeats one of `rows`."""
    texts = [row.searchable_text for row in rows]
    evened = frozenset(filter(None, map(_even, texts)))
    return ErasedWording(evened, frozenset().union(*map(marking, texts)))


def marking(text: str) -> frozenset[str]:
    """The words of a text that mark what it says: not those that begin every other memory."""
    known = rules()
    return frozenset(known.marks(text)) if known else frozenset(word for word in words(text) if _may_mark(word))


def _may_mark(word: str) -> bool:
    if is_unspaced(word):
        return not is_grammar(word)
    return len(word) >= _SHORTEST_MARK or word.isdigit()


def ends(text: str, wording: ErasedWording) -> bool:
    """Whether a text says that something of this wording is over, was never so, or was another thing."""
    return any(wording.repeated_in(each) for each in over(text))


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
