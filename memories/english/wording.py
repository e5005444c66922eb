"""The comparable form of an English statement: its words in one form each, and the digest of that form.

Only what is listed here is left out or made equal; every other word and number stays, in its order. So an unknown word
keeps two statements apart: a duplicate can be merged later, a wrong merge has lost a fact.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from memories.english.text import STRAIGHT
from memories.english.times import MONTHS, WEEKDAYS
from memories.hygiene.text import content_hash

# Part of each digest, so that a digest of an earlier vocabulary never equals one of this.
_VERSION = "en-2"
_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen""".split()
_TENS = dict(zip("twenty thirty forty fifty sixty seventy eighty ninety".split(), range(20, 100, 10), strict=True))
NUMBERS = {word: value for value, word in enumerate(_ONES)} | _TENS
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_MONTH = rf"({'|'.join(f'{month[:3]}(?:{month[3:]})?' if month[3:] else month for month in MONTHS)})\.?"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,? ((?:1[89]|2[012])\d\d))?"
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_DAY_FIRST = re.compile(rf"\b(?:the )?{_DAY} (?:of )?{_MONTH}\b{_YEAR}")
_MONTH_FIRST = re.compile(rf"\b{_MONTH} (?:the )?{_DAY}\b(?!:){_YEAR}")
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_TIME = re.compile(r"0?(\d{1,2}):(\d\d)")
_TERM = re.compile(r"(?<![\w.])[-\u2212]\d[\d.]*|/?\w+(?:[.:/@_+&-]+\w+)*(?:'s\b)?|,|[^\s\w]")
_SILENT = frozenset(".;:!\"()[]'…,") | frozenset(
    "a an the my dr prof is am are really very truly also actually".split()
)

# In this order, on small letters and straight quotes.
_PHRASES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), form)
    for pattern, form in (
        (r"(?<=\d),(?=\d{3}(?!\d))", ""),
        (r"([$€£])\s?(\d+(?:\.\d+)?)", r"\2 \1"),
        (r"\b(\d+)k\b", r"\g<1>000"),
        (r"\b(\d+(?:\.\d+)?)(km|kg|g|mg|cm|pm)\b", r"\1 \2"),
        (r"(\d) ?a\.?m\b", r"\1 antemeridiem"),
        (r"\bcan't stand\b|\bcannot stand\b", "hate"),
        (r"\bcan't\b|\bcannot\b", "can not"),
        (r"n't\b", " not"),
        (r"\bi'm\b", "i am"),
        (r"\b(we|you|they)'re\b", r"\1 are"),
        (r"\b(i|we|you|they)'ve\b", r"\1 have"),
        (r"^(?:please,? |by the way,? |please note that |note that |remember that )+", ""),
        (r"\b(\w+)'s name is\b", r"\1 called"),
        (r"\b(?:is|am|are) (?:called|named)\b|\bnamed\b", "called"),
        (r"\bat the moment\b|\bright now\b|\bcurrently\b|\bpresently\b|\bthese days\b|\bnowadays\b| now$", ""),
        (r"^(.+?) (?:is|are) (?:my|the user's|our) (.+)$", r"my \2 is \1"),
        (r"\b(?:the user's|our)\b", "my"),
        (r"\b(?:have|has) got\b", "have"),
        (r"\b(?:have|has) no ([\w-]+) allergy\b", r"not allergic to \1"),
        (r"\b(?:have|has) no\b", "not have"),
        (r"\bnot have any\b|\b(?:do|does) not have any\b", "not have"),
        (r"\b(?:do|does) not\b", "not"),
        (r"\bno longer\b", "not longer"),
        (r"\bany ?more\b|\bany longer$", "longer"),
        (r"\bnot ever\b", "never"),
        (r"\bdislikes?\b", "not like"),
        (r"\bwould like\b", "want"),
        (r"\b(want|like|love|hate|prefer)(s?) to\b", r"\1\2"),
        (r"\bprefer(s?) (\S+) over\b", r"prefer\1 \2 to"),
        (r"\b(?:is|am|are) (?:located|situated|based)\b", "is"),
        (r"\b(?:is |am |are )?employed (?:at|by)\b|\bworks? for\b", "work at"),
        (r"\bworks? as\b", "is"),
        (r"\btakes? place\b", "is"),
        (r"\b(?:have|has) an allergy to\b", "allergic to"),
        (r"\b(?:have|has) an? ([\w-]+) allergy\b", r"allergic to \1"),
        (r"\bgave up\b|\bstopped\b|\bquit\b", "quitted"),
        (r"\bcomes? from\b", "from"),
        (r"\b(?:get|wake)(s?) up\b", "wake"),
        (r"\bper (minute|hour|day|week|month|year|person)\b", r"a \1"),
        (r"\b(?:each|every) (day|week|month|year)\b", r"every:\1"),
        (r"\b(?:on |every |each )?((?:mon|tues|wednes|thurs|fri|satur|sun)day)s\b", r"every:\1"),
        (r"\b(?:every|each) ((?:mon|tues|wednes|thurs|fri|satur|sun)day)\b", r"every:\1"),
        (r"\b(dai|week|month|year)ly$", r"every:\1"),
        (r"\bevery:dai\b", "every:day"),
        (r"\byears old$", ""),
        (r"\bnot (.+?) longer$", r"not longer \1"),
        (r"^ *(?:the user|user|i|we)\b", ""),
        (r"^ *(?:am|are|is) living\b", "live"),
        (r"\bon ((?:mon|tues|wednes|thurs|fri|satur|sun)day|\d)", r"\1"),
    )
)
# Words of one line count as the first of it.
_GROUPS = """
    favourite favorite|colour color|film movie|films movies|children kids|child kid|mother mum mom|father dad
    grandmother grandma|grandfather grandpa|manager boss|flat apartment|bike bicycle|bikes bicycles|car automobile
    phone telephone|company firm|begin start|close shut|leave depart|like enjoy|hate detest|live reside|use utilise
    often frequently|usually normally|rarely seldom|short brief|learn study|maths math|metre meter|metres meters
    centre center|neighbour neighbor|grey gray|licence license|km kilometre kilometres kilometers|kg kilogram kilograms
    kilos|g gram grams|minutes minute mins min|hours hour|euros euro eur €|dollars dollar usd $|pounds pound gbp £
    percent %|pm p.m|email e-mail|holiday vacation|job occupation profession|big large|beside next-to|want wish
"""
SYNONYMS = {word: line.split()[0] for line in _GROUPS.replace("\n", "|").split("|") for word in line.split()}
_VERBS = """
    allow answer avoid begin bake borrow bring build buy call carry climb close collect commute cook cost cycle dance
    depart drink drive earn eat end enjoy expire fear forbid give hate help hold keep know lead learn leave like listen
    live love make manage meet need open own paint pay plan play prefer read rent reside ride run sail sell share shut
    sing sleep smoke speak start stay study support swim take talk teach travel trust use visit wait walk want watch
    wear weigh work write
"""


