"""Grounding: whether a proposed text comes from the user's own words, and from nothing else. Pure.

Invariant: in doubt a text is not grounded. Names and numbers must have been said by the user or be known of them
already; a year may follow from a time that the user's words give.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memories.consolidation.grammar.words import content_words, stem
from memories.consolidation.proposals import ProposedFact
from memories.hygiene.text import normalised

_DETAIL = re.compile(r"\b(?:\d[\d.,:/-]*\d|\d|[A-Z][\w'-]+)")
_WORD = re.compile(r"[\w'-]+")
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
# A fact begins with a verb or a noun of its own, with a capital letter.
_FIRST_WORD = re.compile(r"^\W*\w[\w'-]*\s*")
_MONTHS = frozenset("january february march april may june july august september october november december".split())

NOT_QUOTED = "the words that it quotes are not the user's"
NOT_SAID = "nothing of it is in the user's own words"
ASSISTANT_ALONE = "a name or number of it is in the assistant's words alone"
INVENTED = "a name or number of it was said by nobody"


def ungrounded(fact: ProposedFact, *, own: Iterable[str], assistant: Iterable[str], known: Iterable[str]) -> str:
    """Why `fact` is not grounded in `own`, the texts that support it; empty if it is.

    `assistant` is what the assistant had said just before, `known` the texts of the memories at hand.
    """
    said = tuple(own)
    quote = normalised(fact.quote)
    quoted = bool(quote) and any(quote in normalised(text) for text in said)
    if quote and not quoted:
        return NOT_QUOTED
    if not quoted and not content_words(fact.text) & content_words(" ".join(said)):
        return NOT_SAID
    missing = _details(fact.text) - _words(said) - _words(known) - _words(_times(fact))
    if missing & _words(assistant):
        return ASSISTANT_ALONE
    return INVENTED if missing else ""


def _details(text: str) -> set[str]:
    """Names and numbers, as stems; the first word has its capital letter in any case."""
    rest = _FIRST_WORD.sub("", text, count=1)
    return {stem(found.strip(".,:/-")) for found in _DETAIL.findall(rest)} - _MONTHS


def _words(texts: Iterable[str]) -> set[str]:
    """All words, as stems, and the numbers in them without their units."""
    return {word for text in texts for word in (*map(stem, _WORD.findall(text)), *_NUMBER.findall(text))}


def _times(fact: ProposedFact) -> list[str]:
    """The times that a fact gives, in digits: "last year" in the user's words is a year in the fact."""
    return [f"{moment.year} {moment.day}" for moment in (fact.valid_from, fact.valid_to) if moment]
