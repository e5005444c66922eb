"""A statement as a sequence of words that can be compared: numbers, dates, units and synonyms in one form each.

Invariant: only what is listed here or in `synonyms` is left out or made equal; every other word, sign and number stays.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from memories.hygiene.synonyms import GOING, LASTING, PARTICIPLES, PHRASES, SYNONYMS, THIRD
from memoryhub.regexes import lazy_regex

_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "“": '"', "”": '"', "\u00a0": " "})
_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen""".split()
_TENS = dict(zip("twenty thirty forty fifty sixty seventy eighty ninety".split(), range(20, 100, 10), strict=True))
NUMBERS = {word: value for value, word in enumerate(_ONES)} | _TENS
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
# In words; what goes on for longer is no number.
_LONGEST_NUMBER = 12
ORDINALS = {
    word: place
    for place, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), start=1
    )
}
MONTHS = "january february march april may june july august september october november december".split()
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,? ((?:1[89]|2[012])\d\d))?"
_DAY_FIRST = lazy_regex(rf"\b(?:the )?{_DAY} (?:of )?{_MONTH}\b{_YEAR}")
_MONTH_FIRST = lazy_regex(rf"\b{_MONTH} (?:the )?{_DAY}\b(?!:){_YEAR}")
_ISO = lazy_regex(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_CLOCK = lazy_regex(rf"\b(quarter|half) (past|to) ({'|'.join(NUMBERS)}|\d{{1,2}})\b")
_GROUPED = lazy_regex(r"(?<=\d),(?=\d{3}(?!\d))")
_MONEY = lazy_regex(r"([$€£])\s?(\d+(?:\.\d+)?)")
_CURRENCY = {"$": "dollars", "€": "euros", "£": "pounds"}
_THOUSANDS = lazy_regex(r"\b(\d+)k\b")
_GLUED = lazy_regex(r"\b(\d+(?:\.\d+)?)(km|kg|g|mg|cm|pm)\b")
_QUARTER = {"q1": "first", "q2": "second", "q3": "third", "q4": "fourth"}
_YEAR_QUARTER = lazy_regex(r"\bq[1-4]\b")
_A_DIGIT = lazy_regex(r"\d")
_TERM = lazy_regex(r"(?<![\w.])[-\u2212]\d[\d.]*|/?\w+(?:[.:/@_+&-]+\w+)*(?:'s\b)?|,|[^\s\w]")
_TIME = lazy_regex(r"0?(\d{1,2}):(\d\d)")
_ORDINAL = lazy_regex(r"(\d+)(?:st|nd|rd|th)")
_DIGITS = lazy_regex(r"\d+(?:\.\d+)?")
# "Vitamin A": no article.
_LETTER_A = lazy_regex(r"(?<=[a-z] )A\b")
_SILENT = frozenset(".;:!\"()[]'…")
# A dash between words; one that hangs on a word or a number ("A-", "-5") says something.
_DASH = lazy_regex(r"(?<=\s)[-–—]+(?=\s)|(?<=\w)[–—](?=[^\W\d])")
_FRACTION = lazy_regex(r"(?<![\w.])\.(?=\d)")
_BEFORE_NOON = lazy_regex(rf"(\d|\b(?:{'|'.join(_ONES)})) ?a\.?m\b")

WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
TIMES = (
    WEEKDAYS
    | frozenset(MONTHS)
    | frozenset(
        """
        today tomorrow yesterday tonight morning mornings noon afternoon afternoons evening evenings night nights
        midnight dawn dusk lunch breakfast dinner day days week weeks weekend weekends weekday weekdays month months
        year years decade spring summer autumn winter fall antemeridiem pm ago since until last next daily weekly
        monthly yearly hours minutes seconds quarter early late later earlier before after soon already easter christmas
        """.split()
    )
)
_EVERY = {"daily": "day", "weekly": "week", "monthly": "month", "yearly": "year", "annually": "year"}
PREPOSITIONS = frozenset(
    "in on at to from of for with by into onto under over above below behind beside near against about as when while "
    "if because since until before after without between through during".split()
)
_COPULAS = frozenset("is am are".split())
_ARTICLES = frozenset("a an the my".split())
_PASTS = frozenset(("was", "were"))
_FILLERS = frozenset("really very truly also actually definitely".split())
_OWNERS = frozenset("self we".split())
_ADVERBS = frozenset("often usually always sometimes rarely never longer still".split())
_TITLES = frozenset("dr prof".split())
_UNSAID = _SILENT | _ARTICLES | _TITLES | {","}


@dataclass(frozen=True, slots=True)
class Wording:
    """Words in order; `before` says of each which words without a say of their own stand there: "is", "a", "the".

    `agent`: the place of the doer in a passive.
    """

    words: tuple[str, ...]
    before: tuple[frozenset[str], ...]
    agent: int | None


def wording(text: str) -> Wording:
    """The comparable form of a statement."""
    terms = _TERM.findall(_prepared(text))
    words: list[str] = []
    before: list[frozenset[str]] = []
    unsaid: set[str] = set()
    agent: int | None = None
    copula = ""
    for place, term in enumerate(terms):
        if term in _PASTS:
            words.append("was")
            before.append(frozenset(unsaid))
        if term in _COPULAS or term in _PASTS:
            copula = term
            unsaid.add(term)
        elif term in _UNSAID or _is_filler(terms, place):
            unsaid.add(term)
        elif term == "by" and copula and words and not unsaid and agent is None:
            agent = _turn_passive(words, before, copula)
            unsaid.add(term)
        else:
            after_copula = place > 0 and terms[place - 1] == copula
            word = _form(term, after_self=_after_self(words), after_copula=after_copula)
            _append(words, before, word, unsaid)
            unsaid.clear()
    if agent is not None and copula in _COPULAS and words[agent : agent + 1] != ["self"]:
        words[agent - 1] = f"{words[agent - 1]}:third"
    words, before = _joined_numbers(words, before)
    return Wording(tuple(words), tuple(before), agent)


def _append(words: list[str], before: list[frozenset[str]], word: str, unsaid: set[str]) -> None:
    """Add a word; "every Monday" becomes one, and "on Monday" only the day."""
    if words and words[-1] == "on" and (word in WEEKDAYS or word.startswith(("date:", "every:"))):
        words[-1] = word
    elif words and words[-1] == "every" and word in TIMES:
        words[-1] = f"every:{word}"
    else:
        words.append(word)
        before.append(frozenset(unsaid))


def _after_self(words: list[str]) -> bool:
    """Whether the next word is what "I" or "the user" does: there, and only there, -s is the ending of a verb."""
    return bool(words) and (words[-1] in _OWNERS or (words[-2:-1] == ["self"] and words[-1] in _ADVERBS))


def _is_filler(terms: list[str], place: int) -> bool:
    return terms[place] in _FILLERS and (place == 0 or terms[place - 1] != "not")


def _turn_passive(words: list[str], before: list[frozenset[str]], copula: str) -> int:
    """Take the passive's marks away, so that its verb reads as the active one's; return where the doer will stand."""
    if copula in _PASTS and "was" in words:
        place = len(words) - 1 - words[::-1].index("was")
        del words[place], before[place]
    else:
        base = PARTICIPLES.get(words[-1], words[-1])
        words[-1] = SYNONYMS.get(base, base)
    return len(words)


def _prepared(text: str) -> str:
    folded = _LETTER_A.sub("letter_a", unicodedata.normalize("NFKC", text).translate(_QUOTES)).casefold()
    folded = " ".join(folded.split()).rstrip(".! ")
    folded = re.sub(r"(?<=[a-z])-(?=[a-z])", " ", folded)
    for pattern, form in PHRASES:
        folded = pattern.sub(form, folded)
    folded = _BEFORE_NOON.sub(r"\1 antemeridiem", _DASH.sub(" ", folded))
    folded = _CLOCK.sub(_clock, folded)
    return _with_digits(folded) if _A_DIGIT.search(folded) else folded


def _with_digits(folded: str) -> str:
    """The text with amounts and dates in one form each."""
    folded = _GROUPED.sub("", _FRACTION.sub("0.", folded))
    folded = _MONEY.sub(lambda match: f"{match[2]} {_CURRENCY[match[1]]}", folded)
    folded = _THOUSANDS.sub(r"\g<1>000", folded)
    folded = _GLUED.sub(r"\1 \2", folded)
    folded = _YEAR_QUARTER.sub(lambda match: f"{_QUARTER[match[0]]} quarter", folded)
    folded = _ISO.sub(lambda match: f"date:{int(match[1])}-{int(match[2])}-{int(match[3])}", folded)
    folded = _DAY_FIRST.sub(lambda match: _date(match[1], match[2], match[3]), folded)
    return _MONTH_FIRST.sub(lambda match: _date(match[2], match[1], match[3]), folded)


def _date(day: str, month: str, year: str | None) -> str:
    number = next(place for place, name in enumerate(MONTHS, start=1) if name.startswith(month[:3]))
    return f"date:{year or ''}-{number}-{int(day)}"


def _clock(match: re.Match[str]) -> str:
    hour = NUMBERS[match[3]] if match[3] in NUMBERS else int(match[3])
    minutes = 30 if match[1] == "half" else 15
    return f"{hour}:{minutes}" if match[2] == "past" else f"{hour - 1}:{60 - minutes}"


def _form(term: str, *, after_self: bool, after_copula: bool) -> str:
    """The one form of a word."""
    if counted := _counted(term):
        return counted
    if term in _EVERY:
        return f"every:{_EVERY[term]}"
    if term.endswith("s") and term[:-1] in WEEKDAYS:
        return f"every:{term[:-1]}"
    if term in THIRD:
        base = SYNONYMS.get(THIRD[term], THIRD[term])
        return base if after_self else f"{base}:third"
    if term in GOING and (not after_copula or GOING[term] in LASTING):
        return SYNONYMS.get(GOING[term], GOING[term])
    return SYNONYMS.get(term, term)


def _counted(term: str) -> str:
    """A number, a clock time or an ordinal in its one form; empty for other words."""
    if _DIGITS.fullmatch(term):
        return f"number:{term}"
    if clock := _TIME.fullmatch(term):
        return _number(int(clock[1])) if clock[2] == "00" else f"{clock[1]}:{clock[2]}"
    if ordinal := _ORDINAL.fullmatch(term):
        return f"ordinal:{ordinal[1]}"
    return f"ordinal:{ORDINALS[term]}" if term in ORDINALS else ""


def _number(value: int) -> str:
    return f"number:{value}"


def _joined_numbers(words: list[str], before: list[frozenset[str]]) -> tuple[list[str], list[frozenset[str]]]:
    """Numbers in words as numbers: "twenty five thousand" is one."""
    joined: list[str] = []
    standing: list[frozenset[str]] = []
    run: list[str] = []
    nothing: frozenset[str] = frozenset()
    for word, unsaid in [*zip(words, before, strict=True), ("", nothing)]:
        if word in NUMBERS or (run and word in _SCALES):
            if not run:
                standing.append(unsaid)
            run.append(word)
            continue
        if run:
            joined += _values(run)
            standing += [nothing] * (len(joined) - len(standing))
            run = []
        if word:
            joined.append(word)
            standing.append(unsaid)
    return joined, standing


def _values(run: list[str]) -> list[str]:
    """The number that a run of number words says, or each of them if they are no one number ("nineteen eighty")."""
    if len(run) > _LONGEST_NUMBER:
        return run
    total = part = 0
    previous = ""
    for word in run:
        if word in _SCALES:
            scale = _SCALES[word]
            part, total = (part * scale, total) if scale == _SCALES["hundred"] else (0, total + part * scale)
        elif previous in NUMBERS and not (previous in _TENS and 0 < NUMBERS[word] <= 9):  # noqa: PLR2004
            return [_number(NUMBERS[each]) if each in NUMBERS else each for each in run]
        else:
            part += NUMBERS[word]
        previous = word
    return [_number(total + part)]
