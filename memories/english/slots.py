"""The slots table (`slots.toml`): attributes such as home or age, and how they are stated, stored and asked for."""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from memories.english.text import compiled, word_set
from memories.english.vocabulary import PROFESSIONS

_SHORTEST_SLIP, _LIKE_ENOUGH = 5, 0.85
TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("slots.toml").read_text(encoding="utf-8"))
SLOTS: dict[str, dict[str, Any]] = TABLES["slots"]
# Adjectives of measures, such as "high", with their nouns.
MEASURES: dict[str, str] = {how: noun for noun, row in TABLES["measures"].items() for how in row["how"].split()}
_PARTS: dict[str, str] = TABLES["patterns"] | {
    "PROFESSIONS": "|".join(sorted(PROFESSIONS)),
    "HOW": "|".join(MEASURES),
    "MEASURE": "|".join(TABLES["measures"]),
}
_PART = re.compile(r"<([A-Z]+)>")
_SAME: dict[str, str] = {
    each.replace("_", " "): one for one, several in TABLES["same"].items() for each in several.split()
}


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact in the form in which it is stored: short, without a subject. `ends` names what stopped being true.

    `quote` is the clause that states it. `moved`: the home changed with it. `corrects`: the user contradicts an earlier
    statement. `beside`: it adds to the facts under its key and replaces none.
    """

    text: str
    key: str = ""
    category: str = ""
    ends: str = ""
    quote: str = field(default="", compare=False)
    moved: bool = field(default=False, compare=False)
    corrects: bool = field(default=False, compare=False)
    beside: bool = field(default=False, compare=False)


def expanded(text: str) -> str:
    """Expand the <PART> references in a pattern."""
    return _PART.sub(lambda part: expanded(_PARTS[part[1]]), text)


def pattern(text: str) -> re.Pattern[str]:
    """Compile an expanded pattern, ignoring case."""
    return compiled(expanded(text))


_UNITS = {noun: pattern(rf"(?:{row['units']})(?!\w)") for noun, row in TABLES["measures"].items()}
# Single patterns and word sets by name.
P = {name: pattern(text) for name, text in TABLES["grammar"].items()}
WORDS = {name: word_set(text) for name, text in TABLES["words"].items()}
SOMEBODY, NAME, DATE, KIN = (expanded(f"<{part}>") for part in ("SOMEBODY", "NAME", "DATE", "KIN"))
PETS = WORDS["pets"] | {"guinea pig"}


def measure_of(unit: str, how: str) -> str | None:
    """Return the noun of a measure by its adjective, else by its unit: "" for a unit of several, None for no unit."""
    if how:
        return MEASURES[how.casefold()]
    nouns = [noun for noun, row in TABLES["measures"].items() if _UNITS[noun].match(unit)]
    return (nouns[0] if len(nouns) == 1 else "") if nouns else None


def same(relation: str) -> str:
    """Return the canonical word for a relation: father for dad, son for sons."""
    low = relation.casefold().strip()
    low = low.rstrip("s") if low.rstrip("s") in PETS | WORDS["several"] else low
    return _SAME.get(low, low)


def spelled(text: str) -> str:
    """Correct common typos in `text`: "dont", "favrite", "colur". Other words are unchanged."""
    return re.sub(r"[A-Za-z]+", lambda word: _spelled(word[0]), text)


@lru_cache(maxsize=4096)
def _spelled(word: str) -> str:
    low, known = word.casefold(), WORDS["spellings"]
    if low in TABLES["apostrophes"]:
        return str(TABLES["apostrophes"][low])
    if not word.islower() or len(word) < _SHORTEST_SLIP or low in known | WORDS["no_slips"]:
        return word
    near: list[str] = difflib.get_close_matches(low, known, 1, _LIKE_ENOUGH)
    return near[0] if near and low[0] == near[0][0] and low.rstrip("s") != near[0].rstrip("s") else word
