"""The judge of the English rules: whether a newer fact says the same as an older one, updates or contradicts it.

Precision comes first. A contradiction needs the same words with a negation or an opposite, or the same attribute of the
same thing with another value. Whatever is limited, past, planned, supposed or somebody else's opinion is left alone.
"""

# ruff: noqa: E501  # a pattern that is broken into pieces is harder to read than a long line

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from memories.consolidation.rules import NEITHER, Cues, JudgedFact, Judgement, Verdict
from memories.english.known import keys_of, slot_of, value_words
from memories.english.text import compiled, phrases, plain, stem, word_set
from memories.english.vocabulary import DATE, PROFESSIONS, doubtful
from memories.english.wording import SYNONYMS, kind_of, likeness, terms

# A longer text (characters) tells a story.
_LONGEST_JUDGED = 300
_LONGEST_VALUE = 5
SAME = Judgement(Verdict.SAME, "says the same in other words")

# People have several of these, so "brother is Max" and "brother is Paul" may be two brothers.
_SEVERAL_PEOPLE = word_set(
    """
    friend brother sister sibling child kid children son daughter cousin aunt uncle nephew niece colleague classmate
    flatmate neighbour student client customer teacher supplier contact partner member somebody someone people
    """
)
_SEVERAL = _SEVERAL_PEOPLE | word_set(
    """
    hobby interest language skill goal allergy medicine tablet subject instrument sport game book song film place site
    tool app project task habit dish recipe snack pet room meeting appointment call exam lesson trip
    """
)
# Attributes of which a thing has one value, whatever the value looks like.
_SINGLE = word_set(
    """
    email surname nickname username diet religion nationality hometown employer company job bank size type number day
    age height weight birthday deadline anniversary rent
    """
)
_OPPOSITES = {
    frozenset(pair.split()): word_set(beside)
    for pair, _, beside in (
        each.partition(":")
        for each in (
            "always never",
            "on off",
            "open closed",
            "introvert extrovert",
            "left right:handed",
            "early late:riser",
            "dark light:mode",
            "window aisle:seats seat",
            "single married",
            "divorced married",
        )
    )
}
_OPPOSED = frozenset(word for pair in _OPPOSITES for word in pair)
_MEAT = word_set("meat beef chicken pork lamb bacon ham steak")
_FISH = word_set("fish salmon tuna sushi")
_ALCOHOL = word_set("alcohol wine beer whisky gin")
# A state, and the verb and objects that it rules out.
_RULED_OUT: tuple[tuple[tuple[str, ...], str, frozenset[str]], ...] = (
    (("vegetarian",), "eat", _MEAT | _FISH),
    (("vegan",), "eat", _MEAT | _FISH | word_set("cheese eggs butter")),
    (("vegan",), "drink", frozenset(("milk",))),
    (("teetotal",), "drink", _ALCOHOL),
)
# Verbs with forms that share no beginning, and little to look for.
_FORMS = word_set("have like do go be with from")
_GOES_ON = frozenset("and or with again every:day every:week".split())
_NO = frozenset(("not", "no", "never"))
_COUNTED = frozenset("have own weigh cost earn pay".split())
_OVER = frozenset(("quitted", "longer"))
_LEADING = frozenset("now still just already do will self user have".split())


