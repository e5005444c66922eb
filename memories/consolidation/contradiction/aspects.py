"""What two facts have to share to be judged at all: to find, among many facts, the few pairs that are worth a look.

Invariant: two facts of which the rules judge one to contradict the other share an aspect. `cues` are what a database
can look for instead: parts of words of which the other fact holds one, as a rule.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping

from memories.consolidation.contradiction.attributes import attribute_of
from memories.consolidation.contradiction.claim import Claim, singular
from memories.consolidation.contradiction.frames import DAY_PARTS, kind_of, preference
from memories.consolidation.contradiction.judging import FAMILIES, HELD_BY, LONGEST_JUDGED, Read
from memories.consolidation.contradiction.states import GROUPS, groups_of
from memories.consolidation.contradiction.words import CAMPS, EXCLUSIVE
from memories.consolidation.grammar.text import plain, word_set
from memories.hygiene.synonyms import SYNONYMS

_OPPOSED = frozenset(word for pair in EXCLUSIVE for word in pair)
_PARTNERS: Mapping[str, frozenset[str]] = {
    word: frozenset(other for pair in EXCLUSIVE if word in pair for other in pair) for word in _OPPOSED
}
# By which words a fact of an attribute may tell it.
_TOLD_BY: Mapping[str, frozenset[str]] = {
    "home": word_set("liv based moved home"),
    "address": word_set("liv address"),
    "birthplace": word_set("born"),
    "birthday": word_set("born birth"),
    "origin": word_set("from"),
    "employer": word_set("work employ company"),
    "occupation": word_set("work employ job occupation profession"),
    "name": word_set("name"),
    "called": word_set("called goes"),
    "spouse": word_set("married"),
    "fiance": word_set("engaged"),
    "car": word_set("drive"),
    "phone": word_set("phone mobile"),
    "phone number": word_set("phone mobile"),
    "age": word_set("old"),
    "height": word_set("tall height"),
    "weight": word_set("weigh"),
}
_WEAK = word_set(
    """
    in on at to of for with and by be is have like live work do go prefer old year self the can will use get take from
    eat drink own want need know called name my always off it
    """
)
_SURFACES: dict[str, set[str]] = {}
for _word, _base in SYNONYMS.items():
    _SURFACES.setdefault(_base, set()).add(_word)
_SHORTEST_CUT = 5
# So many words of a fact are looked for, the longest first: they tell most.
_LOOKED_FOR = 2


def aspects(read: Read) -> frozenset[str]:
    """The aspects of a statement; none if there is nothing to judge."""
    claim = read.claim
    if claim is None or claim.unsure:
        return frozenset()
    found = {f"said {' '.join(word for word in claim.words if word != 'always')}", *_masked(claim.words)}
    found |= {f"state {number}" for number in groups_of(claim)}
    found |= {f"camp {number}" for number, camp in enumerate(CAMPS) if claim.phrase in camp}
    if parts := preference(claim.words):
        found.add("prefers " + " / ".join(sorted(map(" ".join, parts))))
    if read.attribute is not None:
        found.add(f"attribute {read.attribute.name}")
    if read.statement.key and read.slot in FAMILIES:
        found.add(f"slot {read.slot}")
    if claim.words[0] == "sold":
        found.add(f"thing {claim.words[-1]}")
    elif claim.words[0] in HELD_BY:
        found |= {f"thing {word}" for word in claim.words[1:]}
    return frozenset(found)


def kinship(read: Read) -> frozenset[str]:
    """What facts share that are near each other: an aspect, or one of their telling words."""
    if read.claim is None:
        return frozenset()
    return aspects(read) | {f"word {word}" for word in _longest(read.claim)}


def cues(read: Read) -> tuple[str, ...]:
    """Parts of words, in small letters; a fact that is worth a look holds one of them."""
    claim = read.claim
    if claim is None or claim.unsure:
        return ()
    wanted = _at_odds_with(claim)
    if read.attribute is not None:
        name, _, kind = read.attribute.name.partition(": ")
        wanted |= set(name.split()[-1:]) if kind else _TOLD_BY.get(name, frozenset())
    if claim.words[0] in HELD_BY:
        wanted.add(claim.words[-1])
    # Each word costs the database a pass, so one that tells is enough: a denial holds it as well.
    wanted |= set() if wanted else set(_longest(claim)[:1] or claim.words[:1])
    parts = {part for word in wanted for part in _parts(word)}
    return tuple(sorted(part for part in parts if not any(other in part for other in parts - {part})))


class Look:
    """Whether another text can be judged beside a statement, at a glance: reading it takes ten times as long."""

    def __init__(self, read: Read) -> None:
        words = () if read.claim is None else read.claim.words
        self._telling = [_parts(word) for word in _telling(words)]
        opposed = set() if read.claim is None else _at_odds_with(read.claim)
        self._opposed = {part for word in opposed for part in _parts(word)}
        self._read = read

    def worth(self, text: str, key: str) -> bool:
        """Whether it says nearly the same words, tells the same attribute, or bears on the same part of a life."""
        if len(text) > LONGEST_JUDGED:
            return False
        if key and key != self._read.statement.key and self._read.slot in FAMILIES:
            return True
        told = text.casefold()
        said = sum(any(part in told for part in parts) for parts in self._telling)
        if said >= max(1, len(self._telling) - 1) or not self._telling:
            return True
        if any(part in told for part in self._opposed):
            return True
        ours = self._read.attribute
        if ours is None:
            return False
        theirs = attribute_of(" ".join(plain(text).split()).rstrip(".!"))
        return theirs is not None and theirs.name == ours.name


def pairs(aspects_of: Mapping[int, Iterable[Hashable]], *, widest: int) -> Iterator[tuple[int, int]]:
    """The pairs of numbers that share an aspect, each once, the smaller number first.

    Of an aspect that more than `widest` share, only neighbours in their order are paired, so many apart at most: a fact
    meets those that were learned around its time, and the work stays in proportion to the facts.
    """
    groups: dict[Hashable, list[int]] = {}
    for number, shared in aspects_of.items():
        for aspect in shared:
            groups.setdefault(aspect, []).append(number)
    seen: set[tuple[int, int]] = set()
    for members in groups.values():
        members.sort()
        for place, first in enumerate(members):
            for second in members[place + 1 : place + 1 + widest]:
                if (first, second) not in seen:
                    seen.add((first, second))
                    yield first, second


def _masked(words: tuple[str, ...]) -> Iterator[str]:
    """The words with one of them left open, which another value or an opposite could fill."""
    for place, word in enumerate(words):
        kind = kind_of(word)
        if kind or word in _OPPOSED:
            shape = "time" if kind in ("date", "day", "hour") else kind
            yield f"open {' '.join((*words[:place], f'<{shape}>', *words[place + 1 :]))}"
    if words[-1] in DAY_PARTS:
        yield f"open {' '.join(words[:-2])}"


def _at_odds_with(claim: Claim) -> set[str]:
    """Words by which another fact can say the opposite, or what cannot be beside it."""
    found = {partner for word in _telling(claim.words) for partner in _PARTNERS.get(word, ())}
    found |= {phrase.split()[-1] for camp in CAMPS if claim.phrase in camp for phrase in camp}
    return found | {word for number in groups_of(claim) for word in GROUPS[number]}


def _longest(claim: Claim) -> list[str]:
    return sorted(_telling(claim.words), key=lambda word: (-len(word), word))[:_LOOKED_FOR]


def _telling(words: Iterable[str]) -> set[str]:
    return {word for word in words if word not in _WEAK | DAY_PARTS and ":" not in word and not kind_of(word)}


def _parts(word: str) -> set[str]:
    """The beginnings of all words that stand for this one."""
    return {_cut(surface) for surface in _SURFACES.get(word, {word})}


def _cut(word: str) -> str:
    """A word without the ending that its forms do not share: "smok" is in "smoking", "allerg" in "allergies"."""
    word = singular(word)
    for ending in ("ies", "ing", "ied", "ic", "y", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_CUT - 1:
            return word.removesuffix(ending)
    return word
