"""What a message puts right without naming it: "no, Sheffield", "wait, no, pescatarian", "that's wrong", "undo that"."""

# ruff: noqa: E501  # a pattern that is broken into pieces is harder to read than a long line

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memories.english.grammar import Statement, read
from memories.english.known import Held
from memories.english.people import DATE, SOMEBODY, more, others
from memories.english.playbooks import StatedPlaybook
from memories.english.questions import parted, spelled
from memories.english.text import content_words, sentences
from memories.english.times import WEEKDAYS
from memories.models import Fact


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


UNDO = _rule(
    r"(?:please |can you |could you )?(?:undo|revert|take back)(?: (?:that|this|it|the last (?:one|thing|change)|what (?:you|i) just (?:did|said)))?(?: please)?[.!?]*"
)
DENIED = _rule(
    r"(?:(?:no|nope|hang on|wait|actually|sorry|but|hey)[,.! ]+)*(?:that|this|it|you)(?:'s|'re| is| are| was|'s just| isn't)\s+"
    r"(?:not (?:true|right|correct|so)|never (?:been )?true|wrong|false|untrue|incorrect|true|right|correct|a mistake)[.!]*"
)
EVERYTHING = _rule(
    r"(?:absolutely )?(?:everything|all of it|all|it all|my (?:account|data|memory|memories|history)|all (?:my|the) (?:data|memories|facts))(?:\s+(?:about me|you know(?: about me)?|i (?:said|told you)))?[.!]*$"
)
_THAT = _rule(
    r"(?:that|this|that one|this one|(?:all )?that again|what i (?:just |have just )?(?:said|told you|wrote)"
    r"|(?:the|my) last (?:thing|one|message|sentence|fact)(?: i said)?)(?:,? (?:again|please|now))*[.!]*$"
)
_ABOUT = _rule(
    r"^(?:about|that|the fact that|what i (?:said|told you) about|everything (?:you know )?about|all about"
    r"|(?:all )?the (?:memor(?:y|ies)|facts?) (?:about|of|that))\s+"
)
_OPENER = r"(?:no|nope|wait|sorry|oops|correction|scratch that|i mean|i meant|make that|or rather|rather|actually|hang on|hold on|my mistake|my bad|not quite|that's wrong|that's not right|i misspoke)"
_IS = r"(?:(?:i mean|i meant|make that|it's|it is|it was|it should be|should be|that's|that is|he's|she's|they're|i'm|i am|in|at|on|to)\s+)?"
_VALUE = r"(?P<value>(?!(?:not|i|it|that|this|he|she|we|they|you|my|what|never|mind|thanks|please|the other)\b)[\w£$€][^.!?;,]{0,40}?)"
_FRAGMENT = _rule(
    rf"(?:(?:oh|ah|well|um|ok)[, ]+)*{_OPENER}(?:[\s,.!:–-]+{_OPENER})*[\s,.!:–-]+{_IS}(?:now )?{_VALUE}(?:,? (?:not|instead of) [\w ]+)?[.!]*$"
)
_INSIDE = _rule(
    rf"[\s]*[,;.–-]+\s*(?P<tail>{_OPENER}(?:[\s,.!–-]+{_OPENER})*[\s,!–-]+{_IS}{_VALUE})(?=[.!;]|$|,? (?:and|but) )"
)
_VERBS = _rule(
    r"\b(?:is|are|was|am|have|has|had|live|lives|work|works|like|love|want|think|know|start|moved|don't|do|does|forget|remember|tell|can|will|got)\b"
)
_AT_VALUE = _rule(
    r"^(?P<head>(?:.*?\b(?:is called|is named|name is|is on|birthday is|is an?|is the|is|are|lives in|lives at|works at|works for|works as an?|works as|starts at"
    r"|allergic to|married to|engaged to|comes from|born on|born in|drives an?|rides an?|has an?|loves|likes|hates|prefers|plays the|plays|speaks|studies|has|pays))\s+)(?P<value>.+)$"
)
_LONGEST_VALUE = 5
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)?")
_START = _rule(
    rf"\bi (?:only |actually |will |'ll |don't start until |am going to )?(?:start|begin|starting)?(?:ing)? ?(?P<where>there|at [A-Z][\w&' -]+?|working (?:there|at [A-Z][\w&' -]+?)|(?:my|the) new job|work)? ?(?:only |not until |until )?"
    rf"(?P<when>next (?:week|month|year|{'|'.join(WEEKDAYS)})|tomorrow|on {'(?:' + '|'.join(WEEKDAYS) + ')'}|(?:on )?{DATE}|in (?:january|february|march|april|may|june|july|august|september|october|november|december))\b"
)
_PRONOUN = _rule(
    r"(?P<opener>(?:(?:actually|oh|and|no|sorry|well|wait|but|yes|also)[,.! ]+)*)(?P<pronoun>he's|she's|he|she|his|her|its)(?= )"
)
_ASKED_PRONOUN = _rule(r"(?P<opener>.*?\b)(?P<pronoun>he|she|his|her|its)\b(?=[ ?])")
_SPOKEN_OF = _rule(rf"\b(?:my|our|your) {SOMEBODY}(?:'s {SOMEBODY})?\b(?!-)")
_OF_HIM, _OF_HER = frozenset(("he", "his", "he's")), frozenset(("she", "her", "she's"))
_SHE = _rule(
    r"\b(?:mother|mum|mom|sister|daughter|wife|girlfriend|aunt|niece|grandmother|grandma|granny|gran|nan|landlady)\b"
)
_HE = _rule(r"\b(?:father|dad|brother|son|husband|boyfriend|uncle|nephew|grandfather|grandpa|landlord)\b")
_NAMING = content_words("is called named name")
_HAS_ONE = _rule(rf"has an? ({SOMEBODY})")
# Where a thing is at the moment says nothing of what it is.
_PLACED = _rule(r"[\w ]+ (?:is|are) (?:parked|at|in|on|under|behind|near|next to)\b")
_OWN_WORDS = _rule(r"(?:i|i'm|i've|my|we|our)\b")
_LIKING, _DISLIKING = ("loves ", "likes ", "enjoys "), ("hates ", "dislikes ", "can't stand ", "does not like ")


