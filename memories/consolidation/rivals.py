"""Which facts a new one makes false: rivals for its slot, what hangs on them, and plain opposites.

Invariant: a fact that may still be true is not among them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from memories.consolidation.grammar.statement import Statement
from memories.consolidation.grammar.words import content_words
from memories.consolidation.slots import (
    ADDRESS,
    DEPENDENTS,
    EMPLOYER,
    HOME,
    OCCUPATION,
    UNTIL_MARRIED,
    excludes,
    names_value_of,
    slot_of,
    value_words,
)
from memories.consolidation.standing import Held, distinct
from memories.hygiene.text import normalised
from memoryhub.regexes import lazy_regex

_PREFERS = lazy_regex(r"prefers (?P<one>.+?) (?:over|to|than) (?P<other>.+)", re.IGNORECASE)
_TASTE = lazy_regex(r"(?P<verb>likes|loves|enjoys|hates|dislikes|can't stand)\s+(?P<what>.+)", re.IGNORECASE)
_POSITIVE = frozenset(("likes", "loves", "enjoys"))
_NEGATED = lazy_regex(r"(?:no longer|does not|doesn't|is not|isn't|not|stopped)\s+(?P<what>.+)", re.IGNORECASE)
_AGAIN = lazy_regex(r"\s+again$", re.IGNORECASE)
_MEATLESS = lazy_regex(r"is (?:vegetarian|vegan|pescatarian|an? (?:vegetarian|vegan|pescatarian))\b", re.IGNORECASE)
_FLESH = lazy_regex(r"eats (?:meat|beef|chicken|pork|lamb)\b", re.IGNORECASE)


_POSITION = lazy_regex(
    r"\b(?:senior|junior|lead|leader|head|principal|chief|director|manager|vice|deputy|assistant|intern|trainee)\b",
    re.IGNORECASE,
)
# More facts of one moment than this were imported together, not told in one breath.
_IN_ONE_BREATH = 3
_ONCE = lazy_regex(r"(?:lived|used to live)\b", re.IGNORECASE)
# Slots where fewer words about the same are no news: "Boss is Priya" after "Manager at Meridian is called Priya".
_NO_NEWS = frozenset((HOME, EMPLOYER, "boss", "landlord", "spouse", "fiance"))


def is_no_news(statement: Statement, known: Sequence[Held]) -> bool:
    """Whether a known fact of the slot says the same in as many words or more."""
    slot = slot_of(statement.text, statement.key)
    value = value_words(statement.text)
    return slot in _NO_NEWS and any(held.slot == slot and value < value_words(held.text) for held in known)


def made_false(statement: Statement, known: Sequence[Held], told: Collection[str] = ()) -> list[Held]:
    """The facts of `known` (current ones) that `statement` makes false.

    `told` are the slots that the same message fills anew: what they held ends by those statements.
    """
    if statement.beside:
        return []
    rivals = list(_rivals(statement, known))
    hanging = [] if statement.corrects else hanging_on(statement, rivals, known)
    hanging = [held for held in hanging if held.slot not in told]
    return list(distinct((*rivals, *hanging, *(held for held in known if _opposite(statement.text, held.text)))))


def _rivals(statement: Statement, known: Sequence[Held]) -> Iterator[Held]:
    """Facts of the same slot, and of those that end when it begins."""
    slot = slot_of(statement.text, statement.key)
    for held in known:
        if normalised(held.text) == normalised(statement.text) or not slot:
            continue
        if statement.key and held.key == statement.key:
            yield held
        elif held.slot == slot:
            if excludes(statement.text, held.text):
                yield held
        elif slot == "spouse" and held.slot in UNTIL_MARRIED:
            yield held


def hanging_on(statement: Statement, rivals: Sequence[Held], known: Sequence[Held]) -> list[Held]:
    """What is false because the home or the job that it hangs on is another one now."""
    slot = slot_of(statement.text, statement.key)
    changed = any(held.slot == slot and excludes(statement.text, held.text) for held in rivals)
    if slot not in DEPENDENTS or not (statement.moved or (changed and slot != ADDRESS)):
        return []
    return [held for held in dependents(slot, rivals, known) if not names_value_of(held.text, statement.text)]


def dependents(slot: str, ended: Sequence[Held], known: Sequence[Held]) -> list[Held]:
    """The facts that hang on those that ended.

    A job's title ends with it if both were told in one breath, or if it is a rank, which somebody has only there.
    """
    slots = DEPENDENTS.get(slot, frozenset())
    hanging = [held for held in known if held.slot in slots]
    if slot == EMPLOYER:
        breaths = Counter(held.learned_at for held in known)
        told = {
            (held.learned_at, held.valid_from)
            for held in ended
            if held.slot == EMPLOYER and breaths[held.learned_at] <= _IN_ONE_BREATH
        }
        names = [held for held in ended if held.slot == EMPLOYER]
        hanging += [
            held
            for held in known
            if (held.slot == OCCUPATION and ((held.learned_at, held.valid_from) in told or _POSITION.search(held.text)))
            or (held.slot in (OCCUPATION, "work_place") and any(names_value_of(held.text, each.text) for each in names))
        ]
    return hanging


def is_home(held: Held) -> bool:
    """Whether a fact says where somebody lives or lived."""
    return held.slot in (HOME, ADDRESS, "neighbourhood") or bool(_ONCE.match(held.text))


def _opposite(new: str, old: str) -> bool:
    """Whether two wordings say the opposite of each other."""
    if (one := _PREFERS.match(new)) and (other := _PREFERS.match(old)):
        ours, theirs = ([content_words(m["one"]), content_words(m["other"])] for m in (one, other))
        return bool(ours[0]) and ours == theirs[::-1]
    if (mine := _TASTE.match(new)) and (yours := _TASTE.match(old)):
        same = content_words(mine["what"]) == content_words(yours["what"])
        return same and (mine["verb"].casefold() in _POSITIVE) is not (yours["verb"].casefold() in _POSITIVE)
    for yes, no in ((new, old), (old, new)):
        denied = _NEGATED.match(no)
        if denied and not _NEGATED.match(yes) and content_words(_AGAIN.sub("", yes)) == content_words(denied["what"]):
            return True
        if _FLESH.match(yes) and _MEATLESS.match(no):
            return True
    return False
