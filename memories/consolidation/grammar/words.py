"""Words for the offline responder: what counts as the same word, and which words tell nothing.

Invariant: pure functions of text; the same text always gives the same words.
"""

from __future__ import annotations

import re

from memories.consolidation.grammar.text import word_set

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_ENDINGS = ("ings", "ing", "ies", "ied", "ers", "er", "es", "ed", "ic", "s", "y", "e")
_SHORTEST_STEM = 3

STOP_WORDS = word_set(
    """
    a about all also am an and any anything are as ask at be been being but by can could did do does doing done
    for from get give go goes going gone got had has have he her here hers him his how i if in into is it its just
    know let like me mine more most my no not now of on or our ours please say said she so some something tell
    than that the their them then there these they thing things this those to told too us very was we went were
    what when where which who whom whose why will with would you your yours again ever remember recall remind
    forget memory mind i'm i've i'd i'll what's where's who's when's it's that's you're we're don't doesn't didn't
    """
)

# Words that ask for the same thing, as stems: a question in one finds a memory in another.
_GROUPS = (
    "live lives home city town based reside located address hometown flat house moved",
    "job work occupation profession employer career company",
    "name called",
    "birthday born birth birthdate",
    "allergic allergy allergies",
    "favourite favorite prefer",
    "wife husband spouse partner married",
    "diet eat food vegetarian vegan",
)


def stem(word: str) -> str:
    """A word without its ending, roughly: lives, living and live are the same."""
    word = word.casefold().removesuffix("'s").replace("'", "")
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)]
    return word


def content_words(text: str) -> frozenset[str]:
    """The stems of the words that tell something; the parts of `snake_case` keys count as words."""
    words = _WORD.findall(text.replace("_", " ").replace("’", "'").casefold())
    return frozenset(stem(word) for word in words if word not in STOP_WORDS)


_SYNONYMS = {member: group for group in map(content_words, _GROUPS) for member in group}


def shared_words(question: frozenset[str], words: frozenset[str]) -> int:
    """How many of the question's words are there, in themselves or by a word of the same group."""
    return sum(bool(words & _SYNONYMS.get(word, frozenset((word,)))) or word in words for word in question)
