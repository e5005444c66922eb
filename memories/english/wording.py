"""Normalizes English statements for comparison and computes the digest of the normalized form.

Only the tables below drop words or equate them; every other word and number is kept in order. Unknown words keep
statements apart, because duplicates can be merged later, while a wrong merge loses a fact.
"""

from __future__ import annotations

import re
import unicodedata

from memories.english.text import STRAIGHT
from memories.english.times import MONTHS, WEEKDAYS
from memories.english.vocabulary import third_person
from memories.hygiene.text import content_hash

# Part of each digest, so that digests of different vocabularies are never equal.
_VERSION = "en-3"
# Characters; no memory is longer. Of a longer text only equal words say that it is the same.
_LONGEST = 10_000
_NUMBERS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety""".split()
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_SILENT = {*".;:!\"()[]'…,", *"a an the my dr prof is am are really very truly also actually".split()}
# Words between two bars are replaced by the first of them.
_WORDS = """
    favourite favorite|colour color|film movie|films movies|children kids|child kid|mother mum mom|father dad
    grandmother grandma|grandfather grandpa|manager boss|flat apartment|bike bicycle|bikes bicycles|car automobile
    phone telephone|company firm|begin start|close shut|like enjoy|hate detest|live reside|often frequently
    usually normally|rarely seldom|short brief|metre meter|metres meters|centre center|neighbour neighbor|grey gray
    licence license|km kilometre kilometres kilometers|kg kilogram kilograms kilos|g gram grams|minutes minute mins min
    hours hour|euros euro eur €|dollars dollar usd $|pounds pound gbp £|percent %|pm p.m|email e-mail
    holiday vacation|leave depart|job occupation profession|called named|want wish|quitted stopped quit
"""
# The phrases after a colon are replaced by the words before it.
_PHRASES = """
    hate: can not stand|not like: dislike, dislikes|want: would like
    work at: employed at, employed by, work for, works for|never: not ever, do not ever, does not ever
    : at the moment, right now, currently, these days, nowadays, is located, is situated, is based, am based, are based
    is: works as, work as, takes place, take place|quitted: gave up|from: comes from, come from|have: has got, have got
    wake: gets up, get up, wakes up, wake up|not: do not, does not|not longer: no longer
    not have: has no, have no, not have any, do not have any, does not have any|longer: any more, anymore
    allergic to: have an allergy to, has an allergy to|my: the user's, our
"""
_VERBS = """
    allow answer avoid begin bring build buy call carry close commute cook cost cycle dance depart drink drive earn eat
    end enjoy fear forbid give hate help hold keep know lead learn leave like listen live love make manage meet need
    open own paint pay plan play prefer read rent reside ride run sell share shut sing sleep smoke speak start study
    support swim take talk teach travel trust use visit walk want watch wear weigh work write have do go
