"""Changes to what is known: corrections, new days and hours, and what ended or never was.

Invariant: a change only names what it is about, in the user's words; whether a known fact is meant is decided where the
facts are. In doubt nothing is read.
"""

# ruff: noqa: E501  # a pattern that is broken into pieces is harder to read than a long line

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from memories.consolidation.grammar import vocabulary
from memories.consolidation.grammar.statement import Change, Correction, End, Shift
from memories.consolidation.grammar.text import clauses, finer_clauses, plain, sentences, with_subject, without_time
from memories.types import Contradiction
from memoryhub.regexes import lazy_regex

LONGEST_SENTENCE = 400
_LONGEST_NAMED = 8
_LONGEST_IN_SHORT = 4

_Build = Callable[[re.Match[str], str, Contradiction], Iterator[Change]]
_HARSH, _NATURAL = Contradiction.HARSH, Contradiction.NATURAL

_I = r"(?:i|we)"
_I_AM = r"(?:i'm|i am|we're|we are)"
_LATELY = r"(?:'ve|\s+have)?(?:\s+(?:now|just|recently|finally|also|both|all|actually|already))*"
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_PAST = lazy_regex(
    r"^(?:when|once|before|while|back when|as a (?:child|kid|student)|years ago|in (?:19|20)\d\d|growing up|in my)\b"
    r"|\b(?:as a child|as a kid|years ago|back then|when i was|when we were)\b",
    re.IGNORECASE,
)
_OPENERS = lazy_regex(
    r"^(?:(?:oh|ok|okay|hey|hi|well|so|btw|by the way|actually|and|but|yes|yeah|no|nope|nah|sorry|oops|whoops|ah|hmm"
    r"|hang on|wait|turns out|turns out that|it turns out|it turns out that|correction|typo|small correction|update"
    r"|my mistake|my bad|to be clear|just to be clear|for the record|sadly|unfortunately|good news|big news|news|also"
    r"|that's wrong|that's not right|not quite|wrong|ehm|er|um|funny|as it happens|in fact|fyi)\b[\s,:!.–-]+)+",
    re.IGNORECASE,
)
_DENIED = lazy_regex(
    r"^(?:(?:well|oh|hmm|hey|wait|hang on),?\s+)?(?:no|nope|nah|wrong|that's (?:wrong|not right))\b", re.IGNORECASE
)
_PUT_RIGHT = lazy_regex(
    r"(?:(?:oh|ah|no|nope|sorry|oops|whoops|wait)[\s,:!.]+)*(?:no|sorry|oops|typo|correction)[\s,:!.]", re.IGNORECASE
)
_AFTER_ALL = lazy_regex(r"\bafter all\b|\bnever\b|^(?:it )?turns out\b|\bby mistake\b", re.IGNORECASE)
_VALUE = r"(?:(?:an?|the|at|in|on|for|with|to)\s+)?[\w£$€+@][\w£$€.,:'’/@+ -]*?"
_CLAUSE_VERB = lazy_regex(
    r"\b(?:is|are|was|am|it's|i'm|he's|she's|that's|have|has|live|work|prefer|i|we|my)\b", re.IGNORECASE
)
_ARTICLES = lazy_regex(r"^(?:an?|the)\s+", re.IGNORECASE)
_PREPOSITIONS = lazy_regex(r"^(?:at|in|on|for|with|to)\s+", re.IGNORECASE)


def read_changes(message: str) -> tuple[Change, ...]:
    """What `message` says about facts that may be known."""
    found: list[Change] = []
    text = plain(message)
    if vocabulary.SARCASM.search(text) or vocabulary.GIVEN_TEXT.match(text):
        return ()
    for place, sentence in enumerate(sentences(text)):
        bare = _OPENERS.sub("", sentence)
        if len(sentence) > LONGEST_SENTENCE or '"' in sentence or vocabulary.QUESTION.search(bare):
            continue
        if vocabulary.doubtful(bare) or _PAST.search(bare):
            continue
        found += _changes(sentence, alone=place == 0)
    return tuple(dict.fromkeys(found))


def _changes(sentence: str, *, alone: bool) -> Iterator[Change]:
    """The changes of one sentence: of its clauses, or of the parts of a clause."""
    denied = bool(_DENIED.match(sentence))
    whole = _OPENERS.sub("", sentence)
    if _PUT_RIGHT.match(sentence):
        yield from _matched(whole, whole, _BARE, denied=True)
    yield from _matched(without_time(whole), whole, _TOGETHER, denied=denied)
    for clause in clauses(whole):
        for part in dict.fromkeys((clause, *finer_clauses(clause))):
            bare = without_time(_OPENERS.sub("", part))
            bare = with_subject(bare) if alone and part == clause else bare
            changes = tuple(_matched(bare, part, _RULES, denied=denied or bool(_AFTER_ALL.search(sentence))))
            yield from changes
            if changes:
                break


