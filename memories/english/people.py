"""Reads the names of relatives and pets in a sentence: "my wife Ana", "a daughter named Lily and a son called Max"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from memories.english.slots import KIN, NAME, PETS, TABLES, WORDS, P, Statement, same
from memories.english.text import capitalised, slug

_CALLED = TABLES["called"]


def is_name(name: str) -> bool:
    """True if a capitalized word is a person's name."""
    return name.split(maxsplit=1)[0].casefold() not in WORDS["nobody"]


def name_of(who: str, name: str, link: str) -> Statement:
    """Build the statement of a name.

    A new name replaces the old one for unique relations such as a wife, but not for sisters.
    """
    one, kin = same(who), re.fullmatch(rf"{KIN}|child|parent", who, re.IGNORECASE)
    key = f"{who}_name" if who in PETS else one if one in WORDS["one_of"] else ""
    category = "pets" if who in PETS else "family" if kin else {"boss": "work"}.get(one, "personal")
    return Statement(f"{capitalised(who)} {link} {name}", key, "home" if "land" in who else category)


def names_in(sentence: str) -> Iterator[Statement]:
    """Yield the names of relatives and pets in a sentence: "my wife Ana", "two cats, Miso and Tofu"."""
    for match in P["apposed"].finditer(sentence):
        if is_name(name := match["name"]):
            yield name_of(match["who"].lower(), name, "is")
            if match["age"]:
                yield _age_of(name, match["age"])
        yield from _also_named(sentence, match.end(), "is")
    for match in P["with_names"].finditer(sentence):
        before = sentence[: match.start()]
        if match["what"] and (P["has_not"].search(before) or not P["owner_acts"].match(before)):
            continue  # nobody's, or somebody else's, relative or pet
        what = (match["what"] or match["mine"]).lower()
        what = _CALLED.get(what) or (what.removesuffix("s") if match["mine"] else what)
        names = _names(match)
        yield from (replace(name_of(what, name, "is called"), key="") for name in names)
        if names and (born := P["born_on"].match(sentence[match.end() :])):
            yield Statement(f"{names[-1]} was born on {born['date']}", f"{slug(names[-1])}_date_of_birth", "family")
        yield from _also_named(sentence, match.end(), "is called")


def _also_named(sentence: str, place: int, link: str) -> Iterator[Statement]:
    """Yield the names of further relatives and pets in the list that goes on at `place`: "… and a son called Max"."""
    for match in _also(sentence, place):
        what, names = match["what"].lower(), _names(match)
        named = [name_of(_CALLED.get(what, what), name, link) for name in names]
        yield from named if link == "is" else (replace(each, key="") for each in named)
        if names and match["age"]:
            yield _age_of(names[-1], match["age"])


def also_listed(text: str, place: int) -> Iterator[str]:
    """Yield the further parts of a list of relatives and pets, in their words: "a daughter named Tara"."""
    yield from (text[match.start("part") : match.end()] for match in _also(text, place))


def _also(text: str, place: int) -> Iterator[re.Match[str]]:
    while match := P["also_named"].match(text, place):
        yield match
        place = match.end()


def _names(match: re.Match[str]) -> list[str]:
    return [name for name in re.findall(NAME, match["names"]) if is_name(name)]


def _age_of(name: str, years: str) -> Statement:
    return Statement(f"{name} is {years} years old", f"{slug(name)}_age", "family")
