"""The rules: whether a newer fact contradicts an older one, brings it up to date, or leaves it alone.

Invariant: precision first. Both verdicts but NEITHER need the same subject and attribute with another value, the same
words with a negation or an opposite, or a known consequence; whatever is limited, past, planned, supposed or somebody
else's opinion is NEITHER.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from memories.consolidation.contradiction.attributes import Attribute, attribute_of, exclude
from memories.consolidation.contradiction.claim import Claim, claim_of
from memories.consolidation.contradiction.frames import about_several, denies, opposes, values_differ
from memories.consolidation.contradiction.states import at_odds
from memories.consolidation.contradiction.words import BESIDE
from memories.consolidation.slots import excludes, slot_of

# Slots that different keys name and that hold one value; see `slots`.
FAMILIES = frozenset("home_city address postcode employer occupation boss landlord rent spouse fiance salary".split())
# A fact is a short assertion; what is longer (characters) tells a story, which plain rules cannot judge.
LONGEST_JUDGED = 300
# What one holds that one can sell begins with one of these.
HELD_BY = frozenset(("car", "own", "have", "drive", "bike", "ride"))
ANOTHER_VALUE = "only one of the two values can hold"


class Verdict(StrEnum):
    """What a newer fact does to an older one: both cannot hold, the newer tells what became of it, or nothing."""

    CONTRADICTION = "contradiction"
    UPDATE = "update"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Statement:
    """What of a fact is judged."""

    text: str
    key: str = ""
    category: str = ""
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with its reason: a few words for people, without those of the facts."""

    verdict: Verdict
    reason: str = ""


NEITHER = Judgement(Verdict.NEITHER)


@dataclass(frozen=True)
class Read:
    """A statement as the rules read it, to be judged beside many others. `claim` None: there is nothing to judge."""

    statement: Statement
    claim: Claim | None

    @property
    def slot(self) -> str:
        """The slot that its key names; empty without a key."""
        return slot_of("", self.statement.key)

    @cached_property
    def attribute(self) -> Attribute | None:
        """The attribute that it tells plainly, if any."""
        claim = self.claim
        if claim is None or claim.denied:
            return None
        found = attribute_of(claim.text)
        return None if found is None or claim.past or claim.wish else found


def read(statement: Statement) -> Read:
    """What the rules make of a statement."""
    claim = claim_of(statement.text) if len(statement.text) <= LONGEST_JUDGED else None
    return Read(statement, claim if claim is not None and claim.words and not about_several(claim) else None)


def judge_by_rules(older: Statement, newer: Statement) -> Judgement:
    """What `newer` does to `older`, as far as plain rules can tell."""
    return judge(read(older), read(newer))


def judge(older: Read, newer: Read) -> Judgement:
    """What `newer` does to `older`, both read already."""
    one, other = older.claim, newer.claim
    if one is None or other is None or _at_other_times(older.statement, newer.statement):
        return NEITHER
    reason = _denied(one, other) or _opposed(one, other) or (ANOTHER_VALUE if _differ(older, newer) else "")
    if not reason or one.unsure or other.unsure:
        return NEITHER
    own_keys = bool(older.statement.key and newer.statement.key) and older.statement.key != newer.statement.key
    update = other.changed or (own_keys and reason == ANOTHER_VALUE)
    return Judgement(Verdict.UPDATE if update else Verdict.CONTRADICTION, reason)


def _denied(one: Claim, other: Claim) -> str:
    if denies(one, other) and not (one.past or other.past):
        return "one denies the other"
    return "it was given away" if _sold(one, other) else ""


def _opposed(one: Claim, other: Claim) -> str:
    reason = ""
    if opposes(one, other):
        reason = "they say the opposite"
    elif at_odds(one, other):
        reason = "one rules out the other"
    return reason if reason and not _elsewhen(one, other) else ""


def _elsewhen(one: Claim, other: Claim) -> bool:
    """Whether one of them tells of what was, or of what somebody wants."""
    return one.wish or other.wish or one.past or other.past


def _differ(older: Read, newer: Read) -> bool:
    """Whether the newer one gives what the older one tells another value. Keys of two slots tell two things."""
    one, other = older.claim, newer.claim
    if one is None or other is None or one.denied or other.denied:
        return False
    if older.statement.key and newer.statement.key and older.slot != newer.slot:
        return False
    if not _another_value(older, newer) and not values_differ(one, other):
        return False
    return not _elsewhen(one, other) and not BESIDE.search(newer.statement.text)


def _another_value(older: Read, newer: Read) -> bool:
    """Whether they give one attribute two values that exclude each other."""
    ours, theirs = older.attribute, newer.attribute
    if ours is not None and theirs is not None and ours.name == theirs.name:
        return exclude(ours, theirs)
    keys = {older.statement.key, newer.statement.key}
    aligned = "" not in keys and len(keys) > 1 and older.slot == newer.slot and older.slot in FAMILIES
    return aligned and excludes(newer.statement.text, older.statement.text)


def _sold(one: Claim, other: Claim) -> bool:
    """Whether the newer fact gives away what the older one says is there: "car is a Panda", "sold the Panda"."""
    if other.words[:1] != ("sold",) or one.denied or one.words[0] not in HELD_BY:
        return False
    thing = set(other.words[1:])
    return bool(thing) and thing <= set(one.words) and not one.past and not one.wish


def _at_other_times(older: Statement, newer: Statement) -> bool:
    """Whether one had ended before the other began."""
    return bool(
        (older.valid_to and newer.valid_from and older.valid_to <= newer.valid_from)
        or (newer.valid_to and older.valid_from and newer.valid_to <= older.valid_from)
    )