def _matched(
    clause: str, quote: str, rules: tuple[tuple[re.Pattern[str], _Build], ...], *, denied: bool
) -> Iterator[Change]:
    kind = Contradiction.HARSH if denied else Contradiction.NATURAL
    for pattern, build in rules:
        if match := pattern.match(clause):
            changes = tuple(build(match, quote, kind))
            if changes:
                yield from changes
                return


def _cut(text: str) -> str:
    return vocabulary.without_tail(text)


def _correction(match: re.Match[str], quote: str, _kind: Contradiction) -> Iterator[Change]:
    wrong = _PREPOSITIONS.sub("", _cut(match["wrong"]))
    right = _PREPOSITIONS.sub("", _cut(match["right"]))
    about = (match.groupdict().get("about") or "").strip()
    wrong = _ARTICLES.sub("", wrong)
    if any(_CLAUSE_VERB.search(value) for value in (wrong, right)):
        return
    short = max(len(wrong.split()), len(right.split())) <= _LONGEST_NAMED
    if wrong and right and short and wrong.casefold() not in _NO_VALUES:
        yield Correction(wrong, right, about, quote)


def _correction_in_short(match: re.Match[str], quote: str, kind: Contradiction) -> Iterator[Change]:
    if len(match["right"].split()) <= _LONGEST_IN_SHORT:
        yield from _correction(match, quote, kind)


def _shift(match: re.Match[str], quote: str, _kind: Contradiction) -> Iterator[Change]:
    yield Shift(_ARTICLES.sub("", match["about"].strip()), match["to"].strip(), quote)


def _ended(how: str, kind: Contradiction | None = None) -> _Build:
    """A builder for an end; `kind` None: harsh if the sentence denies."""

    def build(match: re.Match[str], quote: str, said: Contradiction) -> Iterator[Change]:
        what = _of_now(match["what"])
        if what and what.split()[0].casefold() not in vocabulary.STATES_OF_MIND and len(what.split()) <= _LONGEST_NAMED:
            yield End(what, how, kind or said, quote)

    return build


def _of_now(text: str) -> str:
    """What ended, without when and why."""
    return _ARTICLES.sub("", _cut(_WHEN_AND_WHY.sub("", text))).strip(" .!,;:")


_WHEN_AND_WHY = lazy_regex(
    r"(?:,|\s+(?:because|after|since|due\s+to|to\s+a|to\s+my|to\s+focus|yesterday|today|last|this|recently|altogether"
    r"|completely|for\s+good|for\s+health|in\s+(?:early\s+|late\s+)?(?:the\s+)?(?:january|february|march|april|may|june|july"
    r"|august|september|october|november|december|spring|summer|autumn|winter|(?:19|20)\d\d)|on\s+(?:mon|tues|wednes|thurs"
    r"|fri|satur|sun)day\b|at\s+the\s+end|at\s+the\s+weekend|a\s+\w+\s+ago|two\s+\w+\s+ago|\d+\s+\w+\s+ago|and|as\s+well"
    r"|after\s+all|either))\b.*$|,.*$",
    re.IGNORECASE,
)
_NO_VALUES = frozenset(
    (
        "right",
        "true",
        "fair",
        "enough",
        "easy",
        "good",
        "ok",
        "great",
        "here",
        "there",
        "that",
        "this",
        "it",
        "yet",
        "now",
        "sure",
        "really",
        "only",
        "just",
        "bad",
        "much",
        "too",
    )
)


def _rule(pattern: str) -> re.Pattern[str]:
    return lazy_regex(pattern, re.IGNORECASE)


_NOT = r",?\s+(?:and\s+)?not\s+"
_CAPITAL = r"(?-i:[A-Z])"

