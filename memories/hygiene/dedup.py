"""Whether two wordings are one statement. An encoder finds "on Tuesday" and "on Thursday" alike; a memory must not.

Invariant: two wordings are the same only if every word of one has its like in the other, in an order that says the
same. A word that nobody thought of keeps them apart: a duplicate can be merged later, a wrong merge has lost a fact.
"""

from __future__ import annotations

from collections import Counter

from memories.hygiene.synonyms import VERBS
from memories.hygiene.text import content_hash, normalised
from memories.hygiene.wording import PREPOSITIONS, TIMES, Wording, wording

# Part of each stored likeness: what an earlier vocabulary made is never taken for one of this.
LIKENESS_VERSION = "1"
NEGATIONS = frozenset(
    """
    not never no none nobody nothing nowhere neither nor without hardly barely scarcely except longer quitted quit stop
    stops refuse refuses lack lacks deny denies unable unlike free fail failed
    """.split()
)
QUANTITIES = frozenset(
    "all some most many few several both half every any only another other more less least much dozen pair".split()
)
MODALS = frozenset("was will would could can may might must should been".split())
RELATIONS = frozenset(
    """
    brother sister mother father son daughter wife husband partner aunt uncle cousin niece nephew grandmother
    grandfather manager friend colleague neighbour he she they it his her their him them you your self
    """.split()
)
_OPPOSITES = (
    "left right|morning evening|before after|more less|on off|allow deny|in out|up down|upstairs downstairs|"
    "open closed|enabled disabled|north south|east west|early late|first last|old new|hot cold|big small|high low|"
    "always never|with without|like hate|begin end|buy sell|married single|to from|over under|above below|true false|"
    "yes no|win lose|accept reject|approved rejected|include exclude|push pull|start stop|antemeridiem pm|must may|"
    "can must"
)
OPPOSITES = frozenset(frozenset(pair.split()) for pair in _OPPOSITES.split("|"))
_ONE = "number:1"
# Words that may stand anywhere in a simple sentence and say the same of it.
_FREE = frozenset("often usually always sometimes rarely longer".split())
_LONGEST_SIMPLE = 7
DEFINITE = frozenset("the my dr prof".split())
_CLAUSES = frozenset("and or but if when while because since until before after than".split())


def is_same(left: str, right: str, cosine: float, *, threshold: float) -> bool:
    """Whether two wordings, so alike to an encoder, are one statement."""
    return cosine >= threshold and not differs_in_detail(left, right)


def differs_in_detail(left: str, right: str) -> str:
    """Why two wordings are not the same statement, in a few words without theirs; empty if they are."""
    one, other = wording(left), wording(right)
    if not one.words or not other.words:
        return "" if normalised(left) == normalised(right) else "They have no words to compare."
    missing, added = Counter(one.words) - Counter(other.words), Counter(other.words) - Counter(one.words)
    if _is_article(missing, added, one, other) or _is_article(added, missing, other, one):
        return ""
    if missing or added:
        return f"They differ in {_named(one, other, set(missing), set(added))}."
    return "" if _same_order(one, other) else "They say it of each other the other way round."


def likeness(*parts: str) -> str:
    """A digest that two statements share if they do not differ in detail: to find by one look what to compare.

    Statements of several parts have to agree in each. The digest may also be that of one that differs (in its order).
    """
    return content_hash(LIKENESS_VERSION, *(" ".join(_in_any_order(part)) for part in parts))


def _in_any_order(text: str) -> list[str]:
    """The words that have to be in both, sorted. "One" is left out: it may be "a" there."""
    words = wording(text).words
    return sorted(word for word in words if word != _ONE) if words else [normalised(text)]


def _is_article(ones: Counter[str], rest: Counter[str], one: Wording, other: Wording) -> bool:
    """Whether all that differs is "one hour" here and "an hour" there."""
    if rest or dict(ones) != {_ONE: 1}:
        return False
    place = one.words.index(_ONE)
    without = one.words[:place] + one.words[place + 1 :]
    return without == other.words and place < len(without) and bool(other.before[place] & {"a", "an"})