_PAST = compiled(
    r"\b(?:"
    + phrases(
        """
        used to, formerly, former, previous, previously, ex, once, was, were, had, until, till, went, ran, ago, back in,
        back then, as a child, as a kid, as a student, in the past, originally, at first, at the time, for a while,
        this week, this month, today, tonight, tomorrow, yesterday, last, next, so far, temporarily, for now, died
        """
    )
    + r")\b|\b(?:in|from|between|before)\s+(?:19|20)\d\d\b|^old\b|^\w+ed\b(?<!based)(?<!married)(?<!engaged)(?<!divorced)(?<!moved)(?<!closed)"
)
_BORN = compiled(r"^(?:was |is |am |i was |i am )?born\b")
_UNSURE = compiled(
    r"\b(?:"
    + phrases(
        """
        will, likely, possibly, hopefully, apparently, seems, seem, considers, believes, believe, say, said, asks,
        claims, reckons, whether, supposedly, imagines, interview, applied, applies, offer, unsure, doubts, wonders,
        guesses, expects
        """
    )
    + r")\b|\?|\bmay\b(?!\s+\d)(?<!\d\smay)"
)
_WISH = compiled(
    r"\b(?:wants?|hopes?|plans?|intends?|wish(?:es)?|aims?|tries|try|trying|looking for|saving for|goal)\b"
)
_BESIDE = compiled(
    r"\b(?:also|too|as well|another|second|other|others|both|either|sometimes|occasionally|partly|half|one of|part-time|besides|mostly|mainly|including|among)\b"
)
_LIMITED = compiled(
    r"\b(?:on|in|at|over)\s+(?:the\s+)?(?:weekdays?|weekends?|mornings?|evenings?|afternoons?|nights?|summers?|winters?|holidays?|home|work|school|breakfast|lunch|dinner|restaurants?|trains?|planes?)\b"
    r"|\b(?:when|while|during|if|until|between|within|for|by day|by night|except|unless|especially|without|on the|at the)\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
)
_CHANGED = compiled(
    r"\b(?:"
    + phrases(
        "now, no longer, any more, anymore, these days, nowadays, currently, again, instead, recently, moved, relocated, "
        "switched, changed, became, sold, stopped, quit, gave up, given up, started, joined, retired"
    )
    + r")\b"
)
_WHO = r"^(?:(?:i|we|the user|user)\s+)?(?:(?:am|are|is|'m|has|have)\s+)?(?:(?:now|currently|just|recently|still)\s+)*"
_MY = r"^(?:(?:my|our|the user's|the)\s+)?"
_IS = r"\s+(?:is|are)\s+(?:now\s+)?"
_NAME = r"(?-i:[A-Z])[^,;]*"
# (attribute, pattern): the first that matches is meant. Values with a capital letter are names.
_ATTRIBUTES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, compiled(pattern + r"(?:\s+(?:now|again|these days|nowadays|instead))?$"))
    for name, pattern in (
        ("address", rf"{_WHO}lives? at (?P<value>\d.+?)"),
        ("home", rf"{_WHO}(?:lives?|living|resides?|based) in (?P<value>{_NAME}?)"),
        ("home", rf"{_WHO}(?:moved|relocated) to (?P<value>{_NAME}?)"),
        ("home", rf"{_MY}home (?:city|town){_IS}(?P<value>{_NAME}?)"),
        ("birthplace", rf"{_WHO}(?:was )?born in (?P<value>{_NAME}?)"),
        ("birthday", rf"{_WHO}(?:was )?born (?:on|in) (?P<value>.*\d.*?)"),
        ("employer", rf"{_WHO}(?:(?:works?|working) (?:at|for)|started (?:working|work) (?:at|for)) (?P<value>{_NAME}?)"),
        ("occupation", rf"{_WHO}(?:works?|working) as (?:an?|the) (?P<value>.+?)"),
        ("name", rf"{_MY}(?:full )?name is (?P<value>{_NAME}?)"),
        ("preferred name", rf"{_WHO}(?:prefers? to be called|goes by) (?P<value>{_NAME}?)"),
        ("spouse", rf"{_WHO}married to (?P<value>{_NAME}?)"),
        ("age", rf"{_WHO}(?P<value>\d+) years? old"),
        ("height", rf"{_WHO}(?P<value>[\d.]+ ?cm) tall"),
        ("weight", rf"{_WHO}weighs? (?P<value>[\d.]+ ?kg)"),
    )
)  # fmt: skip
_CALLED = compiled(rf"{_MY}(?P<thing>[\w' -]+?)(?:'s name is|{_IS}(?:called|named))\s+(?P<value>{_NAME}?)$")
_IS_VALUE = compiled(rf"{_MY}(?P<thing>[\w' -]+?){_IS}(?:(?:on|at)\s+)?(?P<value>.+?)(?:\s+(?:now|these days))?$")
_EVENT = compiled(
    rf"{_MY}(?P<thing>[\w' -]+?)\s+(?:leaves|starts|meets|begins|ends|closes|opens|has moved to)\s+(?:on\s+|at\s+)?(?P<value>.+?)$"
)
# Where a country can hold the town, and a job can stand beside another one.
_REGIONS = word_set(
    """
    england scotland wales ireland britain uk germany france spain portugal italy austria switzerland netherlands
    belgium denmark norway sweden finland poland greece turkey europe asia africa america usa us canada australia india
    china japan brazil mexico california texas york country
    """
)
_SIDE_WORK = word_set("artist author coach musician photographer singer student trainer translator writer freelancer")