def points_back(words: str) -> bool:
    """Whether words such as "that" name what was talked about just before."""
    return bool(_THAT.match(words.strip()))


def subject_of(forget: str) -> str:
    """What to forget, without the words around it."""
    return "" if points_back(forget) else _ABOUT.sub("", forget).strip().rstrip(".!?")


def value_of(text: str) -> str:
    """The value of a fact: Leeds of "Lives in Leeds"."""
    match = _AT_VALUE.match(text)
    return match["value"] if match else text


def fragment(message: str) -> str:
    """The value that a message gives in place of another, in short: "Wait, no, pescatarian"; empty if it gives none."""
    match = _FRAGMENT.fullmatch(message.strip())
    if match is None or _VERBS.search(match["value"]) or len(match["value"].split()) > _LONGEST_VALUE:
        return ""
    return match["value"].strip()


def with_value(text: str, right: str) -> str:
    """A fact with another value in its place."""
    match = _AT_VALUE.match(text)
    if match is None:
        return text
    old = match["value"]
    if _NUMBER.search(right) and _NUMBER.search(old) and len(right.split()) == 1 and right.isdigit():
        return match["head"] + _NUMBER.sub(right, old, count=1)
    if old[:1].isupper() and right.islower():
        right = right.title()
    article = re.search(r"\b(an?)\s+$", match["head"])
    right = re.sub(r"^(?:an?|the)\s+", "", right, flags=re.IGNORECASE) if article else right
    return match["head"] + right


def same_shape(facts: Sequence[Fact], right: str) -> list[Fact]:
    """The facts whose value could be `right`: a number for a number, a name for a name."""
    shape = _shape(right)
    return [
        fact
        for fact in facts
        if _AT_VALUE.match(fact.text) and (_shape(value_of(fact.text)) == shape or shape == "word")
    ] or [fact for fact in facts if len(facts) == 1 and _AT_VALUE.match(fact.text)]


def _shape(value: str) -> str:
    if _NUMBER.search(value):
        return "number"
    return "name" if value[:1].isupper() else "word"


def mended(message: str, read: Callable[[str], Sequence[Statement]]) -> str:
    """A message with what it corrects in itself put right: "I'm vegetarian. Wait, no, pescatarian." is one statement."""
    told: list[str] = []
    for each in sentences(message):
        sentence = resolved(each, told[-1]) if told else each
        if match := _INSIDE.search(sentence):
            head = sentence[: match.start()]
            if not _VERBS.search(match["value"]) and (better := _instead(head, match["value"], read(head))):
                told.append(better + sentence[match.end() :])
                continue
        right = fragment(sentence)
        if right and told and (better := _instead(told[-1], right, read(told[-1]))):
            told[-1] = better
            continue
        told.append(sentence)
    return " ".join(told)


def _instead(sentence: str, right: str, statements: Sequence[Statement]) -> str:
    """A sentence with the value of its last statement replaced; empty if that is not found in it."""
    for statement in reversed(statements):
        words = value_of(statement.text).split()
        if right[:1].isdigit() and (number := _NUMBER.search(" ".join(words))):
            words = words if len(right.split()) > 1 else [number[0]]
        for start in range(len(words)):
            value = " ".join(words[start:])
            if place := re.search(rf"(?<!\w){re.escape(value)}(?!\w)", sentence, re.IGNORECASE):
                return sentence[: place.start()] + right + sentence[place.end() :]
    return ""


