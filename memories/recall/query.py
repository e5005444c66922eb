"""Parses a query into the parts that the signals of recall need. Pure.

A query of any length and any characters can be parsed, and the size of its parts is limited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memories.recall.words_en import ASKS_WHEN, FIRST_PERSON, FORMS, MONTHS, MONTHS_IF_CAPITAL, STOP_WORDS
from memories.words import is_unspaced, spaced

# A long message is a valid query; this many distinct words convey its topic (the encoder reads 256 word pieces).
MAX_CONTENT_WORDS = 64

_POSSESSIVE = re.compile(r"['’]s\b")
_APOSTROPHES = re.compile(r"['’]")
_WORD = re.compile(r"[^\W_]+")
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query.

    `terms` are its distinct content words in order, without stop words and speakers' names, for lexical search and late
    interaction. `meaning` is the query without speakers' names, for the encoder, because a name makes all memories of
    that speaker look similar. `named` are the speakers mentioned, `months` (1 to 12) and `years` the dates.
    `asks_when`: the query asks for a time. `form` is its kind of question ("who", "how many"), empty if none is known.
    `of_oneself`: it is in the first person.
    """

    text: str
    terms: tuple[str, ...]
    meaning: str
    named: frozenset[str]
    months: frozenset[int]
    years: frozenset[int]
    asks_when: bool
    form: str = ""
    of_oneself: bool = False


def words(text: str) -> list[str]:
    """Split `text` into lower-case words ("Ada's": "ada", "don't": "dont"), scripts without spaces into pairs."""
    lowered = _APOSTROPHES.sub("", _POSSESSIVE.sub("", text.lower()))
    return _WORD.findall(spaced(lowered) if is_unspaced(lowered) else lowered)


def parse(text: str, speakers: Iterable[str] = ()) -> Query:
    """Parse a query; `speakers` are the names of the speakers in the owner's episodes."""
    known = set(speakers)
    names = _names(known)
    asked = words(text)
    content = [word for word in asked if word not in STOP_WORDS and word not in names]
    return Query(
        text=text,
        terms=tuple(dict.fromkeys(content))[:MAX_CONTENT_WORDS],
        meaning=_without(text, names),
        # With a single speaker, the name does not distinguish memories.
        named=frozenset(speaker for word in set(asked) for speaker in names.get(word, ()) if len(known) > 1),
        months=frozenset(_months(text)),
        years=frozenset(int(word) for word in asked if _YEAR.fullmatch(word)),
        asks_when=ASKS_WHEN.match(text) is not None,
        form=next((name for name, form in FORMS.items() if form.search(text)), ""),
        of_oneself=not FIRST_PERSON.isdisjoint(asked),
    )


def _names(speakers: Iterable[str]) -> dict[str, set[str]]:
    """Map each word of a speaker's name to the speakers, ignoring stop words."""
    names: dict[str, set[str]] = {}
    for speaker in speakers:
        for word in words(speaker):
            if word not in STOP_WORDS:
                names.setdefault(word, set()).add(speaker)
    return names


def _without(text: str, names: dict[str, set[str]]) -> str:
    """Remove the words that name a speaker, unless nothing else would be left."""
    kept = [part for part in text.split() if not names.keys() & set(words(part))]
    return " ".join(kept) or text


def _months(text: str) -> Iterable[int]:
    for word in _WORD.findall(text):
        month = word.lower()
        if month in MONTHS and (month not in MONTHS_IF_CAPITAL or word[0].isupper()):
            yield MONTHS.index(month) + 1
