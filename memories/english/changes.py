"""What a message says about known facts: corrections, new days and hours, and what ended or never was.

A change only names its object, in the user's words; `known` decides which fact that is.
"""

# ruff: noqa: E501  # a pattern that is broken into pieces is harder to read than a long line

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from memories.english import vocabulary
from memories.english.text import (
    CAPITAL,
    I_AM,
    LATELY,
    SPEAKER,
    clauses,
    compiled,
    finer_clauses,
    plain,
    sentences,
    with_subject,
    without_time,
)
from memories.types import Contradiction

LONGEST_SENTENCE = 400
_LONGEST_NAMED = 8
_LONGEST_IN_SHORT = 4


@dataclass(frozen=True, slots=True)
class Correction:
    """Not `wrong` but `right`; `about` names the thing if the user did."""

    wrong: str
    right: str
    about: str = ""
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Shift:
    """What is known about `about` holds at another day or hour now."""

    about: str
    to: str
    quote: str = ""


@dataclass(frozen=True, slots=True)
class End:
    """Something stopped (natural) or never was (harsh). `what` names it in the user's words.

    `how` says what it can be: any, home, work, left, owned, living (a pet by name), animal, habit, couple, marriage,
    health.
    """

    what: str
    how: str = "any"
    kind: Contradiction = Contradiction.NATURAL
    quote: str = ""


Change = Correction | Shift | End
_Build = Callable[[re.Match[str], str, Contradiction], Iterator[Change]]
_HARSH, _NATURAL = Contradiction.HARSH, Contradiction.NATURAL


_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_NOT = r",?\s+(?:and\s+)?not\s+"
_VALUE = r"(?:(?:an?|the|at|in|on|for|with|to)\s+)?[\w£$€+@][\w£$€.,:'’/@+ -]*?"
_PAST = compiled(
    r"^(?:when|once|before|while|back when|as a (?:child|kid|student)|years ago|in (?:19|20)\d\d|growing up|in my)\b"
    r"|\b(?:as a child|as a kid|years ago|back then|when i was|when we were)\b"
)
_OPENERS = compiled(
    r"^(?:(?:oh|ok|okay|hey|hi|well|so|btw|by the way|actually|and|but|yes|yeah|no|nope|nah|sorry|oops|whoops|ah|hmm"
    r"|hang on|wait|turns out|turns out that|it turns out|it turns out that|correction|typo|small correction|update"
    r"|my mistake|my bad|to be clear|just to be clear|for the record|sadly|unfortunately|good news|big news|news|also"
    r"|that's wrong|that's not right|not quite|wrong|er|um|funny|in fact|fyi)\b[\s,:!.–-]+)+"
)
_DENIED = compiled(r"^(?:(?:well|oh|hmm|hey|wait|hang on),?\s+)?(?:no|nope|nah|wrong|that's (?:wrong|not right))\b")
_PUT_RIGHT = compiled(
    r"(?:(?:oh|ah|no|nope|sorry|oops|whoops|wait)[\s,:!.]+)*(?:no|sorry|oops|typo|correction)[\s,:!.]"
)
_AFTER_ALL = compiled(r"\bafter all\b|\bnever\b|^(?:it )?turns out\b|\bby mistake\b")
_CLAUSE_VERB = compiled(r"\b(?:is|are|was|am|it's|i'm|he's|she's|that's|have|has|live|work|prefer|i|we|my)\b")
_ARTICLES = compiled(r"^(?:an?|the)\s+")
_PREPOSITIONS = compiled(r"^(?:at|in|on|for|with|to)\s+")
_WHEN_AND_WHY = compiled(
    r"(?:,|\s+(?:because|after|since|due\s+to|to\s+a|to\s+my|to\s+focus|yesterday|today|last|this|recently|altogether"
    r"|completely|for\s+good|for\s+health|in\s+(?:early\s+|late\s+)?(?:the\s+)?(?:january|february|march|april|may|june|july"
    r"|august|september|october|november|december|spring|summer|autumn|winter|(?:19|20)\d\d)|on\s+(?:mon|tues|wednes|thurs"
    r"|fri|satur|sun)day\b|at\s+the\s+(?:end|weekend)|\w+\s+\w+\s+ago|and|as\s+well|after\s+all|either))\b.*$|,.*$"
)
_NO_VALUES = frozenset(
    "right true fair enough easy good ok great here there that this it yet now sure really only just bad much too".split()
)


