"""Statements that differ in one word: whether that word makes one the denial, or another value, of the other.

Invariant: all other words are the same, in the same order; so both speak of the same thing under the same conditions.
"""

from __future__ import annotations

import re
from itertools import takewhile

from memories.consolidation.contradiction.claim import Claim, singular
from memories.consolidation.contradiction.words import CAMPS, EXCLUSIVE, ONLY_BESIDE, SEVERAL, SEVERAL_PEOPLE, UNITS
from memories.hygiene.synonyms import VERBS
from memories.hygiene.wording import WEEKDAYS
from memoryhub.regexes import lazy_regex

_CLOCK = lazy_regex(r"\d{1,2}:\d\d")
_COUNTING = frozenset(("have", "own", "keep"))
_AMOUNT_VERBS = frozenset(("weigh", "cost", "earn", "pay", "take"))
DAY_PARTS = frozenset(("antemeridiem", "pm"))
_SHORTEST_SWAP = 4
_LONGEST_THING = 2
_FIRST = lazy_regex(r"(?:my |our |a |an |the )?([\w-]+)(?!'s)\b(?! of)")
_VERB = lazy_regex(
    r"\b(?:is|are|has|costs?|lasts?|weighs?|meets?|leaves?|starts?|begins?|ends?|closes?|opens?|arrives?|takes? place"
    r"|departs?|expires?|comes?|goes|runs?)\b|'s\b",
    re.IGNORECASE,
)
_MEETINGS = frozenset(("meet", "meeting"))
# Where the name of a thing ends.
_AFTER_THING = frozenset("on at in for to of by due begin leave end close open arrive".split())


def denies(one: Claim, other: Claim) -> bool:
    """Whether one says that what the other says is not so."""
    if one.denied is other.denied or not one.words:
        return False
    said, denied = (other, one) if one.denied else (one, other)
    return denied.words in (said.words, tuple(word for word in said.words if word != "always"))


def opposes(one: Claim, other: Claim) -> bool:
    """Whether one word, or what is put first, makes them opposites."""
    if one.denied or other.denied:
        return False
    if frozenset((one.phrase, other.phrase)) in CAMPS:
        return True
    if _swapped_preference(one.words, other.words):
        return True
    found = _difference(one.words, other.words)
    if found is None:
        return False
    pair = frozenset(found)
    beside = ONLY_BESIDE.get(pair)
    return pair in EXCLUSIVE and (beside is None or bool(beside & set(map(singular, one.words))))


def values_differ(one: Claim, other: Claim) -> bool:
    """Whether they give another number, day, date or hour for the same."""
    if one.denied or other.denied:
        return False
    if _other_half_of_day(one.words, other.words):
        return _tells_time(one)
    found = _difference(one.words, other.words)
    if found is None:
        return False
    place = next(n for n, word in enumerate(one.words) if word != other.words[n])
    kinds = {kind_of(word) for word in found}
    if len(kinds) != 1 or (not place and not one.words[0].startswith("number:")):
        return False
    match kinds.pop():
        case "number":
            return _is_amount(one, place)
        case "ordinal":
            return one.words[place + 1 :] == ("floor",)
        case "date" | "day" | "hour":
            return _tells_time(one)
    return False


def about_several(claim: Claim) -> bool:
    """Whether it is said of somebody of whom there may be several: "friend likes tea"."""
    first = _FIRST.match(claim.text.casefold())
    return first is not None and singular(first[1]) in SEVERAL_PEOPLE


def _difference(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, str] | None:
    """The one word in which they differ."""
    if len(one) != len(other):
        return None
    found = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
    return found[0] if len(found) == 1 else None


def preference(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """What is preferred to what."""
    if words[:1] != ("prefer",) or "to" not in words:
        return None
    place = words.index("to")
    return words[1:place], words[place + 1 :]


def _swapped_preference(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    ours, theirs = preference(one), preference(other)
    return ours is not None and theirs is not None and all(ours) and ours[0] != ours[1] and ours == theirs[::-1]


def kind_of(word: str) -> str:
    """What sort of value a word is: a number, an ordinal, an hour, a date or a weekday; empty for other words."""
    if word.startswith("number:"):
        return "number"
    if word.startswith("ordinal:"):
        return "ordinal"
    if _CLOCK.fullmatch(word):
        return "hour"
    if word.startswith("date:"):
        return "date"
    if word.removeprefix("every:") in WEEKDAYS:
        return "day"
    return ""


def _is_amount(claim: Claim, place: int) -> bool:
    """Whether the number says how many or how much there is of one thing; not "bus 4", and not "at 3"."""
    words = claim.words
    after = words[place + 1] if place + 1 < len(words) else ""
    before = words[place - 1] if place else ""
    if before in _COUNTING:
        # "Has 2 children": of what is counted, with nothing said of which.
        return bool(after) and place in (1, 2) and len(words) <= place + 3
    if before in _AMOUNT_VERBS:
        return singular(after) in UNITS
    if before == "at":
        return _tells_time(claim) and (not after or after in DAY_PARTS)
    # "Rent is 900", "shoe size is 39".
    telling = bool(before) and before not in VERBS - {"rent"} and place <= _LONGEST_THING
    return telling and bool(_VERB.search(claim.text)) and (not after or singular(after) in UNITS)


def _tells_time(claim: Claim) -> bool:
    """Whether it says when one thing is: "team meeting is on Tuesdays". People do much on many days."""
    if claim.own or claim.words[0] in _COUNTING or not _VERB.search(claim.text):
        return False
    thing = list(takewhile(lambda word: word not in _AFTER_THING and not kind_of(word), claim.words))
    # "Meeting is on Monday" may be any meeting, "team meeting" is the one of the team.
    return bool(thing) and (singular(thing[-1]) not in SEVERAL or (thing[-1] in _MEETINGS and len(thing) > 1))


def _other_half_of_day(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether all that differs is an hour with its half of the day: "at 6 am", "at 2 pm"."""
    if len(one) != len(other) or len(one) < _SHORTEST_SWAP or one[:-2] != other[:-2] or one[-2:] == other[-2:]:
        return False
    return all(words[-1] in DAY_PARTS and words[-2].startswith("number:") for words in (one, other))
