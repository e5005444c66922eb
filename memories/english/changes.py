"""Changes to known facts in a message: corrections, shifts to another day or hour, and ends.

A change only names its object in the user's words; `known` determines which fact is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memories.english import text, vocabulary
from memories.english.text import CAPITAL, I_AM, LATELY, SPEAKER, any_of, compiled, lists, phrases, word_set
from memories.english.times import MONTHS
from memories.types import Contradiction

LONGEST_SENTENCE = 400
_LONGEST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Correction:
    """The value is `right` instead of `wrong`; `about` is the thing's name if the user gave one."""

    wrong: str
    right: str
    about: str = ""
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Shift:
    """A known fact about `about` has moved to another day or hour."""

    about: str
    to: str
    quote: str = ""


@dataclass(frozen=True, slots=True)
class End:
    """Something stopped (natural) or was never true (harsh). `how` is the category of the rule that matched."""

    what: str
    how: str = "any"
    kind: Contradiction = Contradiction.NATURAL
    quote: str = ""


Change = Correction | Shift | End

_PHRASES = lists(
    """
openers = oh, ok, okay, hey, hi, well, so, btw, by the way, actually, and, but, yes, yeah, no, nope, nah, sorry, oops,
    whoops, ah, hmm, hang on, wait, turns out, turns out that, it turns out, it turns out that, correction, typo,
    update, small correction, my mistake, my bad, to be clear, just to be clear, for the record, sadly, unfortunately,
    good news, big news, news, also, that's wrong, that's not right, not quite, wrong, er, um, funny, in fact, fyi
past = as a child, as a kid, years ago, back then, when i was, when we were
past_first = when, once, before, while, back when, as a child, as a kid, as a student, years ago, growing up, in my
verbs = is, are, was, am, it's, i'm, he's, she's, that's, have, has, live, work, prefer, i, we, my
when_and_why = because, after, since, due to, to a, to my, to focus, yesterday, today, last, this, recently, altogether,
    completely, for good, for health, at the end, at the weekend, and, as well, after all, either
"""
)
_NO_VALUES = word_set(
    "right true fair enough easy good ok great here there that this it yet now sure really only just bad much too"
)
_PAST = compiled(rf"^(?:{phrases(_PHRASES['past_first'])}|in (?:19|20)\d\d)\b|\b(?:{phrases(_PHRASES['past'])})\b")
_OPENERS = compiled(rf"^(?:(?:{phrases(_PHRASES['openers'])})\b[\s,:!.–-]+)+")
_DENIED = compiled(r"^(?:(?:well|oh|hmm|hey|wait|hang on),?\s+)?(?:no|nope|nah|wrong|that's (?:wrong|not right))\b")
_PUT_RIGHT = compiled(
    r"(?:(?:oh|ah|no|nope|sorry|oops|whoops|wait)[\s,:!.]+)*(?:no|sorry|oops|typo|correction)[\s,:!.]"
)
_AFTER_ALL = any_of("after all, never, by mistake", r"(?<!.)(?:it )?turns out")
_CLAUSE_VERB = any_of(_PHRASES["verbs"])
_ARTICLE = compiled(r"^(?:an?|the)\s+")
_PREPOSITION = compiled(r"^(?:at|in|on|for|with|to)\s+")
_WHEN_AND_WHY = compiled(
    rf"(?:,|\s+(?:{phrases(_PHRASES['when_and_why'])}|in\s+(?:early\s+|late\s+)?(?:the\s+)?(?:{'|'.join(MONTHS)}|spring"
    r"|summer|autumn|winter|(?:19|20)\d\d)|on\s+(?:mon|tues|wednes|thurs|fri|satur|sun)day|\w+\s+\w+\s+ago)\b).*$"
)
# A rule is "how: pattern". A `how` that ends with "!" is a harsh end, with "~" a natural one; otherwise the sentence
# decides. Capitalized words are replaced by these patterns, and a space by any white space.
_VALUE = r"(?:(?:an?|the|at|in|on|for|with|to)\s+)?[\w£$€+@][\w£$€.,:'’/@+ -]*?"
_STANDS_FOR = {
    "I": SPEAKER,
    "I'M": I_AM,
    "I'VE": SPEAKER + LATELY,
    "IT'S": r"(?:it's|it is|that's|it was|he's|she's|they're)",
    "MY": r"(?:my|our|the)",
    "NOT": r"(?:don't|do\s+not)",
    "NEVER": SPEAKER + r"(?:'ve|\s+have|\s+was|\s+were)?\s+never(?:\s+been|\s+was)?",
    "MORE": r"any\s?more\b.*",
    "DIED": r"(?:died|passed\s+away|was\s+put\s+down)\b.*",
    "TIME": r"(?P<to>(?:mon|tues|wednes|thurs|fri|satur|sun)days?|\d{1,2}(?::\d\d)?\s*(?:am|pm)|half\s+past\s+\w+)",
    "ABOUT": r"(?P<about>[\w' -]+?)",
    "WHOSE": rf"(?P<about>{CAPITAL}[\w-]+(?:'s\s+[\w -]+?)?)",
    "WRONG": rf"(?P<wrong>{_VALUE})",
    "RIGHT": rf"(?P<right>(?!not\b){_VALUE})",
    "RATHER": rf"(?P<right>(?!not\b){_VALUE}),?\s+(?:and\s+)?not\s+(?:(?:to|from|in|at)\s+)?(?P<wrong>{_VALUE})",
    # "I'm not from Leeds, it's just …" gives a reason rather than a value.
    "ANOTHER": rf"(?P<right>(?!(?:all|because|fine|just|not|only|over|so|too|very)\b){_VALUE})",
    "BEING": r"(?:allergic\s+to|from|based\s+in|living\s+in|working\s+at|married\s+to|called)",
    "WHAT": r"(?P<what>\w.*?)",
    "NAME": rf"(?P<what>{CAPITAL}.*)",
    "PERSON": rf"(?P<what>{CAPITAL}[\w-]+)",
}
_CAPITALS = re.compile(rf"\b(?:{'|'.join(sorted(_STANDS_FOR, key=len, reverse=True))})\b")
_KINDS = {"!": Contradiction.HARSH, "~": Contradiction.NATURAL}
Rule = tuple[str, Contradiction | None, re.Pattern[str]]