@dataclass(frozen=True, slots=True)
class Claim:
    """A fact as the judge reads it. `words` are in one form and without negations; `value` is that of `attribute`."""

    text: str
    words: tuple[str, ...]
    denied: bool
    over: bool
    attribute: str = ""
    value: str = ""

    @property
    def changed(self) -> bool:
        """Whether it says itself that it is news."""
        return self.over or bool(_CHANGED.search(self.text))

    @property
    def elsewhen(self) -> bool:
        """Whether it tells of what was, or does not assert."""
        past = _PAST.search(self.text) and not _BORN.match(self.text)
        unsure = _UNSURE.search(self.text) or doubtful(_WISH.sub("", self.text.replace("going to", "")))
        return bool(past or unsure)


def judge(older: JudgedFact, newer: JudgedFact) -> Judgement:
    """What `newer` does to `older`, as far as plain rules can tell."""
    one, other = _read(older.text), _read(newer.text)
    if one is None or other is None or _at_other_times(older, newer):
        return NEITHER
    keyed = bool(older.key and newer.key) and older.key != newer.key
    alike = "" if keyed else likeness(newer.text)
    if alike and alike == likeness(older.text):
        return SAME
    if one.elsewhen or other.elsewhen:
        return NEITHER
    if _denies(one, other):
        reason = "one denies the other"
    elif _WISH.search(one.text) or _WISH.search(other.text):
        return NEITHER
    elif not one.denied and not other.denied and (_opposed(one, other) or _rules_out(one, other)):
        reason = "they say the opposite"
    elif not _BESIDE.search(newer.text) and _another_value(older, newer, one, other):
        reason = "only one of the two values can hold"
    else:
        return NEITHER
    update = other.changed or (keyed and reason.startswith("only"))
    return Judgement(Verdict.UPDATE if update else Verdict.CONTRADICTION, reason)


def topics(fact: JudgedFact) -> frozenset[str]:
    """The topics of a fact; see `Rules.topics`."""
    claim = _read(fact.text)
    if claim is None:
        return frozenset()
    said = sorted(_base(tuple(word for word in claim.words if word not in _OPPOSED and not kind_of(word))))
    found = {f"said {' '.join(said)}", f"alike {likeness(fact.text)}"}
    found |= {f"about {claim.attribute}"} if claim.attribute else set()
    found |= {f"slot {slot_of('', fact.key)}"} if fact.key else set()
    found |= {"allergy"} & {word.replace("allergic", "allergy") for word in claim.words}
    for number, (state, verb, objects) in enumerate(_RULED_OUT):
        if claim.words == state or (claim.words[:1] == (verb,) and objects & set(claim.words)):
            found.add(f"state {number}")
    return frozenset(found)


def cues(fact: JudgedFact) -> Cues:
    """How to find what `fact` may contradict; see `Rules.cues`."""
    claim = _read(fact.text)
    keys = tuple(sorted(keys_of(slot_of("", fact.key)))) if fact.key else ()
    if claim is None:
        return Cues((), keys)
    wanted = {*_TOLD_BY.get(claim.attribute, ()), *claim.attribute.split()[-1:]}
    for state, verb, objects in _RULED_OUT:
        if claim.words == state:
            wanted |= {verb} | objects
        elif claim.words[:1] == (verb,) and objects & set(claim.words):
            wanted |= set(state)
    if not claim.attribute:
        telling = [word for word in claim.words if word.isalpha() and word not in _OPPOSED]
        wanted |= {word for pair in _OPPOSITES if pair & set(claim.words) for word in pair}
        wanted |= set(sorted(telling, key=lambda word: (word in _FORMS, -len(word), word))[:1])
    wanted |= {word for word, base in SYNONYMS.items() if base in wanted}
    return Cues(tuple(sorted({stem(_base((word,))[0]) for word in wanted})), keys)


def denies(text: str) -> bool:
    """Whether a text says that something is not so, or not any more."""
    return not (_NO | _OVER).isdisjoint(terms(text))


_TOLD_BY = {
    "home": ("live", "based", "moved", "home"),
    "address": ("live", "address"),
    "birthplace": ("born",),
    "birthday": ("born", "birth"),
    "employer": ("work", "employ", "company"),
    "occupation": ("work", "job", "occupation", "profession"),
    "spouse": ("married",),
    "age": ("years old",),
    "preferred name": ("called", "goes"),
    "height": ("tall", "height"),
    "weight": ("weigh",),
}


