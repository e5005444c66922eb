"""Taking a message apart: sentences, clauses, and the small changes of form that the grammar needs.

Invariant: what stands in quotation marks stays in one piece with its marks, so that a quoted sentence is never read as
one of the user's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memoryhub.regexes import lazy_regex

_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "\u00a0": " "})
_ABBREVIATION = lazy_regex(r"\b(?:dr|mr|mrs|ms|st|prof|jr|sr|no|e\.g|i\.e|etc|[a-z])\.$", re.IGNORECASE)
_TIME_FIRST = (
    r"(?:(?:today|yesterday|this morning|since then|now|then|as of today|as of \w+|on \w+day|last \w+"
    r"|(?:in|since) \w+(?: \d{4})?|\w+ (?:days?|weeks?|months?|years?) ago),?\s+)?"
)
_SELF = r"(?:i|we|my|our|i'm|i've|we're|we've)\b"
# Begins where a run of spaces does and never gives one back: a long run is read once.
_CLAUSE = lazy_regex(rf"(?:[,;]|(?<!\s))\s++(?:and|but)\s++(?={_TIME_FIRST}{_SELF})|;\s++", re.IGNORECASE)
_COMMA = lazy_regex(
    rf"(?:,|:|\s[-–—])\s+(?:so\s+|and\s+|but\s+)?(?={_TIME_FIRST}{_SELF})|,\s+(?:and\s+)?(?=in an?\s)", re.IGNORECASE
)
_WHEN_FIRST = lazy_regex(rf"^{_TIME_FIRST}", re.IGNORECASE)
# "Moved to Oslo last week!", said by whom if not by the speaker.
_NO_SUBJECT = lazy_regex(
    r"(?:(?:just|finally|recently)\s+)?(?:moved|relocated|started|joined|left|bought|adopted|quit|stopped|gave up|sold"
    r"|got rid of)\s",
    re.IGNORECASE,
)
_NO_VERB = lazy_regex(r"(?:living|based|working)\s+(?:in|at|for)\s[^,.;]*\bnow\b", re.IGNORECASE)
# A sentence that begins so tells of another time, or of something on a condition.
_ANOTHER_TIME = lazy_regex(
    r"^(?:when|whenever|once|before|after|as|back|until|while|during|in those|as long as|whether|because|since)\b",
    re.IGNORECASE,
)
_NO_SLUG = lazy_regex(r"[^a-z0-9]+")
# Only before what somebody says of themselves: "im Sommer" is German.
_IM = lazy_regex(r"^im(?=\s+(?:not\s+)?(?:an?|allergic|vegan|vegetarian|pescatarian|diabetic|married|retired)\b)")
_LONGEST_ABBREVIATION = 6
_LONGEST_SLUG = 60


def plain(text: str) -> str:
    """Straight quotes and apostrophes, so that the rules need only one form."""
    return _IM.sub("i'm", text.translate(_STRAIGHT).strip())


def sentences(text: str) -> Iterator[str]:
    """The sentences and lines of a text; a full stop after an abbreviation or inside quotes ends none."""
    start = 0
    quoted = False
    for place, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        ends_line = character == "\n"
        ends_sentence = character in ".!?" and text[place + 1 : place + 2] in ("", " ", "\n") and not quoted
        if ends_line or (
            ends_sentence and not _ABBREVIATION.search(text[max(start, place - _LONGEST_ABBREVIATION) : place + 1])
        ):
            quoted = quoted and not ends_line
            if sentence := text[start : place + 1].strip():
                yield sentence
            start = place + 1
    if rest := text[start:].strip():
        yield rest


def clauses(sentence: str) -> Iterator[str]:
    """The parts of a sentence that each say something of the speaker."""
    yield from (part.strip() for part in _CLAUSE.split(sentence) if part.strip())


def finer_clauses(clause: str) -> Iterator[str]:
    """The parts of a clause between commas that say something of the speaker, if it speaks of now."""
    if not _ANOTHER_TIME.match(clause):
        yield from (part.strip() for part in _COMMA.split(clause) if part.strip())


def without_time(clause: str) -> str:
    """A clause without the "today" or "last year" that it begins with."""
    return _WHEN_FIRST.sub("", clause)


def with_subject(sentence: str) -> str:
    """A sentence with the "I" that chat leaves out; only the first of a message surely speaks of its writer."""
    if _NO_VERB.match(sentence):
        return f"I'm {sentence[0].lower()}{sentence[1:]}"
    return f"I {sentence[0].lower()}{sentence[1:]}" if _NO_SUBJECT.match(sentence) else sentence


def capitalised(text: str) -> str:
    """`text` with a capital first letter, the rest untouched."""
    return text[:1].upper() + text[1:]


def slug(text: str) -> str:
    """A key made of words: "dog's name" becomes dog_name."""
    words = _NO_SLUG.sub("_", text.casefold().replace("'s", "").replace("'", "")).strip("_")
    return words[:_LONGEST_SLUG].rstrip("_")


def word_set(words: str) -> frozenset[str]:
    """The words of a list that is written as one text."""
    return frozenset(words.split())


def phrases(listed: str) -> str:
    """A regular expression's alternatives from a list with commas; a space stands for any space."""
    return "|".join(re.escape(phrase.strip()).replace(r"\ ", r"\s+") for phrase in listed.split(",") if phrase.strip())
