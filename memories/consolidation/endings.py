"""Which known facts an end means: "I sold the Canyon", "I no longer work at Acme", "I never lived there".

Invariant: a fact is meant only if it holds every word by which the user names what ended, and is of the kind that can
end so; where several possessions could be meant, none is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from memories.consolidation.grammar.statement import End
from memories.consolidation.grammar.vocabulary import third_person
from memories.consolidation.grammar.words import content_words
from memories.consolidation.rivals import dependents, is_home
from memories.consolidation.slots import EMPLOYER, HOME, of_others, value_words
from memories.consolidation.standing import Held, distinct
from memories.types import Contradiction
from memoryhub.regexes import lazy_regex

_OWNS = lazy_regex(r"(?:has|have|owns|own|bought|drives|rides|got)\b|.*\b(?:is|are) an? ", re.IGNORECASE)
_HABIT = lazy_regex(
    r"(?:goes|go|takes|take|plays|play|trains|does|do|runs|swims|drinks|smokes|sings|learns|is learning|studies"
    r"|practises|practices|attends|volunteers|teaches|climbs|dances|cycles|walks|visits|meets|is a member|member"
    r"|has an? [\w ]*(?:membership|subscription|lesson|class))\b",
    re.IGNORECASE,
)
_ANIMAL = lazy_regex(
    r"\b(?:cats?|dogs?|pupp(?:y|ies)|kittens?|rabbits?|hamsters?|guinea pigs?|parrots?|budgies?|canary|horses?|pony"
    r"|ponies|tortoise|turtle|ferret|gerbil|rat|goldfish|fish|gecko|snake|goats?|hens?|chickens?|pet|greyhound|terrier|whippet"
    r"|labrador|spaniel|poodle|collie|dachshund|retriever|tabby)\b",
    re.IGNORECASE,
)
_PET = lazy_regex(
    r"has an? |(?:\w+ )?(?:cat|dog|puppy|kitten|rabbit|hamster|horse|parrot)(?:'s name)? is ", re.IGNORECASE
)
_PET_NAME = lazy_regex(r"(?:called|named|name is|is) (?P<name>[A-Z][\w-]+)")
_AT_WORK = lazy_regex(
    r"(?:works|leads|runs the|manages|heads|reports|has (?:an? |the )?(?:desk|office|badge|pass|locker))\b",
    re.IGNORECASE,
)
_ALLERGY = lazy_regex(r"\ballerg", re.IGNORECASE)
_COUPLE = frozenset(("spouse", "fiance", "partner", "girlfriend", "boyfriend"))
_DENIES = lazy_regex(r"(?:no longer|does not|doesn't|not|never)\b", re.IGNORECASE)
_THERE = frozenset(("there", "in that place", "in that city", "in that town"))


def meant(end: End, known: Sequence[Held], context: str) -> list[Held]:
    """The facts of `known` that `end` ends, with what hangs on them. `context` is where a "there" may point."""
    if end.what.casefold() in _THERE:
        return _meant_there(end, known, context)
    choose = _CHOICES[end.how]
    return list(distinct(choose(end, known)))


def _named(what: str, known: Sequence[Held]) -> list[Held]:
    words = content_words(what)
    return [
        held
        for held in known
        if words and words <= held.words and not _DENIES.match(held.text) and not of_others(held.text)
    ]


def _home(end: End, known: Sequence[Held]) -> list[Held]:
    ended = [held for held in _named(end.what, known) if is_home(held)]
    if end.kind is Contradiction.HARSH or not any(held.slot == HOME for held in ended):
        return ended
    return [*ended, *dependents(HOME, ended, known)]


def _work(end: End, known: Sequence[Held]) -> list[Held]:
    harsh = end.kind is Contradiction.HARSH
    words = content_words(end.what)
    ended = [
        held
        for held in known
        if words and words <= held.words and (held.slot == EMPLOYER or (harsh and held.text.startswith("Worked ")))
    ]
    # "I left Meridian" names a job at Meridian Instruments, too; every word has to be in the name.
    return ended if harsh or not ended else [*ended, *dependents(EMPLOYER, ended, known), *_at(ended, known)]


def _at(employers: Sequence[Held], known: Sequence[Held]) -> list[Held]:
    """What holds only at these employers: working from home, or whatever names them as the place."""
    names = [value_words(held.text) for held in employers]
    return [
        held
        for held in known
        if held.slot == "work_place"
        or (_AT_WORK.match(held.text) and any(name and name <= held.words for name in names))
    ]


def _left(end: End, known: Sequence[Held]) -> list[Held]:
    return _work(end, known) or _home(end, known)


def _owned(end: End, known: Sequence[Held]) -> list[Held]:
    harsh = end.kind is Contradiction.HARSH
    own = [
        held
        for held in _named(end.what, known)
        if _OWNS.match(held.text)
        and (harsh or not _ANIMAL.search(held.text))
        and held.slot not in (HOME, EMPLOYER, "boss")
    ]
    return own if len(own) == 1 or harsh else []


def _living(end: End, known: Sequence[Held]) -> list[Held]:
    name = re.compile(rf"(?:called|named|name is|is)\s+{re.escape(end.what)}\b")
    pets = [held for held in known if name.search(held.text) and _ANIMAL.search(f"{held.text} {held.key}")]
    about = [held for held in known if re.match(rf"{re.escape(end.what)}\b(?!'s)", held.text)]
    return [*pets, *about] if pets else []


def _animal(end: End, known: Sequence[Held]) -> list[Held]:
    """The one pet of its kind, with what else is known of it by name."""
    pets = [held for held in _named(end.what, known) if _PET.match(held.text)]
    name = _PET_NAME.search(pets[0].text) if len(pets) == 1 else None
    return _living(replace(end, what=name["name"]), known) if name else pets if len(pets) == 1 else []


def _marriage(_end: End, known: Sequence[Held]) -> list[Held]:
    return [held for held in known if held.slot == "spouse"]


def _habit(end: End, known: Sequence[Held]) -> list[Held]:
    habits = [held for held in _named(end.what, known) if _HABIT.match(held.text) and held.slot != EMPLOYER]
    return habits or _work(end, known)


def _couple(end: End, known: Sequence[Held]) -> list[Held]:
    return [held for held in _named(end.what, known) if held.slot in _COUPLE]


def _health(end: End, known: Sequence[Held]) -> list[Held]:
    return [held for held in _named(end.what, known) if _ALLERGY.search(held.text)]


def _any(end: End, known: Sequence[Held]) -> list[Held]:
    """By the verb: "have a cat" ends "Has a cat"; without one, what somebody "is"."""
    begins = third_person(end.what.split()[0]).casefold()
    first = content_words(end.what.split()[0])
    return [
        held
        for held in _named(end.what, known)
        if held.text.casefold().startswith((f"{begins} ", "is "))
        or (first and content_words(held.text.split()[0]) == first)
    ]


def _meant_there(end: End, known: Sequence[Held], context: str) -> list[Held]:
    spoken = content_words(context)
    homes = [held for held in known if is_home(held) and (words := value_words(held.text)) and words <= spoken]
    values = {value_words(held.text) - content_words("lived") for held in homes}
    if len(values) != 1 or end.how not in ("home", "left"):
        return []
    harsh = end.kind is Contradiction.HARSH
    return homes if harsh else list(distinct([*homes, *dependents(HOME, homes, known)]))


_CHOICES: dict[str, Callable[[End, Sequence[Held]], list[Held]]] = {
    "home": _home,
    "work": _work,
    "left": _left,
    "owned": _owned,
    "living": _living,
    "habit": _habit,
    "couple": _couple,
    "health": _health,
    "animal": _animal,
    "marriage": _marriage,
    "any": _any,
}