def resolved(message: str, before: str) -> str:
    """A message that begins with a pronoun, with the person of the message before in its place."""
    match = _PRONOUN.match(message) or (_ASKED_PRONOUN.match(message) if message.rstrip().endswith("?") else None)
    spoken = [each[0] for each in _SPOKEN_OF.finditer(before)]
    if match is None or not spoken or _SPOKEN_OF.search(message):
        return message
    whom, low = re.sub(r"^your\b", "my", spoken[-1], flags=re.IGNORECASE), match["pronoun"].casefold()
    if (low in _OF_HIM and _SHE.search(whom)) or (low in _OF_HER and _HE.search(whom)):
        return message
    be = {"he's": "is", "she's": "is", "it's": "is"}.get(low, "")
    owned = "'s" if low in ("his", "her", "its") else ""
    return f"{match['opener']}{whom}{owned}{' ' + be if be else ''}{message[match.end() :]}"


def later_start(message: str, facts: Sequence[Fact], now: datetime) -> Statement | None:
    """That a job of which is known begins only later: "I start there next Monday"."""
    match = _START.search(message)
    if match is None or ("start" not in match[0].casefold() and "begin" not in match[0].casefold()):
        return None
    where = re.sub(r"^(?:working )?(?:at )?", "", match["where"] or "there")
    known = next((fact for fact in facts if fact.key == "employer"), None)
    if where in ("there", "my new job", "the new job", "work"):
        if known is None:
            return None
        where = re.sub(r"^(?:works|starts) (?:at|for) |(?: on .*)$", "", known.text, flags=re.IGNORECASE)
    return Statement(f"Starts at {where} {_on(match['when'], now)}", "employer", "work", corrects=known is not None)


def _on(when: str, now: datetime) -> str:
    """The day that is meant, as a date where the words name one."""
    low = when.casefold()
    name = next((day for day in WEEKDAYS if low.endswith(day)), "")
    if low == "tomorrow":
        day = now + timedelta(days=1)
    elif name:
        day = now + timedelta(days=(WEEKDAYS.index(name) - now.weekday() - 1) % 7 + 1)
    else:
        return when if low.startswith(("on ", "in ", "next ")) else f"on {when}"
    return f"on {day:%A} {day.day} {day:%B %Y}"


def opposites(statement: Statement, held: Sequence[Held]) -> Iterator[Held]:
    """The facts of the opposite taste for the same thing: who hates mushrooms does not love them any more."""
    low = statement.text.casefold()
    for here, there in ((_LIKING, _DISLIKING), (_DISLIKING, _LIKING)):
        if verb := next((verb for verb in here if low.startswith(verb)), ""):
            thing = content_words(low.removeprefix(verb))
            for fact in held:
                said = fact.text.casefold()
                other = next((verb for verb in there if said.startswith(verb)), "")
                if other and thing and thing == content_words(said.removeprefix(other)):
                    yield fact


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """A message, read once. `fixed`: its text with its own slips and corrections applied."""

    text: str
    fixed: str
    statements: tuple[Statement, ...]
    playbook: StatedPlaybook | None
    forget: str | None
    questions: tuple[str, ...]


def read_message(text: str) -> ReadMessage:
    """What a message says of its owner and of others, what it asks, and what it wants forgotten."""
    fixed = mended(spelled(text), _statements)
    reading = read(fixed)
    statements = () if reading.playbook else _statements(fixed)
    return ReadMessage(text, fixed, statements, reading.playbook, reading.forget, tuple(parted(reading.question)))


def _statements(text: str) -> tuple[Statement, ...]:
    """The facts that a text states, each once."""
    of_others = others(text)
    stated = read(text).statements
    keys = {each.key for each in stated if each.key}
    besides = (each for each in more(text) if each.key not in keys)
    own = [each for each in (*stated, *besides) if not _said_better(each, of_others)]
    own = [replace(each, key="") if _PLACED.match(each.text) else each for each in own]
    stored = [each for each in own if not _OWN_WORDS.match(each.text)]
    told = (*(stored if stored or of_others else own), *of_others)
    return tuple({each.text: each for each in reversed(told)}.values())[::-1]


def _said_better(statement: Statement, of_others: Sequence[Statement]) -> bool:
    """Whether "Has a dog called Rex" is said by "Dog is called Rex" among what is said of others."""
    text, words = statement.text.casefold(), content_words(statement.text) | _NAMING
    has = _HAS_ONE.fullmatch(statement.text)
    for other in of_others:
        said = other.text.casefold()
        if (other.key and other.key == statement.key) or said.startswith(text):
            return True
        if has and said.startswith((f"{has[1].casefold()} is", f"{has[1].casefold()}'s name")):
            return True
        if said.split()[0] in text and content_words(other.text) <= words:
            return True
    return False
