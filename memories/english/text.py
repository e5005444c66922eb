"""Splits English text into sentences, clauses and content words.

Quoted text stays in one piece with its quotation marks, so a quoted sentence is never taken for the user's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice


def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compile a pattern, ignoring case."""
    return re.compile(pattern, re.IGNORECASE | flags)


def phrases(listed: str) -> str:
    """Convert a comma-separated list to alternatives of a regular expression; a space matches any white space."""
    return "|".join(re.escape(phrase.strip()).replace(r"\ ", r"\s+") for phrase in listed.split(",") if phrase.strip())


def any_of(listed: str, *patterns: str) -> re.Pattern[str]:
    """Compile a pattern that matches a listed phrase, or one of the patterns, as whole words."""
    return compiled(rf"\b(?:{'|'.join((phrases(listed), *patterns))})\b")


def lists(text: str) -> dict[str, str]:
    """Parse named lists: each starts with "name = ", and its further lines are indented."""
    return dict(re.findall(r"^(\w+) = (.+(?:\n .+)*)", text, re.MULTILINE))


def word_set(words: str) -> frozenset[str]:
    """Split a string into a set of words."""
    return frozenset(words.split())


STRAIGHT = str.maketrans("’‘`“”„«»\u00a0", '\'\'\'""""" ')
_ABBREVIATION = compiled(r"\b(?:dr|mr|mrs|ms|st|prof|jr|sr|no|e\.g|i\.e|etc|[a-z])\.$")
_LONGEST_ABBREVIATION = 6
# A quotation, or the end of a sentence or line.
_QUOTED_OR_END = re.compile(r"\"[^\"\n]*\"?|(?P<end>[.!?](?=[ \n])|\n)")
_TIME_FIRST = (
    r"(?:(?:today|yesterday|this morning|since then|now|then|as of \w+|on \w+day|last \w+"
    r"|(?:in|since) \w+(?: \d{4})?|\w+ (?:days?|weeks?|months?|years?) ago),?\s+)?"
)
_SELF = r"(?:i|we|my|our|i'm|i've|we're|we've)\b"
# `\s++` does not backtrack, so a long run of spaces is scanned once.
_CLAUSE = compiled(rf"(?:[,;]|(?<!\s))\s++(?:and|but)\s++(?={_TIME_FIRST}{_SELF})|;\s++")
_COMMA = compiled(rf"(?:,|:|\s[-–—])\s+(?:(?:so|and|but)\s+)?(?={_TIME_FIRST}{_SELF})|,\s+(?:and\s+)?(?=in an?\s)")
_WHEN_FIRST = compiled(rf"^{_TIME_FIRST}")
# A text of more sentences is pasted: the longest message, of 32,000 characters, has about 400 of 80 each.
MOST_SENTENCES = 400
# "Moved to Oslo last week!" at the beginning of a message has the writer as its subject.
_NO_SUBJECT = compiled(
    r"(?:(?:just|finally|recently)\s+)?"
    r"(?:moved|relocated|started|joined|left|bought|adopted|quit|stopped|gave up|sold|got rid of)\s"
)
_NO_VERB = compiled(r"(?:living|based|working)\s+(?:in|at|for)\s[^,.;]*\bnow\b")
# Clauses with these beginnings describe another time or depend on a condition.
_ANOTHER_TIME = compiled(
    r"(?:when|whenever|once|before|after|as|back|until|while|during|in those|whether|because|since)\b"
)
# "im vegan" means "I'm vegan"; "im Sommer" is German.
_IM = compiled(r"^im(?=\s+(?:not\s+)?(?:an?|allergic|vegan|vegetarian|married|retired|\d)\b)")
# Parts of the patterns of statements and of changes.
SPEAKER, I_AM = r"(?:i|we)", r"(?:i'm|i am|we're|we are)"
CAPITAL = r"(?-i:[A-Z])"
LATELY = (
    r"(?:'ve|\s+have)?"
    r"(?:\s+(?:still|now|just|recently|finally|currently|also|both|all|actually|already|usually|always))*"
)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_SAYS = re.compile(r"[^\W_]")
_MARK = re.compile(r"\w{3,}|\d+")
_LONGEST_SLUG = 60
_ENDINGS = ("ings", "ing", "ies", "ied", "ers", "er", "es", "ed", "ic", "s", "y", "e")
_SHORTEST_STEM = 3
STOP_WORDS = word_set(
    """
    a about all also am an and any anything are as ask at be been being but by can could did do does doing done for from
    get give go goes going gone got had has have he her here hers him his how i if in into is it its just know let like
    me mine more most my no not now of on or our ours please said say she so some something tell than that the their
    them then there these they thing things this those to told too us very was we went were what when where which who
    whom whose why will with would you your yours again ever remember recall remind forget memory mind i'm i've i'd i'll
    what's where's who's when's it's that's you're we're don't doesn't didn't
    """
)
# Stop words, the words that begin most memories, and adjectives of anything, which questions share: "How old is …?".
_NO_MARKS = STOP_WORDS | word_set(
    "allergic bad big called favorite favourite good great have home into large likes little live lived lives long "
    "longer many much named never new often old one prefers small true two work works"
)