@lru_cache(maxsize=4096)
def _read(text: str) -> Claim | None:
    """The claim that a fact makes; None if there is nothing to judge."""
    told = " ".join(plain(text).split()).rstrip(".!")
    if not told or len(told) > _LONGEST_JUDGED:
        return None
    words = list(terms(told))
    while len(words) > 1 and words[0] in _LEADING and not (words[0] == "have" and words[1] != "quitted"):
        words = words[1:]
    over = bool(_OVER & set(words))
    denied = sum(word in _NO for word in words) % 2 == 1 or "quitted" in words
    words = [_singular(word) for word in words if word not in _NO | _OVER and word != "now"]
    if (denied and "always" in words and "never" not in told.casefold()) or words[:1] == ["will"]:
        return None
    for place, word in enumerate(words[:3]):
        if word in ("love", "enjoy", "like") and (not denied or word != "love"):
            words[place] = "like"
        elif word == "hate" and not denied:
            words[place], denied = "like", True
    if not words or _SEVERAL_FIRST.match(told):
        return None
    attribute, value = _attribute(told) if not denied else ("", "")
    return Claim(told, tuple(words), denied, over, attribute, value)


def _singular(word: str) -> str:
    """A word without the ending of its plural or of its third person, roughly."""
    if ":" in word or len(word) < 4 or word.endswith(("ss", "us", "is")) or word in ("always", "news", "series"):  # noqa: PLR2004 - "gas"
        return {"has": "have", "does": "do"}.get(word, word)
    if word in ("children", "kids"):
        return "child"
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("ches", "shes", "xes", "sses")) else word.removesuffix("s")


def _attribute(told: str) -> tuple[str, str]:
    """The attribute that a fact tells, and its value; empty if it tells none of which there is one value at a time."""
    if _BESIDE.search(told):
        return "", ""
    for name, pattern in _ATTRIBUTES:
        if (match := pattern.match(told)) and _plain_value(match["value"]):
            return name, match["value"]
    for pattern in (_CALLED, _IS_VALUE, _EVENT):
        match = pattern.match(told)
        if match is None:
            continue
        thing = [_singular(word) for word in terms(match["thing"])]
        value = match["value"].strip()
        if not thing or thing[0] in _NOT_THINGS or (thing[-1] in _SEVERAL and len(thing) == 1):
            return "", ""
        favourite = thing[0] in ("favourite", "native") and len(thing) > 1
        if favourite or thing[-1] in _SINGLE:
            return (" ".join(thing), value) if _plain_value(value, dated=True) else ("", "")
        if pattern is _CALLED and thing[-1] not in _SEVERAL:
            return " ".join(thing), value
        if thing[-1] in _SEVERAL and not (thing[-1] == "meeting" and len(thing) > 1):
            return "", ""
        # "Book club is on Mondays", "train leaves at 8:05", "manager is Ms Brandt".
        titled = re.match(r"(?:Mr|Mrs|Ms|Dr)\.? [A-Z]", value)
        return (" ".join(thing), value) if titled or _is_time(value) else ("", "")
    return "", ""


_SEVERAL_FIRST = compiled(rf"(?:my |our |an? |the )?(?:{'|'.join(sorted(_SEVERAL_PEOPLE))})s?(?!'s)\b(?! of)")
_NOT_THINGS = word_set("he she it they this that there what who i we you everybody nobody one old ex former")


def _plain_value(value: str, *, dated: bool = False) -> bool:
    """Whether a value is short and holds without a condition."""
    return 0 < len(value.split()) <= _LONGEST_VALUE and (
        not _LIMITED.search(value) or (dated and bool(DATE.search(value)))
    )


def _is_time(value: str) -> bool:
    """Whether a value is a day, a date or an hour and nothing else."""
    kinds = _shape(value)
    return kinds in (("day",), ("hour",), ("date",), ("number", "half"))


def _shape(value: str) -> tuple[str, ...]:
    """The kinds of a value's words; two values of one attribute are compared only if they have one shape."""
    halves = {"pm": "half", "antemeridiem": "half"}
    return tuple(
        halves.get(word) or ("year" if word.startswith(("date:1", "date:2")) else kind_of(word))
        for word in terms(value)
    )