def _rules(listed: str) -> tuple[Rule, ...]:
    rules = []
    for how, _, pattern in (line.strip().partition(": ") for line in listed.strip().splitlines()):
        spelled_out = _CAPITALS.sub(lambda match: _STANDS_FOR[match[0]], pattern.replace(" ", r"\s+"))
        rules.append((how.rstrip("!~"), _KINDS.get(how[-1]), compiled(rf"{spelled_out}[.!]*$")))
    return tuple(rules)


# The first rule that matches wins.
_RULES = _rules(
    r"""
    correction: (?:IT'S not|MY ABOUT (?:is not|isn't|are not)(?: called)?) WRONG(?:,|;| but) (?:but )?(?:IT'S )?RIGHT
    correction: I'M not (?:actually |really )?BEING WRONG(?:,|;| but) (?:but )?(?:IT'S|to|from|in|at) ANOTHER
    correction: (?:IT'S|i meant|i mean|make that|should be) RATHER
    correction: i said WRONG,? but (?:i )?(?:meant|it's) RIGHT
    correction: (?:my|our) ABOUT (?:is called|is named|is|are) RATHER
    correction: WHOSE (?:is called|is|works at|lives in) RATHER
    correction: I (?:live|work|play|drive|ride|speak|have|own|study|eat|drink|take|was born|come) RATHER
    correction: I'M (?:BEING )?RATHER
    shift: (?:MY )?ABOUT(?:'s| is| are)(?: now)?(?: on| at)? TIME(?: now| from now on| these days| instead)+\b.*
    shift: (?:MY )?ABOUT (?:has |have )?moved to TIME\b.*
    home!: NEVER (?:lived|living) (?:in |at |on )?WHAT
    work!: NEVER (?:worked|employed|working) (?:at |for |in |as )?WHAT
    owned!: NEVER (?:had|owned|bought) WHAT
    any!: NEVER (?P<what>allergic to .+|married .+|vegan|vegetarian|an? .+)
    health~: I'M not (?:actually |really )?(?P<what>allergic to .+?) MORE
    health: I'M not (?:actually |really )?(?P<what>allergic to .+)
    home: I NOT (?:actually )?live in (?!.*any\s?more)NAME
    work: I NOT (?:actually )?work (?:at|for) (?!.*any\s?more)NAME
    home~: I (?:no longer|NOT) (?:live|stay) (?:in|at|on) WHAT(?: MORE)?
    work~: I (?:no longer|NOT) work (?:at|for|with) WHAT(?: MORE)?
    any~: (?:I|I'M) no longer WHAT
    any~: (?:I NOT|I'M not) WHAT MORE
    work~: I'VE (?:resigned from|(?:was|got) (?:laid off|fired) (?:from|by|at)|(?:quit|left) my job at) WHAT
    left~: I'VE left NAME
    habit~: I'VE (?:stopped|quit|given up|gave up|dropped out of|cancelled)(?: taking| going to| doing)?(?: MY)? WHAT
    owned~: I'VE (?:sold|got rid of|gave away|scrapped|traded in) MY WHAT(?: to .*)?
    owned~: MY WHAT (?:was|got|has been) stolen\b.*
    living~: (?:MY (?:\w+ )?)?PERSON DIED
    animal~: MY (?P<what>cat|dog|puppy|kitten|rabbit|hamster|horse|parrot) DIED
    marriage~: I(?:'ve| have)?(?: just| finally)?(?: got| gotten)? (?P<what>divorced)\b(?! (?-i:[A-Z])).*
    couple~: i (?:broke up with|split up with|divorced) NAME
    """
)
# Its subject includes another person, so it is matched before the sentence is split.
_TOGETHER = _rules(
    r"couple~: PERSON and i (?:have )?(?:broke up|split|separated|got divorced|are divorced|divorced)\b.*"
)
# "Correction: 14B, not 14" needs no verb.
_BARE = _rules("correction: RATHER")


