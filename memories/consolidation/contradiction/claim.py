"""A fact as a claim: its words in one form, whether it is denied, whether it says that something ended or changed.

Invariant: two texts with the same claim words differ in nothing but what the flags say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from memories.consolidation.contradiction.words import BORN, CHANGED, DISTASTES, PAST, TASTES, UNSURE, WISH
from memories.consolidation.grammar.text import plain
from memories.consolidation.grammar.vocabulary import doubtful
from memories.hygiene.synonyms import PARTICIPLES, THIRD
from memories.hygiene.wording import wording
from memoryhub.regexes import lazy_regex

_NO = frozenset(("not", "no", "never", "none"))
_OVER = frozenset(("quitted", "longer"))
_AUXILIARY = frozenset(("have", "will", "still", "now", "already", "do", "just"))
_BEGUN = frozenset(("started", "begun", "begin"))
# A past that tells of now.
_LASTING = frozenset("based married engaged divorced retired widowed moved called named closed".split())
_ALLERGY = lazy_regex(r"^(?:have|not have) (?P<what>[\w-]+) allerg(?:y|ies)$")
_LISTED = lazy_regex(r"^have allerg(?:y|ies) (?:to|against) (?P<what>.+)$")
_GOING = lazy_regex(r"\bgoing to\b(?=\s+(?:the|a|an|my|church|school|work|bed)\b)", re.IGNORECASE)
_OWN = lazy_regex(r"(?:i|we|the user|user)\s", re.IGNORECASE)
# No plurals.
_ENDS_IN_S = frozenset("always news series christmas gas yes has does was whereas previous tennis".split())
_NOBODY = frozenset(("self", "user", "person"))


@dataclass(frozen=True)
class Claim:
    """`words` are what is claimed, in order, in one form each and without negations.

    `denied`: it says that this is not so; `over`: not any more. What else it says of itself is only looked at when it
    is asked for: most pairs of facts differ already in their words.
    """

    text: str
    words: tuple[str, ...]
    denied: bool
    over: bool

    @property
    def phrase(self) -> str:
        """The words as one text."""
        return " ".join(self.words)

    @cached_property
    def own(self) -> bool:
        """Whether it begins with what somebody does, and not with a thing."""
        return bool(_OWN.match(self.text)) or self.text.split(" ", 1)[0].casefold() in THIRD

    @cached_property
    def changed(self) -> bool:
        """Whether it says itself that it is news."""
        return self.over or bool(CHANGED.search(self.text))

    @cached_property
    def past(self) -> bool:
        """Whether it tells of what was; where and when somebody was born holds for good."""
        if BORN.match(self.text):
            return False
        verb = any(word in PARTICIPLES and word not in _LASTING and word.endswith("ed") for word in self.words[:2])
        return verb or bool(PAST.search(self.text))

    @cached_property
    def unsure(self) -> bool:
        """Whether it supposes, or tells what somebody else said."""
        return bool(UNSURE.search(self.text)) or doubtful(_GOING.sub("", WISH.sub("", self.text)))

    @cached_property
    def wish(self) -> bool:
        """Whether it says what somebody wants or plans."""
        return bool(WISH.search(self.text))


def claim_of(text: str) -> Claim:
    """The claim that a fact makes."""
    told = " ".join(plain(text).split()).rstrip(".!")
    words = [word.removesuffix(":third") for word in wording(told).words]
    while words and words[0] in _NOBODY:
        words = words[1:]
    words = [word for word in words if word != "now"]
    over = bool(_OVER & set(words))
    denied = sum(word in _NO for word in words) % 2 == 1 or ("quitted" in words)
    if words[:2] == ["have", "quitted"]:
        words = words[1:]
    words = [word for word in words if word not in _NO | _OVER]
    words = _without_auxiliaries(words)
    words, denied = _taste([singular(word) for word in words], denied=denied)
    return Claim(told, _allergic(words), denied, over)


def singular(word: str) -> str:
    """A word without the ending of its plural, roughly."""
    if word in ("children", "kids", "child"):
        return "child"
    if word == "wives":
        return "wife"
    if ":" in word or word in _ENDS_IN_S or len(word) < 4 or word.endswith(("ss", "us", "is")):  # noqa: PLR2004 - "gas", "bus"
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return word.removesuffix("s")


def _without_auxiliaries(words: list[str]) -> list[str]:
    """What is begun as what is done: "has started working at" as "work at"."""
    while len(words) > 1 and words[0] in _AUXILIARY - {"have"}:
        words = words[1:]
    if len(words) > 1 and words[0] == "have" and (words[1] in _BEGUN or words[1] == "moved"):
        words = words[1:]
    if len(words) > 1 and words[0] in _BEGUN:
        words = words[1:]
    return words


def _taste(words: list[str], *, denied: bool) -> tuple[list[str], bool]:
    """Likes and dislikes as one verb. Who does not love a thing may like it, and who does not hate it may not."""
    for place, word in enumerate(words[:4]):
        if word in TASTES and (not denied or word in ("like", "enjoy")):
            return [*words[:place], "like", *words[place + 1 :]], denied
        if word in DISTASTES and not denied:
            return [*words[:place], "like", *words[place + 1 :]], True
    return words, denied


def _allergic(words: list[str]) -> tuple[str, ...]:
    """An allergy in one form: "has a nut allergy" as "allergic to nut"."""
    told = " ".join(words)
    found = _ALLERGY.match(told) or _LISTED.match(told)
    return ("allergic", "to", *found["what"].split()) if found else tuple(words)