def _third(verb: str) -> str:
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2] not in "aeiou" else f"{verb}s"


THIRD = {_third(verb): verb for verb in _VERBS.split()} | {"has": "have", "does": "do", "goes": "go"}


def likeness(*parts: str) -> str:
    """A digest that two statements share if and only if they say the same; each part has to agree."""
    told = [terms(part) for part in parts]
    if not any(told):
        return ""
    return content_hash(_VERSION, *(" ".join(each) for each in told))


@lru_cache(maxsize=4096)
def terms(text: str) -> tuple[str, ...]:
    """The words of a statement in one form each. A first verb in the third person reads as said by oneself."""
    found = _TERM.findall(_prepared(text))
    said = [term for term in found if term not in _SILENT]
    said[:1] = [THIRD.get(term, term) for term in said[:1]]
    return tuple(_joined_numbers([_form(term) for term in said]))


def _prepared(text: str) -> str:
    # "Vitamin A" has no article.
    folded = re.sub(r"(?<=[a-z] )A\b", "letter_a", unicodedata.normalize("NFKC", text).translate(STRAIGHT)).casefold()
    folded = re.sub(r"(?<=[a-z])-(?=[a-z])", " ", " ".join(folded.split()).rstrip(".! "))
    folded = _ISO.sub(lambda match: f"date:{int(match[1])}-{int(match[2])}-{int(match[3])}", folded)
    for pattern, form in _PHRASES:
        folded = pattern.sub(form, folded)
    folded = _DAY_FIRST.sub(lambda match: _date(match[1], match[2], match[3]), folded)
    return _MONTH_FIRST.sub(lambda match: _date(match[2], match[1], match[3]), folded)


def _date(day: str, month: str, year: str | None) -> str:
    number = next(place for place, name in enumerate(MONTHS, start=1) if name.startswith(month[:3]))
    return f"date:{year or ''}-{number}-{int(day)}"


def _form(term: str) -> str:
    """The one form of a word, a number, a clock time or an ordinal."""
    if _DIGITS.fullmatch(term):
        return f"number:{term}"
    if clock := _TIME.fullmatch(term):
        return f"number:{clock[1]}" if clock[2] == "00" else f"{clock[1]}:{clock[2]}"
    if ordinal := re.fullmatch(r"(\d+)(?:st|nd|rd|th)", term):
        return f"ordinal:{ordinal[1]}"
    if term in _ORDINALS:
        return f"ordinal:{_ORDINALS.index(term) + 1}"
    if term in THIRD:
        return f"{SYNONYMS.get(THIRD[term], THIRD[term])}s"
    return SYNONYMS.get(term, term)


def _joined_numbers(words: list[str]) -> list[str]:
    """Numbers in words as numbers: "twenty five" is one, "nineteen eighty" are two."""
    joined: list[str] = []
    tens = False
    for word in words:
        value = NUMBERS.get(word)
        if value is None:
            joined.append(word)
        elif tens and 0 < value < 10:  # noqa: PLR2004 - the ones
            joined[-1] = f"number:{int(joined[-1].removeprefix('number:')) + value}"
        else:
            joined.append(f"number:{value}")
        tens = word in _TENS
    return joined


def kind_of(word: str) -> str:
    """The sort of value that a word is: number, ordinal, hour, date or day; empty for other words."""
    kind, _, rest = word.partition(":")
    if kind in ("number", "ordinal", "date") and rest:
        return kind
    if word.removeprefix("every:") in WEEKDAYS:
        return "day"
    return "hour" if re.fullmatch(r"\d{1,2}:\d\d", word) else ""