def _denies(one: Claim, other: Claim) -> bool:
    """Whether one says that what the other says is not so."""
    if one.denied is other.denied:
        return False
    no, yes = (one, other) if one.denied else (other, one)
    if no.words == ("have", "allergy") and yes.words[:2] == ("allergic", "to"):
        return True
    return _base(no.words) == _base(tuple(word for word in yes.words if word != "always"))


def _base(words: tuple[str, ...]) -> tuple[str, ...]:
    """Words with the first as a bare verb: "stopped smoking" and "smokes"."""
    return (re.sub(r"(?:ing|e)$", "", words[0]), *words[1:]) if words else ()


def _opposed(one: Claim, other: Claim) -> bool:
    """Whether one word, or the order of a preference, makes them opposites."""
    if one.words[:1] == other.words[:1] == ("prefer",) and "to" in one.words and "to" in other.words:
        (first, second), (third, fourth) = _around(one.words), _around(other.words)
        return bool(first) and (first, second) == (fourth, third) and first != second
    if len(one.words) != len(other.words):
        return False
    differing = [pair for pair in zip(one.words, other.words, strict=True) if pair[0] != pair[1]]
    if len(differing) != 1:
        return False
    beside = _OPPOSITES.get(frozenset(differing[0]))
    return beside is not None and (not beside or bool(beside & {*one.words, *(f"{word}s" for word in one.words)}))


def _around(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    place = words.index("to")
    return words[1:place], words[place + 1 :]


def _rules_out(one: Claim, other: Claim) -> bool:
    """Whether a state rules out what the other does: vegetarian, eats meat."""
    for state, does in ((one, other), (other, one)):
        for words, verb, objects in _RULED_OUT:
            eaten = does.words[1:2]
            goes_on = does.words[2:3] in ((), *((word,) for word in _GOES_ON))
            if state.words == words and does.words[:1] == (verb,) and objects & set(eaten) and goes_on:
                return True
    return False


def _another_value(older: JudgedFact, newer: JudgedFact, one: Claim, other: Claim) -> bool:
    """Whether they give one attribute, or one amount, two values that exclude each other."""
    if one.denied or other.denied:
        return False
    slots = slot_of("", older.key), slot_of("", newer.key)
    if older.key and newer.key and slots[0] != slots[1]:
        return False
    if one.attribute and one.attribute == other.attribute:
        return _exclude(one.attribute, one.value, other.value)
    if _amounts_differ(one.words, other.words):
        return True
    return older.key != newer.key and bool(older.key and newer.key) and _keyed_exclude(newer.text, older.text)


def _amounts_differ(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether they count the same thing differently: "has two sisters", "has four sisters"."""
    if len(one) != len(other) or kind_of(one[-2:-1][0] if len(one) > 1 else "") != "number" or one[-1] != other[-1]:
        return False
    return (
        one[:-2] == other[:-2]
        and one[-3:-2] != ()
        and one[-3] in _COUNTED
        and one[-2] != other[-2]
        and kind_of(other[-2]) == "number"
    )


def _exclude(attribute: str, one: str, other: str) -> bool:
    """Whether two values of one attribute cannot both hold."""
    ours, theirs = (frozenset(map(_singular, terms(value))) for value in (one, other))
    if not ours or not theirs or ours <= theirs or theirs <= ours:
        return False
    if any(any(_shape(value)) for value in (one, other)) and _shape(one) != _shape(other):
        return False
    if attribute in ("home", "birthplace") and (ours & _REGIONS or theirs & _REGIONS):
        return False
    if attribute in ("occupation", "job"):
        heads = {value.split()[-1].casefold() for value in (one, other)}
        return not heads & _SIDE_WORK and heads <= PROFESSIONS
    initials = "".join(word[0] for word in one.split()), "".join(word[0] for word in other.split())
    return initials[0].casefold() != other.casefold() and initials[1].casefold() != one.casefold()


def _keyed_exclude(new: str, old: str) -> bool:
    one, other = value_words(new), value_words(old)
    return not one <= other and not other <= one


def _at_other_times(older: JudgedFact, newer: JudgedFact) -> bool:
    """Whether one had ended before the other began."""
    return bool(
        (older.valid_to and newer.valid_from and older.valid_to <= newer.valid_from)
        or (newer.valid_to and older.valid_from and newer.valid_to <= older.valid_from)
    )
