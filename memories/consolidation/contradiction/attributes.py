"""Attributes that have one value at a time: which one a fact tells, of whom, and whether two values exclude each other.

Invariant: in doubt a fact tells no attribute, and two values do not exclude each other.
"""

# ruff: noqa: E501  # a pattern that is broken into pieces is harder to read than a long line

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from memories.consolidation.contradiction.claim import singular
from memories.consolidation.contradiction.words import (
    BESIDE,
    COLOURS,
    DESCRIBING,
    LIMITED,
    MAKERS,
    REGIONS,
    SEVERAL,
    SIDE_WORK,
)
from memories.consolidation.grammar.text import word_set
from memories.consolidation.grammar.vocabulary import PROFESSIONS
from memories.hygiene.wording import wording
from memoryhub.regexes import lazy_regex


@dataclass(frozen=True, slots=True)
class Attribute:
    """`name` is whose attribute it is and which; `value` are the words of its value, `told` the value as it stands."""

    name: str
    told: str
    value: frozenset[str]


_WHO = r"^(?:(?:i|we|the user|user)\s+)?(?:(?:am|are|is|'m|has|have)\s+)?(?:(?:now|currently|just|recently|still|since)\s+)*"
_IS = r"\s+(?:is|are)\s+(?:now\s+|currently\s+)?"
_CALLED = r"(?:'s name is|\s+(?:is|are)\s+(?:now\s+)?(?:called|named))\s+"
_MY = r"^(?:(?:my|our|the user's|the|his|her)\s+)?"
_PLACE = "place"
_NAME = "name"
_ANY = "any"
# (attribute, what its value has to look like, pattern). The first that matches is meant.
_PATTERNS: tuple[tuple[str, str, re.Pattern[str]], ...] = tuple(
    (name, kind, lazy_regex(pattern, re.IGNORECASE))
    for name, kind, pattern in (
        ("address", _ANY, rf"{_WHO}(?:lives?|living|resides?) (?:at|on) (?P<value>(?=\d|\w+ (?:street|road|lane|avenue)).+)$"),
        ("home", _PLACE, rf"{_WHO}(?:lives?|living|resides?|residing|based|settled) in (?:an? [\w -]+? in )?(?P<value>.+)$"),
        ("home", _PLACE, rf"{_WHO}(?:moved|relocated) (?:back )?to (?P<value>.+)$"),
        ("home", _PLACE, rf"{_MY}(?:current )?(?:home city|home town|hometown|city of residence){_IS}(?P<value>.+)$"),
        ("birthplace", _PLACE, rf"{_WHO}(?:was )?born in (?P<value>[^\d].*)$"),
        ("origin", _PLACE, rf"{_WHO}(?:comes? )?(?:originally )?from (?P<value>.+)$"),
        ("employer", _NAME, rf"{_WHO}(?:works?|working|employed) (?:at|for|by) (?P<value>.+)$"),
        ("employer", _NAME, rf"{_WHO}(?:started|began) (?:working|work|a job|a new job) (?:at|for|with) (?P<value>.+)$"),
        ("employer", _ANY, rf"{_MY}(?:employer|company|workplace){_IS}(?P<value>.+)$"),
        ("occupation", _ANY, rf"{_WHO}(?:works?|working|employed) as (?:an?|the) (?P<value>.+)$"),
        ("occupation", _ANY, rf"{_MY}(?:job title|occupation|profession){_IS}(?:an? )?(?P<value>.+)$"),
        ("occupation", "profession", rf"{_MY}job{_IS}(?:an? )?(?P<value>.+)$"),
        ("occupation", "profession", rf"{_WHO}an? (?P<value>[\w' -]+)$"),
        ("name", _NAME, rf"{_MY}(?:full )?name is (?P<value>.+)$"),
        ("called", _NAME, rf"{_WHO}(?:prefers? to be|likes? to be|goes by|wants? to be) (?:called )?(?P<value>[A-Z].*)$"),
        ("spouse", _NAME, rf"{_WHO}married to (?P<value>.+)$"),
        ("fiance", _NAME, rf"{_WHO}engaged to (?P<value>.+)$"),
        ("car", _NAME, rf"{_WHO}drives? an? (?:[a-z-]+ )*?(?P<value>(?-i:[A-Z]).*)$"),
        ("phone", _NAME, rf"{_WHO}(?:uses|has|use|have) an? (?P<value>.+?) as (?:an? |the |my )?(?:phone|mobile)$"),
        ("phone", _NAME, rf"{_WHO}(?:an? )(?P<value>.+?) as (?:an? |the |my )?(?:phone|mobile)$"),
        ("phone", _NAME, rf"{_MY}(?:mobile|phone){_IS}an? (?P<value>.+)$"),
        ("phone number", "number", rf"{_MY}(?:mobile|phone)(?: phone)? number{_IS}(?P<value>.+)$"),
        ("age", "number", rf"{_WHO}(?P<value>\d+) years? old$"),
        ("height", "number", rf"{_WHO}(?P<value>[\d.]+ ?\w+) tall$"),
        ("height", "number", rf"{_MY}height{_IS}(?P<value>[\d.]+ ?\w+)$"),
        ("weight", "number", rf"{_WHO}weighs? (?P<value>[\d.]+ ?\w+)$"),
        ("weight", "number", rf"{_MY}weight{_IS}(?P<value>[\d.]+ ?\w+)$"),
        ("birthday", "date", rf"{_MY}(?:birthday|date of birth){_IS}(?:on )?(?P<value>.+)$"),
        ("birthday", "date", rf"{_WHO}(?:was )?born (?:on|in) (?P<value>.*\d.*)$"),
    )
)  # fmt: skip
_THING_CALLED = lazy_regex(rf"{_MY}(?P<thing>[\w' -]+?){_CALLED}(?P<value>.+)$", re.IGNORECASE)
_THING_IS = lazy_regex(rf"{_MY}(?P<thing>[\w' -]+?){_IS}(?P<value>.+)$", re.IGNORECASE)
# "My X is Y" tells of these whatever Y looks like.
_PLAIN = word_set(
    "email timezone language surname nickname username diet religion nationality pronoun hometown employer blood shoe ring"
)
_ONLY_ONE = word_set("favourite native first mother's")
_PRONOUNS = word_set("he she it they this that there what who i we you everybody everyone nobody one")
_NO_NAMES = word_set("not no none unknown private a an")
_TAIL = lazy_regex(
    r"\s*(?:\b(?:now|again|currently|these days|nowadays|instead|any ?more|at the moment)\b)\s*$", re.IGNORECASE
)
_ARTICLE = lazy_regex(r"^(?:an?|the|in|on|at)\s+", re.IGNORECASE)
_WHERE = lazy_regex(r"^(?:in|on|at)\s+")
_UPPER = lazy_regex(r"[A-Z\d]")
_LONGEST_VALUE = 6
_AMOUNTS = frozenset(("height", "weight", "age"))