def read_changes(message: str) -> tuple[Change, ...]:
    """What `message` says about facts that may be known."""
    found: list[Change] = []
    text = plain(message)
    if vocabulary.unmeant(text):
        return ()
    for place, sentence in enumerate(sentences(text)):
        bare = _OPENERS.sub("", sentence)
        if len(sentence) > LONGEST_SENTENCE or '"' in sentence or vocabulary.QUESTION.search(bare):
            continue
        if not vocabulary.doubtful(bare) and not _PAST.search(bare):
            found += _changes(sentence, first=place == 0)
    return tuple(dict.fromkeys(found))


def _changes(sentence: str, *, first: bool) -> Iterator[Change]:
    """The changes of one sentence: of its clauses, or of the parts of a clause."""
    denied = bool(_DENIED.match(sentence))
    whole = _OPENERS.sub("", sentence)
    if _PUT_RIGHT.match(sentence):
        yield from _matched(whole, whole, _BARE, denied=True)
    yield from _matched(without_time(whole), whole, _TOGETHER, denied=denied)
    for clause in clauses(whole):
        for part in dict.fromkeys((clause, *finer_clauses(clause))):
            bare = without_time(_OPENERS.sub("", part))
            bare = with_subject(bare) if first and part == clause else bare
            changes = tuple(_matched(bare, part, _RULES, denied=denied or bool(_AFTER_ALL.search(sentence))))
            yield from changes
            if changes:
                break


def _matched(
    clause: str, quote: str, rules: tuple[tuple[re.Pattern[str], _Build], ...], *, denied: bool
) -> Iterator[Change]:
    kind = _HARSH if denied else _NATURAL
    for pattern, build in rules:
        if (match := pattern.match(clause)) and (changes := tuple(build(match, quote, kind))):
            yield from changes
            return


def _correction(match: re.Match[str], quote: str, _kind: Contradiction) -> Iterator[Change]:
    wrong, right = (_PREPOSITIONS.sub("", vocabulary.without_tail(match[name])) for name in ("wrong", "right"))
    about = (match.groupdict().get("about") or "").strip()
    wrong = _ARTICLES.sub("", wrong)
    clause = any(_CLAUSE_VERB.search(value) for value in (wrong, right))
    short = max(len(wrong.split()), len(right.split())) <= _LONGEST_NAMED
    if wrong and right and short and not clause and wrong.casefold() not in _NO_VALUES:
        yield Correction(wrong, right, about, quote)


def _correction_in_short(match: re.Match[str], quote: str, kind: Contradiction) -> Iterator[Change]:
    if len(match["right"].split()) <= _LONGEST_IN_SHORT:
        yield from _correction(match, quote, kind)


def _shift(match: re.Match[str], quote: str, _kind: Contradiction) -> Iterator[Change]:
    yield Shift(_ARTICLES.sub("", match["about"].strip()), match["to"].strip(), quote)


def _ended(how: str, kind: Contradiction | None = None) -> _Build:
    """A builder for an end; without a `kind` it is harsh if the sentence denies."""

    def build(match: re.Match[str], quote: str, said: Contradiction) -> Iterator[Change]:
        told = vocabulary.without_tail(_WHEN_AND_WHY.sub("", match["what"]))
        what = _ARTICLES.sub("", told).strip(" .!,;:")
        if what and what.split()[0].casefold() not in vocabulary.STATES_OF_MIND and len(what.split()) <= _LONGEST_NAMED:
            yield End(what, how, kind or said, quote)

    return build