def plain(text: str) -> str:
    """Normalize quotes, apostrophes and "im", so that patterns need only one form."""
    return _IM.sub("i'm", text.translate(STRAIGHT).strip())


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences and lines of a text, ignoring full stops in abbreviations and quotes."""
    start = 0
    for match in _QUOTED_OR_END.finditer(f"{text}\n"):
        before = text[max(start, match.end() - _LONGEST_ABBREVIATION) : match.end()]
        if match["end"] and (match["end"] == "\n" or not _ABBREVIATION.search(before)):
            if sentence := text[start : match.end()].strip():
                yield sentence
            start = match.end()


def first_sentences(text: str) -> Iterator[str]:
    """Yield the first sentences that say anything, no more than MOST_SENTENCES."""
    return islice((each for each in sentences(text) if _SAYS.search(each)), MOST_SENTENCES)


def clauses(sentence: str) -> Iterator[str]:
    """Yield the parts of a sentence that each make a statement about the speaker."""
    yield from (part.strip() for part in _CLAUSE.split(sentence) if part.strip())


def finer_clauses(clause: str) -> Iterator[str]:
    """Yield the parts of a clause, split at commas, that make statements about the speaker's present."""
    if not _ANOTHER_TIME.match(clause):
        yield from (part.strip() for part in _COMMA.split(clause) if part.strip())


def without_time(clause: str) -> str:
    """Remove a leading time expression such as "today" or "last year"."""
    return _WHEN_FIRST.sub("", clause)


def with_subject(sentence: str) -> str:
    """Add the "I" that chat messages omit; applies only to the first sentence of a message."""
    subject = "I'm " if _NO_VERB.match(sentence) else "I " if _NO_SUBJECT.match(sentence) else ""
    return f"{subject}{sentence[0].lower()}{sentence[1:]}" if subject else sentence


def capitalised(text: str) -> str:
    """Capitalize the first letter and leave the rest unchanged."""
    return text[:1].upper() + text[1:]


def slug(text: str) -> str:
    """Convert text to a key: "dog's name" becomes dog_name."""
    words = re.sub("[^a-z0-9]+", "_", text.casefold().replace("'s", "").replace("'", "")).strip("_")
    return words[:_LONGEST_SLUG].rstrip("_")


def stem(word: str) -> str:
    """Remove a word's ending, roughly: lives, living and live have one stem."""
    word = word.casefold().removesuffix("'s").replace("'", "")
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)]
    return word


def content_words(text: str) -> frozenset[str]:
    """Return the stems of the content words; the parts of `snake_case` keys count as words."""
    words = _WORD.findall(text.replace("_", " ").replace("’", "'").casefold())
    return frozenset(stem(word) for word in words if word not in STOP_WORDS)


def marks(text: str) -> frozenset[str]:
    """Return the distinctive words that identify a text in another one, unstemmed."""
    return frozenset(word for word in _MARK.findall(text.casefold()) if word not in _NO_MARKS)