def attribute_of(told: str) -> Attribute | None:
    """The attribute that a fact tells, if it is one that has a single value. `told` has plain quotes and no full stop."""
    if BESIDE.search(told):
        return None
    bare = _TAIL.sub("", told)
    for name, kind, pattern in _PATTERNS:
        if (match := pattern.match(bare)) and (found := _value(name, kind, match["value"])):
            return found
    return _of_thing(bare)


def exclude(one: Attribute, other: Attribute) -> bool:
    """Whether two values of one attribute cannot both hold: neither is a part of the other, nor another form of it."""
    if not one.value or not other.value or one.value <= other.value or other.value <= one.value:
        return False
    if _short_for(one.told, other.told) or _short_for(other.told, one.told):
        return False
    if one.name == "birthday":
        return _dates_differ(one.value, other.value)
    if one.name in _AMOUNTS and _unit(one) != _unit(other):
        return False
    if one.name == "timezone: plain" and not ("/" in one.told and "/" in other.told):
        return False  # UTC+1, CET and Europe/Berlin name the same
    if one.name == "occupation" and any(_last(each.told) in SIDE_WORK for each in (one, other)):
        return False
    # A town may lie in a country, a model is some maker's, what is in French may be in Paris: that is no other value.
    return all(
        (head(one.told) in names) == (head(other.told) in names)
        for head, names in ((_head, REGIONS), (_first, MAKERS), (_head, DESCRIBING))
    )