def read_changes(message: str) -> tuple[Change, ...]:
    """Return the changes that `message` makes to facts that may be known."""
    found: list[Change] = []
    told = text.plain(message)
    if vocabulary.unmeant(told):
        return ()
    for place, sentence in enumerate(text.first_sentences(told)):
        bare = _OPENERS.sub("", sentence)
        if len(sentence) > LONGEST_SENTENCE or '"' in sentence or vocabulary.QUESTION.search(bare):
            continue
        if not vocabulary.doubtful(bare) and not _PAST.search(bare):
            found += _changes(sentence, first=place == 0)
    return tuple(dict.fromkeys(found))


def _changes(sentence: str, *, first: bool) -> Iterator[Change]:
    """Yield the changes of one sentence, from its clauses or their parts."""
    denied = bool(_DENIED.match(sentence))
    whole = _OPENERS.sub("", sentence)
    if _PUT_RIGHT.match(sentence):
        yield from _matched(whole, whole, _BARE, denied=True)
    yield from _matched(text.without_time(whole), whole, _TOGETHER, denied=denied)
    for clause in text.clauses(whole):
        for part in dict.fromkeys((clause, *text.finer_clauses(clause))):
            bare = text.without_time(_OPENERS.sub("", part))
            bare = text.with_subject(bare) if first and part == clause else bare
            if changes := _matched(bare, part, _RULES, denied=denied or bool(_AFTER_ALL.search(sentence))):
                yield from changes
                break


def _matched(clause: str, quote: str, rules: tuple[Rule, ...], *, denied: bool) -> list[Change]:
    """Return the change of the first matching rule. Unless the rule says otherwise, `denied` makes an end harsh."""
    for how, kind, pattern in rules:
        match = pattern.match(clause)
        if match and (change := _change(how, kind or _KINDS["!" if denied else "~"], match.groupdict(), quote)):
            return [change]
    return []


def _change(how: str, kind: Contradiction, named: dict[str, str | None], quote: str) -> Change | None:
    about = (named.get("about") or "").strip()
    if how == "shift":
        return Shift(_ARTICLE.sub("", about), named["to"] or "", quote)
    if how == "correction":
        wrong, right = (_PREPOSITION.sub("", vocabulary.without_tail(named[name] or "")) for name in ("wrong", "right"))
        wrong = _ARTICLE.sub("", wrong)
        clause = any(_CLAUSE_VERB.search(value) for value in (wrong, right))
        short = min(len(wrong), len(right)) > 0 and max(len(wrong.split()), len(right.split())) <= _LONGEST_NAMED
        told = short and not clause and wrong.casefold() not in _NO_VALUES
        return Correction(wrong, right, about, quote) if told else None
    what = _ARTICLE.sub("", vocabulary.without_tail(_WHEN_AND_WHY.sub("", named["what"] or ""))).strip(" .!,;:")
    words = what.casefold().split()
    named_briefly = 0 < len(words) <= _LONGEST_NAMED and words[0] not in vocabulary.STATES_OF_MIND
    return End(what, how, kind, quote) if named_briefly else None
