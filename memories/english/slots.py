"""The table of slots (`slots.toml`), and the parts of its patterns.

A slot is what a fact tells (home, age, pets …): how it is said, stored, asked and confirmed.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from memories.english.text import CAPITAL, compiled, phrases, word_set
from memories.english.vocabulary import PROFESSIONS

PETS = (
    "guinea pig, dog, puppy, cat, kitten, rabbit, hamster, horse, pony, parrot, budgie, tortoise, turtle, goldfish, "
    "snake, lizard, gerbil, ferret, chicken, hen, bird, fish"
)
_KIN = (
    "mother, mum, mom, father, dad, sister, brother, son, daughter, wife, husband, spouse, partner, girlfriend, "
    "boyfriend, fiancee, fiancé, fiancée, fiance, aunt, uncle, cousin, niece, nephew, grandmother, grandfather, "
    "grandma, grandpa, granny, gran, nan, grandson, granddaughter, grandchild, twin, baby"
)
_OTHERS = (
    "best friend, friend, flatmate, roommate, housemate, neighbour, neighbor, colleague, coworker, line manager, boss, "
    "manager, supervisor, landlord, landlady, dentist, doctor, gp, teacher, coach, tutor, therapist, vet, ex"
)
KIN = rf"(?:(?:step|half|grand|great-grand|god)-?)?(?:{phrases(_KIN)})(?:-in-law)?"
SOMEBODY = rf"(?:{KIN}|{phrases(_OTHERS)}|{phrases(PETS)})"
NAME = (
    r"(?-i:(?:(?:Mr|Mrs|Ms|Miss|Dr|Prof)\.? )?[A-ZÀ-Þ](?:[\w-]|'(?!s\b))*(?:\s(?:(?:de|da|van|von|del|la|al|bin)\s)?"
    r"[A-ZÀ-Þ](?:[\w-]|'(?!s\b))+)*)"
)
_MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    "|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
DATE = (
    rf"(?:(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}|{_MONTH}\s+(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?)"
    r"(?:,?\s+(?:19|20)\d\d)?\b"
)
TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("slots.toml").read_text(encoding="utf-8"))
SLOTS: dict[str, dict[str, Any]] = TABLES["slots"]
_PARTS = {
    **TABLES["patterns"],
    "SOMEBODY": SOMEBODY,
    "KIN": KIN,
    "NAME": NAME,
    "DATE": DATE,
    "CAPITAL": CAPITAL,
    "PET": phrases(PETS),
    "PROFESSIONS": "|".join(sorted(PROFESSIONS)),
}
# One word for a relation that has several.
_SAME = {
    "mum": "mother", "mom": "mother", "mummy": "mother", "dad": "father", "daddy": "father", "hubby": "husband",
    "kid": "child", "kids": "child", "children": "child", "puppy": "dog", "kitten": "cat", "grandma": "grandmother",
    "granny": "grandmother", "gran": "grandmother", "nan": "grandmother", "grandpa": "grandfather",
    "neighbor": "neighbour", "fiancée": "fiance", "fiancee": "fiance", "fiancé": "fiance", "manager": "boss",
    "line manager": "boss", "supervisor": "boss", "roommate": "flatmate", "housemate": "flatmate",
}  # fmt: skip
_SEVERAL = {*PETS.split(", "), *"son daughter sister brother friend uncle aunt cousin parent sibling pet".split()}
# Misspelled words that are put right, words like them that are not, and apostrophes that were left out.
_SPELLINGS = word_set(
    "favourite colour birthday allergic allergies address husband daughter brother sister mother father married vegetarian "
    "called children hobbies remember where doctor dentist"
)
_OTHER_WORDS = word_set(
    "there were favour favours color calling college whether mothers fathers brothers sisters another bother rather farther "
    "gather wear marries collar birthdays favourites addressed remembers remembered doctors"
)
_APOSTROPHES = {
    "dont": "don't", "doesnt": "doesn't", "cant": "can't", "isnt": "isn't", "didnt": "didn't", "wont": "won't",
    "whats": "what's", "wheres": "where's", "whos": "who's", "ive": "I've",
}  # fmt: skip
_SHORTEST_SLIP, _LIKE_ENOUGH = 5, 0.85
_WORD = re.compile(r"[A-Za-z]+")


def pattern(text: str) -> re.Pattern[str]:
    """A pattern with the parts that it names by <PART>."""
    return compiled(re.sub(r"<([A-Z]+)>", lambda part: str(_PARTS[part[1]]), text))


# Single patterns, by name.
P = {name: pattern(text) for name, text in TABLES["grammar"].items()}


def same(relation: str) -> str:
    """One word for a relation: father for dad, son for sons."""
    low = relation.casefold().strip()
    low = low.rstrip("s") if low.rstrip("s") in _SEVERAL else low
    return _SAME.get(low, low)


def spelled(text: str) -> str:
    """`text` with the usual slips put right: "dont", "favrite", "colur". Other words stay as they are."""
    return _WORD.sub(lambda word: _spelled(word[0]), text)


@lru_cache(maxsize=4096)
def _spelled(word: str) -> str:
    low = word.casefold()
    if low in _APOSTROPHES:
        return _APOSTROPHES[low]
    if not word.islower() or len(word) < _SHORTEST_SLIP or low in _SPELLINGS | _OTHER_WORDS:
        return word
    near = difflib.get_close_matches(low, _SPELLINGS, 1, _LIKE_ENOUGH)
    return near[0] if near and low[0] == near[0][0] and low.rstrip("s") != near[0].rstrip("s") else word