# The first rule that yields something wins.
_RULES: tuple[tuple[re.Pattern[str], _Build], ...] = (
    # corrections
    (compiled(rf"(?:it's|it is|that's|it was|he's|she's|they're)\s+not\s+(?P<wrong>{_VALUE})(?:,|;|\s+but)\s+(?:but\s+)?(?:(?:it's|it is|that's|he's|she's)\s+)?(?P<right>{_VALUE})[.!]*$"), _correction),
    (compiled(rf"(?:it's|it is|that's|it was|he's|she's|they're|i meant|i mean|make that|should be)\s+(?P<right>{_VALUE}){_NOT}(?P<wrong>{_VALUE})[.!]*$"), _correction),
    (compiled(rf"i said\s+(?P<wrong>{_VALUE}),?\s+but\s+(?:i\s+)?(?:meant|it's)\s+(?P<right>{_VALUE})[.!]*$"), _correction),
    (compiled(rf"(?:my|our)\s+(?P<about>[\w' -]+?)\s+(?:is\s+not|isn't|are\s+not)\s+(?:called\s+)?(?P<wrong>{_VALUE})(?:,|;|\s+but)\s+(?:but\s+)?(?:(?:it's|it is|he's|she's)\s+)?(?P<right>{_VALUE})[.!]*$"), _correction),
    (compiled(rf"(?:my|our)\s+(?P<about>[\w' -]+?)\s+(?:is called|is named|is|are)\s+(?P<right>{_VALUE}){_NOT}(?P<wrong>{_VALUE})[.!]*$"), _correction),
    (compiled(rf"(?P<about>{CAPITAL}[\w-]+(?:'s\s+[\w -]+?)?)\s+(?:is called|is|works at|lives in)\s+(?P<right>{_VALUE}){_NOT}(?P<wrong>{_VALUE})[.!]*$"), _correction),
    (compiled(rf"{SPEAKER}\s+(?:live|work|play|drive|ride|speak|have|own|study|eat|drink|take|was born|come)\s+(?P<right>{_VALUE}){_NOT}(?P<wrong>{_VALUE})[.!]*$"), _correction),
    (compiled(rf"{I_AM}\s+(?:(?:allergic\s+to|from|based\s+in|living\s+in|working\s+at|married\s+to|called)\s+)?(?P<right>(?!not\b){_VALUE}){_NOT}(?:to\s+|from\s+|in\s+|at\s+)?(?P<wrong>{_VALUE})[.!]*$"), _correction),
    # another day or hour
    (compiled(rf"(?:(?:my|our|the)\s+)?(?P<about>[\w' -]+?)(?:'s|\s+is|\s+are|\s+is\s+now|\s+takes\s+place)\s+(?:on|at)?\s*(?P<to>{_DAY}|\d{{1,2}}(?::\d\d)?\s*(?:am|pm)|half\s+past\s+\w+)(?:\s+(?:now|from\s+now\s+on|these\s+days|instead))+\b"), _shift),
    (compiled(rf"(?:(?:my|our|the)\s+)?(?P<about>[\w' -]+?)\s+(?:has\s+moved|have\s+moved|moved)\s+to\s+(?P<to>{_DAY}|\d{{1,2}}(?::\d\d)?\s*(?:am|pm))\b"), _shift),
    # what never was
    (compiled(rf"{SPEAKER}(?:'ve|\s+have)?\s+never\s+(?:lived|been\s+living)\s+(?:in\s+|at\s+|on\s+)?(?P<what>.+)$"), _ended("home", _HARSH)),
    (compiled(rf"{SPEAKER}(?:'ve|\s+have)?\s+never\s+(?:worked|been\s+employed|been\s+working)\s+(?:at\s+|for\s+|in\s+|as\s+)?(?P<what>.+)$"), _ended("work", _HARSH)),
    (compiled(rf"{SPEAKER}(?:'ve|\s+have)?\s+never\s+(?:had|owned|bought)\s+(?P<what>.+)$"), _ended("owned", _HARSH)),
    (compiled(rf"{SPEAKER}(?:'ve|\s+have|\s+was|\s+were)?\s+never\s+(?:been\s+|was\s+)?(?P<what>allergic\s+to\s+.+|married\s+.+|vegan|vegetarian|an?\s+.+)$"), _ended("any", _HARSH)),
    (compiled(rf"{I_AM}\s+not\s+(?:actually\s+|really\s+)?(?P<what>allergic\s+to\s+.+?)\s+any\s?more\b.*$"), _ended("health", _NATURAL)),
    (compiled(rf"{I_AM}\s+not\s+(?:actually\s+|really\s+)?(?P<what>allergic\s+to\s+.+)$"), _ended("health")),
    (compiled(rf"{SPEAKER}\s+(?:don't|do\s+not)\s+(?:actually\s+)?live\s+in\s+(?P<what>(?!.*\bany\s?more\b){CAPITAL}.+)$"), _ended("home")),
    (compiled(rf"{SPEAKER}\s+(?:don't|do\s+not)\s+(?:actually\s+)?work\s+(?:at|for)\s+(?P<what>(?!.*\bany\s?more\b){CAPITAL}.+)$"), _ended("work")),
    # what stopped
    (compiled(rf"{SPEAKER}\s+(?:no\s+longer|don't|do\s+not)\s+(?:live|stay)\s+(?:in|at|on)\s+(?P<what>.+?)(?:\s+any\s?more\b.*)?$"), _ended("home", _NATURAL)),
    (compiled(rf"{SPEAKER}\s+(?:no\s+longer|don't|do\s+not)\s+work\s+(?:at|for|with)\s+(?P<what>.+?)(?:\s+any\s?more\b.*)?$"), _ended("work", _NATURAL)),
    (compiled(rf"(?:{SPEAKER}|{I_AM})\s+no\s+longer\s+(?P<what>\w.*)$"), _ended("any", _NATURAL)),
    (compiled(rf"(?:{SPEAKER}\s+(?:don't|do\s+not)|{I_AM}\s+not)\s+(?P<what>\w.*?)\s+any\s?more\b.*$"), _ended("any", _NATURAL)),
    (compiled(rf"{SPEAKER}{LATELY}\s+(?:resigned\s+from|(?:was|got)\s+(?:laid\s+off|fired)\s+(?:from|by|at)|(?:quit|left)\s+my\s+job\s+at|handed\s+in\s+my\s+notice\s+at)\s+(?P<what>.+)$"), _ended("work", _NATURAL)),
    (compiled(rf"{SPEAKER}{LATELY}\s+left\s+(?P<what>{CAPITAL}.+)$"), _ended("left", _NATURAL)),
    (compiled(rf"{SPEAKER}{LATELY}\s+(?:stopped|quit|given\s+up|gave\s+up(?:\s+on)?|dropped\s+out\s+of|finished\s+with|cancelled)\s+(?:taking\s+|going\s+to\s+|doing\s+)?(?:my\s+|our\s+|the\s+)?(?P<what>\w.*)$"), _ended("habit", _NATURAL)),
    (compiled(rf"{SPEAKER}{LATELY}\s+(?:sold|got\s+rid\s+of|gave\s+away|scrapped|traded\s+in)\s+(?:my|our|the)\s+(?P<what>\w.*?)(?:\s+to\s+.*)?$"), _ended("owned", _NATURAL)),
    (compiled(r"(?:my|our|the)\s+(?P<what>[\w' -]+?)\s+(?:was|got|has\s+been)\s+stolen\b.*$"), _ended("owned", _NATURAL)),
    (compiled(rf"(?:(?:my|our)\s+(?:\w+\s+)?)?(?P<what>{CAPITAL}[\w-]+)\s+(?:died|passed\s+away|was\s+put\s+down)\b.*$"), _ended("living", _NATURAL)),
    (compiled(r"(?:my|our)\s+(?P<what>cat|dog|puppy|kitten|rabbit|hamster|horse|parrot)\s+(?:died|passed\s+away|was\s+put\s+down)\b.*$"), _ended("animal", _NATURAL)),
    (compiled(r"(?:i|we)(?:'ve|\s+have)?\s+(?:just\s+|finally\s+)?(?:got\s+|gotten\s+)?(?P<what>divorced)\b(?!\s+(?-i:[A-Z])).*$"), _ended("marriage", _NATURAL)),
    (compiled(rf"i\s+(?:broke\s+up\s+with|split\s+up\s+with|divorced)\s+(?P<what>{CAPITAL}.*)$"), _ended("couple", _NATURAL)),
)  # fmt: skip

# These join the speaker with somebody else, so they are matched before a sentence is taken apart.
_TOGETHER: tuple[tuple[re.Pattern[str], _Build], ...] = (
    (compiled(rf"(?P<what>{CAPITAL}[\w-]+)\s+and\s+i\s+(?:have\s+)?(?:broke\s+up|split\s+up|separated|got\s+divorced|are\s+divorced|split|divorced)\b.*$"), _ended("couple", _NATURAL)),
)  # fmt: skip

# "Correction: 14B, not 14" needs no verb.
_BARE: tuple[tuple[re.Pattern[str], _Build], ...] = (
    (compiled(rf"(?P<right>{_VALUE}){_NOT}(?P<wrong>{_VALUE})[.!]*$"), _correction_in_short),
)
