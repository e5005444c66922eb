"""Words with which people ask for a slot, and the words that keys of facts have for it. Pure.

A key is English whatever the language of the member ("landlady": "Vermieterin heißt Frau Tschirner"), and names the
slot by another word than the question ("employer": "Where do I work?"). Words are folded (`vocabulary.py`).
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from memories.recall.vocabulary import word_set

_DATA = tomllib.loads(Path(__file__).with_name("slot_words.toml").read_text(encoding="utf-8"))
_FILLERS = word_set(_DATA["fillers"])
_PHRASES: Mapping[str, str] = {phrase: word for word, phrases in _DATA["phrases"].items() for phrase in phrases}
_LONGEST_PHRASE = 12
# Words that ask for whatever fills a slot and name none: "the name of my landlord", "boss number please".
GENERAL = word_set(_DATA["general"])


@functools.cache
def keys_by_word(language: str) -> Mapping[str, tuple[str, ...]]:
    """Return by word of a language the words of the keys that it asks for, the more likely first."""
    table: dict[str, dict[str, None]] = {}
    for slot in _DATA["slots"]:
        for word in slot[language].split():
            table.setdefault(word, {}).update(dict.fromkeys(slot["keys"].split()))
    return {word: tuple(keys) for word, keys in table.items()}


def asked_by_phrase(words: Sequence[str]) -> str:
    """Return the word of a key that a question of these words asks for as a whole, such as "what do I do", or ""."""
    if len(words) > _LONGEST_PHRASE:
        return ""
    said = [*words]
    while said and said[-1] in _FILLERS:
        said.pop()
    return _PHRASES.get(" ".join(said), "")
