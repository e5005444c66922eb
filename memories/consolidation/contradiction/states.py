"""What follows from being vegetarian, single or an only child, as far as another fact can be at odds with it.

Invariant: a consequence is drawn only from a plain statement about oneself ("is vegan"), never from one that is limited
("does not eat meat on Fridays").
"""

from __future__ import annotations

from collections.abc import Callable

from memories.consolidation.contradiction.claim import Claim
from memories.consolidation.contradiction.words import ALCOHOL, CHILDREN, DAIRY, FISH, MEAT, PETS, SIBLINGS, SPOUSES
from memories.consolidation.grammar.text import word_set

_Test = Callable[[Claim], bool]
# After these a food is still meant as such: "eats meat every day".
_GOES_ON = frozenset("and or with every again often on at in usually regularly sometimes daily".split())


def at_odds(one: Claim, other: Claim) -> bool:
    """Whether what two plain statements say of somebody's life cannot both be."""
    return any((left(one) and right(other)) or (left(other) and right(one)) for left, right in _PAIRS)


def _is(*phrases: str) -> _Test:
    return lambda claim: not claim.denied and claim.phrase in phrases


def _has_no(words: frozenset[str]) -> _Test:
    return lambda claim: (
        claim.denied
        and not claim.over
        and claim.words[:1] == ("have",)
        and (
            len(claim.words) == 2 and claim.words[1] in words  # noqa: PLR2004 - "have children", no more
        )
    )


def _has(words: frozenset[str]) -> _Test:
    """Such as "has two brothers", "has a brother called Max"; not "has a brother-in-law" and not "has a dog phobia"."""

    def test(claim: Claim) -> bool:
        rest = [word for word in claim.words[1:] if not word.startswith("number:")]
        begins = claim.words[:1] == ("have",) and not claim.denied
        return begins and bool(rest) and rest[0] in words and (len(rest) == 1 or rest[1] in ("called", "and", "older"))

    return test


def _takes(verb: str, foods: frozenset[str]) -> _Test:
    """Such as "eats meat every week"; not "eats meat substitutes"."""

    def test(claim: Claim) -> bool:
        if claim.denied or claim.words[:1] != (verb,) or len(claim.words) < 2:  # noqa: PLR2004 - a verb and a food
            return False
        after = claim.words[2] if len(claim.words) > 2 else "and"  # noqa: PLR2004 - what follows them
        goes_on = after in _GOES_ON or after.startswith(("every:", "number:"))
        return claim.words[1] in foods and goes_on

    return test


def _never_takes(verb: str, food: str) -> _Test:
    return lambda claim: claim.denied and not claim.over and claim.words == (verb, food)


def _any(*tests: _Test) -> _Test:
    return lambda claim: any(test(claim) for test in tests)


_VEGAN = _is("vegan")
_MARRIED = _any(_is("married"), lambda claim: not claim.denied and claim.words[:2] == ("married", "to"), _has(SPOUSES))
_NO_DRINKER = _any(_is("teetotal", "teetotaller"), _never_takes("drink", "alcohol"))
_PAIRS: tuple[tuple[_Test, _Test], ...] = (
    (_is("vegetarian", "vegan"), _takes("eat", MEAT)),
    (_is("pescatarian"), _takes("eat", MEAT - {"meat"})),
    (_is("vegetarian", "vegan"), _takes("eat", FISH)),
    (_VEGAN, _any(_takes("eat", DAIRY), _takes("drink", frozenset(("milk",))))),
    (_never_takes("eat", "meat"), _takes("eat", MEAT - {"meat"})),
    (_never_takes("eat", "fish"), _takes("eat", FISH - {"fish"})),
    (_NO_DRINKER, _takes("drink", ALCOHOL)),
    (_is("single", "unmarried"), _MARRIED),
    (_is("single"), lambda claim: not claim.denied and claim.words[:1] == ("engaged",) and len(claim.words) < 4),  # noqa: PLR2004
    (_is("divorced", "widowed"), _is("married")),
    (_is("only child"), _has(SIBLINGS)),
    (_has_no(frozenset(("sibling",))), _has(SIBLINGS)),
    (_has_no(frozenset(("child",))), _has(CHILDREN)),
    (_is("childless"), _has(CHILDREN)),
    (_has_no(frozenset(("pet",))), _has(PETS)),
    (
        _has_no(frozenset(("allergy",))),
        lambda claim: not claim.denied and claim.words[:2] == ("allergic", "to"),
    ),
)

# The words by which a fact tells either side of each pair.
GROUPS: tuple[frozenset[str], ...] = tuple(
    map(
        word_set,
        (
            "vegetarian vegan " + " ".join(MEAT),
            "pescatarian " + " ".join(MEAT),
            "vegetarian vegan " + " ".join(FISH),
            "vegan milk " + " ".join(DAIRY),
            " ".join(MEAT),
            " ".join(FISH),
            "teetotal " + " ".join(ALCOHOL),
            "single unmarried married " + " ".join(SPOUSES),
            "single engaged",
            "divorced widowed married",
            "only " + " ".join(SIBLINGS),
            " ".join(SIBLINGS),
            " ".join(CHILDREN),
            "childless " + " ".join(CHILDREN),
            " ".join(PETS),
            "allerg",
        ),
    )
)


def groups_of(claim: Claim) -> tuple[int, ...]:
    """Which of the pairs it is a side of."""
    return tuple(number for number, (left, right) in enumerate(_PAIRS) if left(claim) or right(claim))
