"""Grounding: whether a proposed text comes from the user's own words.

In doubt a text is not grounded. The user must have said its names and numbers, or they must be known already; a year
may follow from a time that the user's words give.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memories.consolidation.material import ProposedFact
from memories.consolidation.rules import asks, content_words, junk
from memories.hygiene.text import normalised
from memories.words import folded

_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
_WORD = re.compile(r"[\w'’-]+")
# A fact begins with a verb or a noun of its own, whose capital letter says nothing.
_FIRST_WORD = re.compile(r"^\W*\w[\w'-]*\s*")
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
# The share of a memory's words that somebody has to say themselves to state it; wordings differ in the rest.
STATED_SHARE = 0.5
# A name may have another ending in the user's words ("Anna's"), after so many letters or all but three.
_SHORTEST_NAME, _ENDING = 4, 3

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
        # A quote grounds other words for what it says; "yes" grounds nothing.
        if not content_words(fact.quote) or junk(fact.quote) is not None:
            return NOT_SAID
    heard = _words((*said, *known, *_times(fact)))
    missing = {detail for detail in _details(fact) if not _is_heard(detail, heard)}
    if any(_is_heard(detail, _words(assistant)) for detail in missing):
        return ASSISTANT_ALONE
    return INVENTED if missing else ""


def misquoted(quote: str, own: Iterable[str]) -> bool:
    """Whether `quote` is not in the user's own words; an empty quote is never wrong."""
    wanted = normalised(quote)
    return bool(wanted) and not any(wanted in normalised(text) for text in own)


def repeats(text: str, *, own: str, quote: str) -> bool:
    """Whether somebody who was shown `text` only gives it back: neither most of it nor the quote is stated in `own`."""
    stated = " ".join(part for part in _SENTENCE.findall(own) if not asks(part))
    told = content_words(text)
    by_quote = bool(quote.strip()) and not misquoted(quote, [stated])
    return not by_quote and len(told & content_words(stated)) < STATED_SHARE * len(told)


def _details(fact: ProposedFact) -> set[str]:
    """Names and numbers, folded; the name of the month beside a year that the fact gives is none."""
    text = _FIRST_WORD.sub("", fact.text, count=1)
    for moment in filter(None, (fact.valid_from, fact.valid_to)):
        text = re.sub(rf"\b\w+\.?\s+(?={moment.year}\b)", "", text)
    found = [word for word in _WORD.findall(text) if word[0].isupper() and len(word) > 1]
    return {_bare(word) for word in (*found, *_NUMBER.findall(text))} - {""}


def _words(texts: Iterable[str]) -> set[str]:
    """All words, folded, and the numbers in them without their units."""
    return {_bare(word) for text in texts for word in (*_WORD.findall(text), *_NUMBER.findall(text))}


def _bare(word: str) -> str:
    return folded(word).replace("’", "'").removesuffix("'s").replace("'", "")


def _is_heard(detail: str, heard: set[str]) -> bool:
    """Whether a detail was said; a name also with another ending."""
    if detail in heard:
        return True
    if detail[0].isdigit():
        return False
    beginning = detail[: max(_SHORTEST_NAME, len(detail) - _ENDING)]
    return len(detail) >= _SHORTEST_NAME and any(
        word.startswith(beginning) and len(word) - len(beginning) <= _ENDING for word in heard
    )


def _times(fact: ProposedFact) -> list[str]:
    """The times that a fact gives, in digits: "last year" in the user's words is a year in the fact."""
    return [f"{moment.year} {moment.day}" for moment in (fact.valid_from, fact.valid_to) if moment]