# The first rule that yields something wins.
_RULES: tuple[tuple[re.Pattern[str], _Build], ...] = (
    # corrections
    (_rule(rf"(?:it's|it is|that's|it was|he's|she's|they're)\s+not\s+(?P<wrong>{_VALUE})(?:,|;|\s+but)\s+(?:but\s+)?(?:(?:it's|it is|that's|he's|she's)\s+)?(?P<right>{_VALUE})[.!]*$"), _correction),
    (_rule(rf"(?:it's|it is|that's|it was|he's|she's|they're|i meant|i mean|make that|should be)\s+(?P<right>{_VALUE}){_NOT}(?P<wrong>{_VALUE})[.!]*$"), _correction),
    (_rule(rf"i said\s+(?P<wrong>{_VALUE}),?\s+but\s+(?:i\s+)?(?:meant|it's)\s+(?P<right>{_VALUE})[.!]*$"), _correction),
    (_rule(rf"(?:my|our)\s+(?P<about>[\w' -]+?)\s+(?:is\s+not|isn't|are\s+not|is\s+not\s+called|isn't\s+called)\s+(?P<wrong>{_VALUE})(?:,|;|\s+but)\s+(?:but\s+)?(?:(?:it's|it is|he's|she's)\s+)?(?P<right>{_VALUE})[.!]*$"), _correction),
    (_rule(rf"(?:my|our)\s+(?P<about>[\w' -]+?)\s+(?:is called|is named|is|are)\s+(?P<right>{_VALUE}){_NOT}(?P<wrong>{_VALUE})[.!]*$"), _correction),
    (_rule(rf"(?P<about>{_CAPITAL}[\w-]+(?:'s\s+[\w -]+?)?)\s+(?:is called|is|works at|lives in)\s+(?P<right>{_VALUE}){_NOT}(?P<wrong>{_VALUE})[.!]*$"), _correction),
    (_rule(rf"{_I}\s+(?:(?:live|work|play|drive|ride|speak|have|own|study|eat|drink|take)\s+|was born\s+|come\s+)(?P<right>{_VALUE}){_NOT}(?P<wrong>{_VALUE})[.!]*$"), _correction),
    (_rule(rf"{_I_AM}\s+(?:allergic\s+to|from|based\s+in|living\s+in|working\s+at|married\s+to|called)\s+(?P<right>{_VALUE}){_NOT}(?:to\s+|from\s+|in\s+|at\s+)?(?P<wrong>{_VALUE})[.!]*$"), _correction),
    (_rule(rf"{_I_AM}\s+(?P<right>(?!not\b){_VALUE}){_NOT}(?P<wrong>{_VALUE})[.!]*$"), _correction),
    # another day or hour
    (_rule(rf"(?:(?:my|our|the)\s+)?(?P<about>[\w' -]+?)(?:'s|\s+is|\s+are|\s+has\s+moved|\s+have\s+moved|\s+moved|\s+is\s+now|\s+takes\s+place)\s+(?:to|on|at)?\s*(?P<to>{_DAY}|\d{{1,2}}(?::\d\d)?\s*(?:am|pm)|half\s+past\s+\w+)(?:\s+(?:now|from\s+now\s+on|these\s+days|instead))+\b"), _shift),
    (_rule(rf"(?:(?:my|our|the)\s+)?(?P<about>[\w' -]+?)\s+(?:has\s+moved|have\s+moved|moved)\s+to\s+(?P<to>{_DAY}|\d{{1,2}}(?::\d\d)?\s*(?:am|pm))\b"), _shift),
    # what never was
    (_rule(rf"{_I}(?:'ve|\s+have)?\s+never\s+(?:lived|been\s+living|was\s+living)\s+(?:in\s+|at\s+|on\s+)?(?P<what>.+)$"), _ended("home", _HARSH)),
    (_rule(rf"{_I}(?:'ve|\s+have)?\s+never\s+(?:worked|been\s+employed|been\s+working)\s+(?:at\s+|for\s+|in\s+|as\s+)?(?P<what>.+)$"), _ended("work", _HARSH)),
    (_rule(rf"{_I}(?:'ve|\s+have)?\s+never\s+(?:had|owned|possessed|bought)\s+(?P<what>.+)$"), _ended("owned", _HARSH)),
    (_rule(rf"{_I}(?:'ve|\s+have|\s+was|\s+were)?\s+never\s+(?:been\s+|was\s+)?(?P<what>allergic\s+to\s+.+|married\s+.+|vegan|vegetarian|an?\s+.+)$"), _ended("any", _HARSH)),
    (_rule(rf"{_I_AM}\s+not\s+(?:actually\s+|really\s+)?(?P<what>allergic\s+to\s+.+?)\s+any\s?more\b.*$"), _ended("health", _NATURAL)),
    (_rule(rf"{_I_AM}\s+not\s+(?:actually\s+|really\s+)?(?P<what>allergic\s+to\s+.+)$"), _ended("health")),
    (_rule(rf"{_I}\s+(?:don't|do\s+not)\s+(?:actually\s+)?live\s+in\s+(?P<what>(?!.*\bany\s?more\b){_CAPITAL}.+)$"), _ended("home")),
    (_rule(rf"{_I}\s+(?:don't|do\s+not)\s+(?:actually\s+)?work\s+(?:at|for)\s+(?P<what>(?!.*\bany\s?more\b){_CAPITAL}.+)$"), _ended("work")),
    # what stopped
    (_rule(rf"{_I}\s+no\s+longer\s+(?:live|stay|am\s+based)\s+(?:in|at|on)\s+(?P<what>.+)$"), _ended("home", _NATURAL)),
    (_rule(rf"{_I}\s+(?:don't|do\s+not)\s+live\s+(?:in|at|on)\s+(?P<what>.+?)\s+any\s?more\b.*$"), _ended("home", _NATURAL)),
    (_rule(rf"{_I}\s+no\s+longer\s+work\s+(?:at|for|with)\s+(?P<what>.+)$"), _ended("work", _NATURAL)),
    (_rule(rf"{_I}\s+(?:don't|do\s+not)\s+work\s+(?:at|for|with)\s+(?P<what>.+?)\s+any\s?more\b.*$"), _ended("work", _NATURAL)),
    (_rule(rf"{_I}\s+no\s+longer\s+(?P<what>\w.*)$"), _ended("any", _NATURAL)),
    (_rule(rf"{_I}\s+(?:don't|do\s+not)\s+(?P<what>\w.*?)\s+any\s?more\b.*$"), _ended("any", _NATURAL)),
    (_rule(rf"{_I_AM}\s+(?:no\s+longer\s+(?P<what>\w.*))$"), _ended("any", _NATURAL)),
    (_rule(rf"{_I_AM}\s+not\s+(?P<what>\w.*?)\s+any\s?more\b.*$"), _ended("any", _NATURAL)),
    (_rule(rf"{_I}{_LATELY}\s+(?:resigned\s+from|was\s+laid\s+off\s+(?:from|by|at)|got\s+laid\s+off\s+(?:from|by|at)|was\s+fired\s+(?:from|by)|got\s+fired\s+(?:from|by)|quit\s+my\s+job\s+at|left\s+my\s+job\s+at|handed\s+in\s+my\s+notice\s+at)\s+(?P<what>.+)$"), _ended("work", _NATURAL)),
    (_rule(rf"{_I}{_LATELY}\s+left\s+(?P<what>{_CAPITAL}.+)$"), _ended("left", _NATURAL)),
    (_rule(rf"{_I}{_LATELY}\s+(?:stopped|quit|given\s+up|gave\s+up(?:\s+on)?|dropped\s+out\s+of|finished\s+with|cancelled)\s+(?:taking\s+|going\s+to\s+|doing\s+)?(?:my\s+|our\s+|the\s+)?(?P<what>\w.*)$"), _ended("habit", _NATURAL)),
    (_rule(rf"{_I}{_LATELY}\s+(?:sold|got\s+rid\s+of|gave\s+away|scrapped|traded\s+in)\s+(?:my|our|the)\s+(?P<what>\w.*?)(?:\s+to\s+.*)?$"), _ended("owned", _NATURAL)),
    (_rule(r"(?:my|our|the)\s+(?P<what>[\w' -]+?)\s+(?:was|got|has\s+been)\s+stolen\b.*$"), _ended("owned", _NATURAL)),
    (_rule(rf"(?:my|our)\s+(?:\w+\s+)?(?P<what>{_CAPITAL}[\w-]+)\s+(?:died|passed\s+away|was\s+put\s+down)\b.*$"), _ended("living", _NATURAL)),
    (_rule(rf"(?P<what>{_CAPITAL}[\w-]+)\s+(?:died|passed\s+away|was\s+put\s+down|had\s+to\s+be\s+put\s+(?:down|to\s+sleep))\b.*$"), _ended("living", _NATURAL)),
    (_rule(r"(?:my|our)\s+(?P<what>cat|dog|puppy|kitten|rabbit|hamster|horse|parrot)\s+(?:died|passed\s+away|was\s+put\s+down)\b.*$"), _ended("animal", _NATURAL)),
    (_rule(r"(?:i|we)(?:'ve|\s+have)?\s+(?:just\s+|finally\s+)?(?:got\s+|gotten\s+)?(?P<what>divorced)\b.*$"), _ended("marriage", _NATURAL)),
    (_rule(rf"i\s+(?:broke\s+up\s+with|split\s+up\s+with|divorced)\s+(?P<what>{_CAPITAL}.*)$"), _ended("couple", _NATURAL)),
)  # fmt: skip

# These join the speaker with somebody else, so they are matched before a sentence is taken apart.
_TOGETHER: tuple[tuple[re.Pattern[str], _Build], ...] = (
    (_rule(rf"(?P<what>{_CAPITAL}[\w-]+)\s+and\s+i\s+(?:have\s+)?(?:broke\s+up|split\s+up|separated|got\s+divorced|are\s+divorced|split|divorced)\b.*$"), _ended("couple", _NATURAL)),
)  # fmt: skip

# "Correction: 14B, not 14" needs no verb.
_BARE: tuple[tuple[re.Pattern[str], _Build], ...] = (
    (_rule(rf"(?P<right>{_VALUE}){_NOT}(?P<wrong>{_VALUE})[.!]*$"), _correction_in_short),
)
