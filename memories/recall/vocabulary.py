"""What recall knows of the words of one language; the words are in a module for each, such as `words_de.py`. Pure.

All words are folded: lower case, without accents ("März": "marz").
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

Table = Mapping[str, frozenset[str]]


@dataclass(frozen=True, eq=False, slots=True)
class Vocabulary:
    """Words of a language.

    `stop_words` do not describe the topic of a query. `forms` maps each kind of question to the words that ask it, with
    "when" for questions for a time; `past` are words with which a question asks about the past. `times` maps the words
    of time expressions to their roles and what they count for there (`periods.py`).
    """

    stop_words: frozenset[str]
    first_person: frozenset[str]
    past: frozenset[str]
    forms: Table
    times: Mapping[str, Mapping[str, int]]


def fold(word: str) -> str:
    """Return a word in lower case and without accents."""
    if word.isascii():
        return word.lower()
    return "".join(each for each in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(each))


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(words.split())


def word_table(text: str) -> Table:
    """Parse lines such as "who = wer wem"."""
    return {name.strip(): word_set(words) for name, words in _lines(text)}


def time_table(text: str) -> dict[str, dict[str, int]]:
    """Parse lines such as "month = enero febrero" into a table by word; alternatives are separated by a slash.

    A word counts for its place on the line, from 0.
    """
    table: dict[str, dict[str, int]] = {}
    for role, words in _lines(text):
        for value, alternatives in enumerate(words.split()):
            for word in alternatives.split("/"):
                table.setdefault(word, {})[role] = value
    return table


def _lines(text: str) -> list[tuple[str, str]]:
    parts = (line.partition("=") for line in text.strip().splitlines())
    return [(name.strip(), words) for name, _, words in parts]


def known_words(language: Vocabulary) -> frozenset[str]:
    """Return all words of a vocabulary, from which the language of a query is guessed."""
    return frozenset(chain(language.stop_words, language.past, language.times, *language.forms.values()))
