"""Parses a query into the parts that the signals of recall need. Pure.

A query of any length and any characters can be parsed, and the size of its parts is limited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memories.recall import words_de, words_en, words_es, words_fr
from memories.recall.codes import codes, spellings
from memories.recall.periods import Period, periods
from memories.recall.slot_words import asked_by_phrase, keys_by_word
from memories.recall.vocabulary import Vocabulary, fold, known_words
from memories.recall.words_en import ASKS_WHEN, FORMS, MONTHS, MONTHS_IF_CAPITAL, STOP_WORDS
from memories.words import is_unspaced, spaced

# A long message is a valid query; this many distinct words convey its topic (the encoder reads 256 word pieces).
MAX_CONTENT_WORDS = 64

# Further words of keys that a query asks for are not searched for; each costs a lookup.
MAX_KEY_WORDS = 6
LANGUAGES: Mapping[str, Vocabulary] = {
    "en": words_en.VOCABULARY,
    "de": words_de.VOCABULARY,
    "es": words_es.VOCABULARY,
    "fr": words_fr.VOCABULARY,
}
_KNOWN = {name: known_words(language) | keys_by_word(name).keys() for name, language in LANGUAGES.items()}
# A language is guessed from this many words.
_GUESSED_FROM = 60

_POSSESSIVE = re.compile(r"['’]s\b")
# "l'adresse", "qu'est-ce": the word before the apostrophe is an article or the like.
_ELIDED = re.compile(r"\b(?:[cdjlmnst]|qu)['’](?=\w{2})")
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
    `of_oneself`: it is in the first person. `language` is guessed from its words, English in doubt.

    `codes` are what it means literally (`codes.py`), `periods` the times it names, and `asks_past`: it has a word that
    asks about the past. `slots` holds the words of keys that a term asks for, by term (`slot_words.py`).
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
    language: str = "en"
    codes: tuple[str, ...] = ()
    periods: tuple[Period, ...] = ()
    asks_past: bool = False
    slots: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def sought(self) -> tuple[str, ...]:
        """The terms to search for: codes in each spelling, content words, and words of the keys that are asked for."""
        keys = [key for _, asked in self.slots for key in asked]
        written = [spelt for code in self.codes for spelt in spellings(code)]
        return tuple(dict.fromkeys([*written, *self.terms, *keys[:MAX_KEY_WORDS]]))


def words(text: str) -> list[str]:
    """Split `text` into lower-case words ("Ada's": "ada", "don't": "dont"), scripts without spaces into pairs."""
    lowered = _APOSTROPHES.sub("", _ELIDED.sub("", _POSSESSIVE.sub("", text.lower())))
    return _WORD.findall(spaced(lowered) if is_unspaced(lowered) else lowered)


def parse(text: str, speakers: Iterable[str] = (), now: datetime | None = None) -> Query:
    """Parse a query; `speakers` are the names of the speakers in the owner's episodes.

    Without `now`, whose time zone is the member's, it names no periods.
    """
    known = set(speakers)
    names = _names(known)
    asked = words(text)
    folded = [fold(word) for word in asked]
    name = _language(folded)
    language = LANGUAGES[name]
    stop_words = STOP_WORDS | language.stop_words
    content = [word for word, plain in zip(asked, folded, strict=True) if plain not in stop_words and word not in names]
    phrase = asked_by_phrase(folded)
    terms = tuple(dict.fromkeys([phrase, *content] if phrase else content))[:MAX_CONTENT_WORDS]
    return Query(
        text=text,
        terms=terms,
        meaning=_without(text, names),
        # With a single speaker, the name does not distinguish memories.
        named=frozenset(speaker for word in set(asked) for speaker in names.get(word, ()) if len(known) > 1),
        months=frozenset(_months(text) if name == "en" else _months_among(folded, language)),
        years=frozenset(int(word) for word in asked if _YEAR.fullmatch(word)),
        asks_when=_form(folded[:_FIRST_WORDS], language) == "when" or ASKS_WHEN.match(text) is not None,
        form=_form(folded, language) or next((form for form, asks in FORMS.items() if asks.search(text)), ""),
        of_oneself=not language.first_person.isdisjoint(folded),
        language=name,
        codes=codes(text),
        periods=periods(text, now, language) if now is not None else (),
        asks_past=not language.past.isdisjoint(folded),
        slots=tuple(_slots(terms, name, phrase)),
    )


# A question for a time has the word that asks for it among its first words.
_FIRST_WORDS = 3


def _language(folded: Sequence[str]) -> str:
    """Return the language that knows most of the words, the first of LANGUAGES in doubt."""
    seen = folded[:_GUESSED_FROM]
    return max(LANGUAGES, key=lambda name: sum(word in _KNOWN[name] for word in seen))


def _form(folded: Iterable[str], language: Vocabulary) -> str:
    """Return the kind of question that the words of a language ask, or nothing; English has patterns for it."""
    asked = set(folded)
    return next((form for form, asking in language.forms.items() if not asking.isdisjoint(asked)), "")


def _months_among(folded: Iterable[str], language: Vocabulary) -> Iterable[int]:
    return (times["month"] + 1 for word in folded if "month" in (times := language.times.get(word, {})))


def _slots(terms: Iterable[str], language: str, phrase: str) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Yield the terms that ask for slots, with the words of the keys."""
    for term in terms:
        if keys := keys_by_word("en" if term == phrase else language).get(fold(term)):
            yield term, keys


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