"""
SYNONYMS = {word: line.split()[0] for line in _WORDS.replace("\n", "|").split("|") for word in line.split()}
_THIRD = {third_person(verb).strip(): verb for verb in _VERBS.split()}
_FORMS = (
    SYNONYMS
    | {third: f"{SYNONYMS.get(verb, verb)}s" for third, verb in _THIRD.items()}
    | {word: f"number:{number}" for number, word in zip((*range(20), *range(20, 100, 10)), _NUMBERS, strict=True)}
    | {word: f"ordinal:{number}" for number, word in enumerate(_ORDINALS, 1)}
)
_MEANT = {
    phrase.strip(): meant.strip()
    for meant, _, said in (line.partition(":") for line in _PHRASES.replace("\n", "|").split("|"))
    for phrase in said.split(",")
    if phrase.strip()
}
_SAID = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(_MEANT, key=len, reverse=True))})(?!\w)")
_WEEKDAY = rf"(?:{'|'.join(WEEKDAYS)})"
# Applied in this order to lower-case text; `None` marks the position of the phrases above.
_PATTERNS: tuple[tuple[re.Pattern[str], str | None], ...] = tuple(
    (re.compile(pattern), form)
    for pattern, form in (
        (r"(?<=\d),(?=\d{3}(?!\d))", ""),
        (r"([$€£])\s?(\d+(?:\.\d+)?)", r"\2 \1"),
        (r"\b(\d+)k\b", r"\g<1>000"),
        (r"\b(\d+(?:\.\d+)?)(km|kg|g|mg|cm|pm)\b", r"\1 \2"),
        (r"\bper (?=week|month|year|day|hour|night)", "a "),
        (r"(\d) ?a\.?m\b", r"\1 antemeridiem"),
        (r"\bcan't\b|\bcannot\b", "can not"),
        (r"n't\b", " not"),
        (r"\b(i|we|you|they)'(?:m|re)\b", r"\1 am"),
        (r"\b(i|we|you|they)'ve\b", r"\1 have"),
        (r"^(?:(?:please,?|by the way,|note that|remember that) )+", ""),
        ("", None),
        (r" years old$| now$", ""),
        (r"^(.+?) (?:is|are) my (.+)$", r"my \2 is \1"),
        (r"\b(\w+)'s name is\b", r"\1 called"),
        (r"\b(not )?(?:have|has)(?: an?)? ([\w-]+) allergy\b", r"\1allergic to \2"),
        (r"\b(prefers?) (\S+) over\b", r"\1 \2 to"),
        (rf"\b(?:on |every |each )?({_WEEKDAY})s\b|\b(?:every|each) ({_WEEKDAY}|day|week|month|year)\b", r"every:\1\2"),
        (r"\b(week|month|year)ly$", r"every:\1"),
        (r"\bdaily$", "every:day"),
        (r"\bnot (.{1,80}?) longer$", r"not longer \1"),
        (r"^ *(?:the user|user|i|we)\b", ""),
        (r"^ *(?:am|are|is) living\b", "live"),
        (rf"\bon ({_WEEKDAY}|\d)", r"\1"),
    )
)
_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" if month[3:] else month for month in MONTHS)
_DAY = r"(?:the )?(\d{1,2})(?:st|nd|rd|th)?"
_DATES = re.compile(
    rf"\b(\d{{4}})-(\d\d)-(\d\d)\b|\b(?:{_DAY} (?:of )?({_MONTH})\b\.?|({_MONTH})\.? {_DAY}\b(?!:))"
    r"(?:,? ((?:1[89]|2[012])\d\d))?"
)
_NUMBER = re.compile(r"(?P<number>\d+(?:\.\d+)?)|0?(?P<hour>\d{1,2}):(?P<minute>\d\d)|(?P<ordinal>\d+)(?:st|nd|rd|th)")
_TERM = re.compile(r"(?<![\w.])[-\u2212]\d[\d.]*|/?\w+(?:[.:/@_+&-]+\w+)*(?:'s\b)?|,|[^\s\w]")


def likeness(*parts: str) -> str:
    """Return a digest that statements share if their normalized parts are equal; "" for statements without words."""
    if any(len(unicodedata.normalize("NFKC", part)) > _LONGEST for part in parts):
        return ""
    told = [terms(part) for part in parts]
    return content_hash(_VERSION, *(" ".join(each) for each in told)) if any(told) else ""


def terms(text: str) -> tuple[str, ...]:
    """Return the normalized words of a statement. An initial verb in the third person becomes the base form."""
    said = [term for term in _TERM.findall(_prepared(text[:_LONGEST])) if term not in _SILENT]
    said[:1] = [_THIRD.get(term, term) for term in said[:1]]
    return tuple(map(_form, said))


def kind_of(word: str) -> str:
    """Return the kind of a normalized word: number, ordinal, hour, date or day; "" for other words."""
    kind, _, rest = word.partition(":")
    if kind in ("number", "ordinal", "date") and rest:
        return kind
    if word.removeprefix("every:") in WEEKDAYS:
        return "day"
    return "hour" if kind.isdigit() and rest.isdigit() else ""


def _prepared(text: str) -> str:
    # "Vitamin A" has no article.
    folded = re.sub(r"(?<=[a-z] )A\b", "letter_a", unicodedata.normalize("NFKC", text).translate(STRAIGHT)).casefold()
    folded = re.sub(r"(?<=[a-z])-(?=[a-z])", " ", " ".join(folded.split()).rstrip(".! "))
    for pattern, form in _PATTERNS:
        folded = _SAID.sub(lambda match: _MEANT[match[0]], folded) if form is None else pattern.sub(form, folded)
    return _DATES.sub(_date, folded)


def _date(match: re.Match[str]) -> str:
    year, month, day, day_first, its_month, month_first, its_day, its_year = match.groups()
    if year:
        return f"date:{int(year)}-{int(month)}-{int(day)}"
    number = next(place for place, name in enumerate(MONTHS, 1) if name.startswith((its_month or month_first)[:3]))
    return f"date:{its_year or ''}-{number}-{int(day_first or its_day)}"


def _form(term: str) -> str:
    match = _NUMBER.fullmatch(term) if term[0].isdigit() else None
    if match is None:
        return _FORMS.get(term, term)
    if match["hour"]:
        return f"number:{match['hour']}" if match["minute"] == "00" else f"{match['hour']}:{match['minute']}"
    return f"{match.lastgroup}:{match[0] if match['number'] else match['ordinal']}"
