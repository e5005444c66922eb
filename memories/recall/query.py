"""Parses a question into the forms that the signals of recall need. Pure.

A query of any length and any characters parses, and its parts are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memories.recall.words_en import ASKS_WHEN, MONTHS, MONTHS_IF_CAPITAL, STOP_WORDS
from memories.words import is_unspaced, spaced

# A long message is a query too; what it is about shows in this many distinct words (the encoder reads 256 pieces).
MAX_CONTENT_WORDS = 64

_POSSESSIVE = re.compile(r"['’]s\b")
_APOSTROPHES = re.compile(r"['’]")
_WORD = re.compile(r"[^\W_]+")
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Query:
    """A question, parsed.

    `terms` are its content words, distinct, in order: no stop words, no names of speakers; for lexical search and late
    interaction. `meaning` is the question without the speakers' names, for the encoder: with the names in, every
    memory of that speaker looks alike. `named` are the speakers it names. `months` (1 to 12), `years` and `asks_when`
    are what it says of time.
    """

    text: str
    terms: tuple[str, ...]
    meaning: str
    named: frozenset[str]
    months: frozenset[int]
    years: frozenset[int]
    asks_when: bool


def words(text: str) -> list[str]:
    """The words of `text` in lower case: "Ada's" is "ada", "don't" is "dont"; scripts without spaces as pairs."""
    lowered = _APOSTROPHES.sub("", _POSSESSIVE.sub("", text.lower()))
    return _WORD.findall(spaced(lowered) if is_unspaced(lowered) else lowered)


def parse(text: str, speakers: Iterable[str] = ()) -> Query:
    """Parse a question; `speakers` are the names under which the owner's episodes were said."""
    known = set(speakers)
    names = _names(known)
    asked = words(text)
    content = [word for word in asked if word not in STOP_WORDS and word not in names]
    return Query(
        text=text,
        terms=tuple(dict.fromkeys(content))[:MAX_CONTENT_WORDS],
        meaning=_without(text, names),
        # Where one person speaks, naming them tells no memory from another.
        named=frozenset(speaker for word in set(asked) for speaker in names.get(word, ()) if len(known) > 1),
        months=frozenset(_months(text)),
        years=frozenset(int(word) for word in asked if _YEAR.fullmatch(word)),
        asks_when=ASKS_WHEN.match(text) is not None,
    )


def _names(speakers: Iterable[str]) -> dict[str, set[str]]:
    """Speakers by each word of their name; a word that is also a common one names nobody."""
    names: dict[str, set[str]] = {}
    for speaker in speakers:
        for word in words(speaker):
            if word not in STOP_WORDS:
                names.setdefault(word, set()).add(speaker)
    return names


def _without(text: str, names: dict[str, set[str]]) -> str:
    """`text` without the words that name a speaker; all of it if nothing else is there."""
    kept = [part for part in text.split() if not names.keys() & set(words(part))]
    return " ".join(kept) or text


def _months(text: str) -> Iterable[int]:
    for word in _WORD.findall(text):
        month = word.lower()
        if month in MONTHS and (month not in MONTHS_IF_CAPITAL or word[0].isupper()):
            yield MONTHS.index(month) + 1