def _named(one: Wording, other: Wording, missing: set[str], added: set[str]) -> str:
    """What kind of detail it is, the telling ones first."""
    differing = missing | added
    opposite = any(frozenset((left, right)) in OPPOSITES for left in missing for right in added)
    place = _after_preposition(one, missing) and _after_preposition(other, added)
    kinds = (
        ("a number", any(word[0].isdigit() or word.startswith(("number:", "ordinal:", "-")) for word in differing)),
        ("a negation", bool(differing & NEGATIONS)),
        ("a date or time", any(word.startswith(("date:", "every:")) or word in TIMES for word in differing)),
        ("an opposite", opposite),
        ("whom it is about", bool(differing & RELATIONS)),
        ("how many or how much", bool(differing & QUANTITIES)),
        ("when or whether it is so", bool(differing & MODALS)),
        ("a place or a relation", place),
    )
    return next((name for name, found in kinds if found), "a name or a word")


def _after_preposition(of: Wording, words: set[str]) -> bool:
    return any(before in PREPOSITIONS and word in words for before, word in zip(of.words, of.words[1:], strict=False))


def _same_order(one: Wording, other: Wording) -> bool:
    """Whether the same words stand in an order that says the same."""
    if (one.agent is None) != (other.agent is None):
        return _active_of(one, other) if other.agent is not None else _active_of(other, one)
    if one.words == other.words:
        return True
    if not (set(one.words) & (NEGATIONS | QUANTITIES)) and (_turned(one, other) or _swapped(one, other)):
        return True
    return _without_free(one) == _without_free(other) and _is_simple(one)


def _active_of(active: Wording, passive: Wording) -> bool:
    """Whether `passive` says "B is done by A" of the active "A does B"."""
    place = passive.agent or 0
    if place == 0 or place + 1 > len(passive.words):
        return False
    doer = passive.words[place:]
    return active.words == (*doer, passive.words[place - 1], *passive.words[: place - 1])


def _turned(one: Wording, other: Wording) -> bool:
    """Whether one begins with the phrase with which the other ends."""
    return any(
        one.words[cut] == other.words[0]
        and one.words[cut:] + one.words[:cut] == other.words
        and (_fronted(one, cut) or (_identifies(one, cut) and _identifies(other, len(one.words) - cut)))
        for cut in range(1, len(one.words))
    )


def _fronted(of: Wording, cut: int) -> bool:
    """Whether one of the phrases only says when, where, how or under which condition: "for work I use it"."""
    return any(
        word in PREPOSITIONS or word in TIMES or word.startswith(("every:", "date:"))
        for word in (of.words[0], of.words[cut])
    )


def _identifies(of: Wording, cut: int) -> bool:
    """Whether it says of one thing which it is: "Marta is my sister", and not "cats are animals" or "gold is money"."""
    first, second = of.before[0], of.before[cut]
    if not second & {"is", "am"} or (first | second) & {"a", "an"}:
        return False
    return bool((first | second) & DEFINITE) or of.words[0].endswith("'s") or of.words[cut].endswith("'s")


def _swapped(one: Wording, other: Wording) -> bool:
    """Whether only the two words around an "and" have changed places: "Dutch and French", at the beginning or the end.

    Elsewhere an "and" may join what is said of each ("Anna and Ben hates it"), and a number belongs to its word.
    """
    places = [place for place, pair in enumerate(zip(one.words, other.words, strict=True)) if pair[0] != pair[1]]
    if len(places) != 2 or places[1] - places[0] != 2:  # noqa: PLR2004
        return False
    first, last = places
    joined = one.words[first + 1] == "and" == other.words[first + 1]
    numbers = any(word.startswith("number:") for word in one.words)
    list_ends = last == len(one.words) - 1 and first > 0 and one.words[first - 1] in VERBS | PREPOSITIONS
    return joined and not numbers and (first == 0 or list_ends)


def _is_simple(of: Wording) -> bool:
    """Whether it has one verb that an adverb can belong to, as far as can be told."""
    fixed = _CLAUSES | QUANTITIES | (NEGATIONS - {"not", "longer"} if "longer" in of.words else NEGATIONS)
    verbs = sum(word.removesuffix(":third") in VERBS or word.endswith(("ed", "ing", "says")) for word in of.words)
    return not set(of.words) & fixed and verbs <= 1 and len(of.words) <= _LONGEST_SIMPLE


def _without_free(of: Wording) -> tuple[str, ...]:
    """The words without the one that may stand anywhere; with two of them each belongs to its place."""
    free = [word for word in of.words if word in _FREE]
    return tuple(word for word in of.words if word not in _FREE) if len(free) == 1 else of.words