def _value(name: str, kind: str, told: str) -> Attribute | None:
    """The attribute with this value, if it looks like one."""
    told = told.strip(" ,.;")
    if (kind != "date" and LIMITED.search(told)) or not told or len(told.split()) > _LONGEST_VALUE:
        return None
    if kind in (_PLACE, _NAME):
        head = _ARTICLE.sub("", told)
        known = kind == _PLACE and _head(told) in REGIONS
        if not known and not (_UPPER.search(head.split()[0]) if head else None):
            return None
        if head.split()[0].casefold() in _NO_NAMES:
            return None
    if kind == "profession" and _last(told) not in PROFESSIONS:
        return None
    return Attribute(name, told, value_words(told))


def value_words(told: str) -> frozenset[str]:
    """The words of a value in one form."""
    return frozenset(_folded(singular(word.removesuffix(":third"))) for word in wording(told).words) - {"self"}


def _folded(word: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFKD", word) if not unicodedata.combining(letter))


def _of_thing(told: str) -> Attribute | None:
    """The name or another single attribute of one thing: "dog is called Rex", "bank is Monzo", "car is white"."""
    called = _THING_CALLED.match(told)
    match = called or _THING_IS.match(told)
    if match is None:
        return None
    thing, value = match["thing"], match["value"].strip()
    words = [singular(word) for word in wording(thing).words]
    if not words or words[0] in _PRONOUNS or _is_plural(thing) or (words[-1] in SEVERAL and words[0] not in _ONLY_ONE):
        return None
    if LIMITED.search(value) or len(value.split()) > _LONGEST_VALUE:
        return None
    attribute = " ".join(words)
    kind = "called" if called else _kind_of(words, value)
    if not kind:
        return None
    # "Boss is Priya" and "boss is called Priya" name the same.
    kind = "called" if kind == "proper" else kind
    return Attribute(f"{attribute}: {kind}", value, value_words(value))


def _is_plural(thing: str) -> bool:
    last = thing.rsplit(maxsplit=1)[-1].casefold()
    return last in ("children", "people", "parents") or (last.endswith("s") and singular(last) != last)


def _kind_of(words: list[str], value: str) -> str:
    """What sort of value it is; only values of one sort are compared. Empty: of none that would exclude another."""
    if words[0] == "favourite" and len(words) > 1:
        return "favourite"
    if words[0] in _PLAIN or words[-1] in _PLAIN:
        return "plain"
    bare = _ARTICLE.sub("", value)
    first = value.split(maxsplit=1)[0].casefold()
    if bare.casefold() in COLOURS:
        return "colour"
    if all(_UPPER.search(word) for word in bare.split()):
        if bare.casefold() in DESCRIBING and first != "in":
            return ""
        # "Dog is a Labrador" tells no name.
        where = first if first in ("in", "on", "at") else "a" * (first in ("a", "an"))
        return f"{where} proper".strip()
    return ""


def _first(told: str) -> str:
    return _ARTICLE.sub("", told.casefold()).split(maxsplit=1)[0]


def _last(told: str) -> str:
    return told.rsplit(maxsplit=1)[-1].casefold()


def _head(told: str) -> str:
    """What comes before a comma, without the preposition that some values have."""
    return _WHERE.sub("", told.split(",", 1)[0].strip().casefold())


def _short_for(short: str, long: str) -> bool:
    """Whether one may be short for the other: made of its first letters (IBM), or a part of it (Liz)."""
    letters = short.replace(".", "").casefold()
    initials = "".join(word[0] for word in long.split() if word[0].isupper()).casefold()
    return len(letters) > 1 and (letters == initials or (letters.isalpha() and letters in long.casefold()))


def _unit(amount: Attribute) -> frozenset[str]:
    return frozenset(word for word in amount.value if not word.startswith("number:"))


def _dates_differ(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether dates differ in a part that both have."""
    ours, theirs = _parts(one), _parts(other)
    shared = [(mine, yours) for mine, yours in zip(ours, theirs, strict=True) if mine and yours]
    return any(mine != yours for mine, yours in shared)


def _parts(words: frozenset[str]) -> tuple[str, str, str]:
    """Year, month and day, as far as they are said."""
    for word in words:
        if word.startswith("date:"):
            year, month, day = word.removeprefix("date:").split("-")
            return year, month, day
    years = [word.removeprefix("number:") for word in words if re.fullmatch(r"number:(?:19|20)\d\d", word)]
    return (years[0] if len(years) == 1 else "", "", "")
