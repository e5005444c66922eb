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
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
# The share of a memory's words that have to be somebody's own to be told by them; wordings differ in the rest.
STATED_SHARE = 0.5
_MONTHS = frozenset("january february march april may june july august september october november december".split())
# What only answers: whatever it is said to, it tells nothing itself.
_ANSWERS = content_words("yes yeah yep no nope ok okay sure right exactly correct indeed thanks thank fine good great")

NOT_QUOTED = "the words that it quotes are not the user's"
NOT_SAID = "nothing of it is in the user's own words"
ASSISTANT_ALONE = "what it tells is in the assistant's words alone"
INVENTED = "a name or number of it was said by nobody"


def ungrounded(fact: ProposedFact, *, own: Iterable[str], assistant: Iterable[str], known: Iterable[str]) -> str:
    """Why `fact` is not grounded in `own`, the texts that support it; empty if it is.

    `assistant` is what the assistant had said just before, `known` the texts of the memories at hand.
    """
    said = tuple(own)
    if misquoted(fact.quote, said):
        return NOT_QUOTED
    told = content_words(fact.text)
    if not told & content_words(" ".join(said)):
        if told & content_words(" ".join(assistant)):
            return ASSISTANT_ALONE
        # Other words for what they said are grounded by a quote of it; one that tells nothing grounds nothing.
        if not content_words(fact.quote) - _ANSWERS:
            return NOT_SAID
    missing = _details(fact.text) - _words(said) - _words(known) - _words(_times(fact))
    if missing & _words(assistant):
        return ASSISTANT_ALONE
    return INVENTED if missing else ""


def misquoted(quote: str, own: Iterable[str]) -> bool:
    """Whether `quote` is not in the user's own words; nothing quoted is no wrong quote."""
    wanted = normalised(quote)
    return bool(wanted) and not any(wanted in normalised(text) for text in own)


def repeats(text: str, *, own: str, quote: str) -> bool:
    """Whether somebody who was shown `text` only gives it back: neither most of it nor the quote is stated in `own`.

    Who asks states nothing.
    """
    stated = " ".join(part for part in _SENTENCE.findall(own) if not part.rstrip().endswith("?"))
    told = content_words(text)
    by_quote = bool(quote.strip()) and not misquoted(quote, [stated])
    return not by_quote and len(told & content_words(stated)) < STATED_SHARE * len(told)


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
