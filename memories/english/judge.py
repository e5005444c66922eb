"""The judge of the English rule set: whether a newer fact repeats, updates or contradicts an older one.

A fact is read as values of topics; two facts conflict if they give mutually exclusive values for a topic. Precision
comes first: facts that are limited, past, planned, supposed or another person's opinion conflict with nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from memories.consolidation.rules import NEITHER, Cues, JudgedFact, Judgement, Verdict
from memories.english.known import keys_of, slot_of, value_words
from memories.english.text import any_of, compiled, lists, plain, stem, word_set
from memories.english.vocabulary import DATE, PROFESSIONS, doubtful
from memories.english.wording import SYNONYMS, kind_of, terms


def _root(word: str) -> str:
    """Return the root of a word, so that its forms match; numbers, days and dates are unchanged."""
    return word if ":" in word else stem(stem(word))


# Characters; a longer text is narrative.
_LONGEST_JUDGED = 300
_LONGEST_VALUE = 5
_SAME = Judgement(Verdict.SAME, "says the same in other words")
# several: people have more than one, so "brother is Max" and "brother is Paul" may be two brothers. single: a thing has
# exactly one, whatever the value looks like. regions: places that may contain the other town. side_work: jobs that
# people have besides another. opposites: pairs, with the word that must accompany them. forms: words too common to
# search for.
_LISTS = lists(
    r"""
people = friend brother sister sibling child kid children son daughter cousin aunt uncle nephew niece colleague
    classmate flatmate neighbour student client customer teacher supplier contact partner member somebody someone people
several = hobby interest language skill goal allergy medicine tablet subject instrument sport game book song film place
    site tool app project task habit dish recipe snack pet room appointment call exam lesson trip
single = email surname nickname username diet religion nationality hometown employer company job bank size type number
    day age height weight birthday deadline anniversary rent
no_things = he she it they this that there what who i we you everybody nobody one old ex former
regions = england scotland wales ireland britain uk germany france spain portugal italy austria switzerland netherlands
    belgium denmark norway sweden finland poland greece turkey europe asia africa america usa us canada australia india
    china japan brazil mexico california texas york country
side_work = artist author coach musician photographer singer student trainer translator writer freelancer
opposites = on|off open|closed introvert|extrovert left|right:handed early|late:riser dark|light:mode
    window|aisle:seat single|married divorced|married
flesh = meat beef chicken pork lamb bacon ham steak fish salmon tuna
alcohol = alcohol wine beer whisky gin
leading = now still just already do will self user have
forms = have like do go be with from to
past = used to, formerly, former, previous, previously, ex, once, was, were, had, until, till, went, ran, ago, back in,
    back then, as a child, as a kid, as a student, in the past, originally, at first, at the time, for a while, died,
    this week, this month, today, tonight, tomorrow, yesterday, last, next, so far, temporarily, for now
unsure = will, likely, possibly, hopefully, apparently, seems, seem, considers, believes, believe, say, said, asks,
    claims, reckons, whether, supposedly, imagines, interview, applied, applies, offer, unsure, doubts, wonders, expects
beside = also, too, as well, another, second, other, others, both, either, sometimes, occasionally, partly, half,
    one of, part-time, besides, mostly, mainly, including, among
limited = when, while, during, if, until, between, within, for, by day, by night, except, unless, especially, without,
    on the, at the
changed = now, no longer, any more, anymore, these days, nowadays, currently, again, instead, recently, moved,
    relocated, switched, changed, became, sold, stopped, quit, gave up, given up, started, joined, retired
"""
)
_NO, _OVER, _LEADING = word_set("not no never"), word_set("quitted longer"), word_set(_LISTS["leading"])
_UNSAID = _NO | _OVER | {"now", "always"}
_LIKED = {"like": True, "likes": True, "love": True, "loves": True, "hate": False, "hates": False}
_SEVERAL, _SINGLE = word_set(_LISTS["people"] + " " + _LISTS["several"]), word_set(_LISTS["single"])
_SEVERAL_FIRST = compiled(rf"(?:my |our |an? |the )?(?:{'|'.join(_LISTS['people'].split())})s?(?!'s)\b(?! of)")
_REGIONS = frozenset(map(_root, _LISTS["regions"].split()))
_OPPOSITES = tuple(
    ("|".join(map(_root, pair.split("|"))), _root(beside))
    for pair, _, beside in (each.partition(":") for each in _LISTS["opposites"].split())
)
_RULED_OUT = {
    state: frozenset(f"said {verb} {_root(each)}" for verb, objects in ruled_out for each in objects.split())
    for state, ruled_out in {
        "vegetarian": [("eat", _LISTS["flesh"])],
        "vegan": [("eat", _LISTS["flesh"] + " cheese eggs butter"), ("drink", "milk")],
        "teetotal": [("drink", _LISTS["alcohol"])],
    }.items()
}
_COUNTED = frozenset(map(_root, "have own weigh cost earn pay".split()))
_NAME = r"(?-i:[A-Z])[^,;]*?"
# Attributes: name, pattern before the value, pattern of the value, words by which other facts state it. Names are
# capitalized.
_ATTRIBUTES = (
    ("address", r"lives? at", r"\d.+?", "live address"),
    ("home", r"(?:(?:lives?|living|resides?|based) in|(?:moved|relocated) to)", _NAME, "live based moved home"),
    ("birthplace", r"(?:was )?born in", _NAME, "born"),
    ("birthday", r"(?:was )?born (?:on|in)", r".*\d.*?", "born birth"),
    ("employer", r"(?:works?|working|started work(?:ing)?) (?:at|for)", _NAME, "work employ company"),
    ("job", r"(?:works?|working) as (?:an?|the)", r".+?", "work job occupation profession"),
    ("nickname", r"(?:prefers? to be called|goes by)", _NAME, "called goes nickname"),
    ("spouse", r"married to", _NAME, "married"),
    ("height", r"(?=[\d.]+ ?cm tall)", r"[\d.]+ ?cm(?= tall)", "tall height"),
    ("weight", r"weighs?", r"[\d.]+ ?kg", "weigh"),
    ("age", r"(?=\d+ years? old)", r"\d+(?= years? old)", "years age"),
)
_TOLD_BY = {name: told_by.split() for name, _, _, told_by in _ATTRIBUTES}
_SAME_ATTRIBUTE = {"company": "employer", "home city": "home", "home town": "home", "full name": "name"}
_LATELY = r"(?: tall| years? old)?(?:\s+(?:now|again|these days|nowadays|instead))?$"
_OF_ONESELF = compiled(
    r"(?:(?:i|we|the user|user)\s+)?(?:(?:am|are|is|'m|has|have)\s+)?(?:(?:now|currently|just|recently|still)\s+)*"
    rf"(?:{'|'.join(f'{before} ?(?P<{name}>{value})' for name, before, value, _ in _ATTRIBUTES)}){_LATELY}"
)
_OF_THINGS = compiled(
    r"(?:(?:my|our|the user's|the)\s+)?(?P<thing>[\w' -]+?)"
    r"(?:(?P<called>'s name is|\s+(?:is|are)(?: now)? (?:called|named))|\s+(?:is|are)(?:\s+now)?|"
    rf"\s+(?:leaves|starts|meets|begins|ends|closes|opens|has moved to))\s+(?:(?:on|at)\s+)?(?P<value>.+?){_LATELY}"
)
_TIMES = (("day",), ("hour",), ("date",), ("number", "half"))
_PAST = any_of(
    _LISTS["past"],
    r"(?:in|from|between|before)\s+(?:19|20)\d\d",
    r"(?<!.)(?!(?:based|married|engaged|divorced|moved|closed)\b)(?:old|\w+ed)",
)
_BORN = compiled(r"(?:was |is |am |i was |i am )?born\b")
_UNSURE = any_of(_LISTS["unsure"], r"may(?!\s+\d)(?<!\d\smay)")
_WISH = any_of("looking for, saving for, tries, try, trying, goal", "(?:want|hope|plan|intend|aim)s?", "wish(?:es)?")
_BESIDE, _CHANGED = any_of(_LISTS["beside"]), any_of(_LISTS["changed"])
_LIMITED = any_of(
    _LISTS["limited"],
    r"(?:on|in|at|over)\s+(?:the\s+)?(?:weekday|weekend|morning|evening|afternoon|night|summer|winter|holiday|home|work"
    r"|school|breakfast|lunch|dinner|restaurant|train|plane)s?",
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?",
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A fact as the judge reads it. `values`: its value for each topic. `over`: it states that something ended."""

    text: str
    words: tuple[str, ...]
    values: Mapping[str, str]
    over: bool

    @property
    def asserts(self) -> bool:
        """True if the fact states something current and certain."""
        if _PAST.search(self.text) and not _BORN.match(self.text):
            return False
        return (
            "?" not in self.text
            and not _UNSURE.search(self.text)
            and not doubtful(_WISH.sub("", self.text.replace("going to", "")))
        )


def judge(pairs: Iterable[tuple[JudgedFact, JudgedFact]]) -> Iterator[Judgement]:
    """Judge each (older, newer) pair of facts. Parsed facts are cached only during the call."""
    reading = lru_cache(1_024)(_read)
    return (_judged(older, newer, reading(older), reading(newer)) for older, newer in pairs)


def topics(fact: JudgedFact) -> frozenset[str]:
    """Return the topics of a fact; see `Rules.topics`."""
    reading = _read(fact)
    return frozenset((*reading.values, f"alike {' '.join(reading.words)}"))


def cues(fact: JudgedFact) -> Cues:
    """Return search cues for facts that `fact` may contradict; see `Rules.cues`."""
    keys = tuple(sorted(keys_of(slot_of("", fact.key)))) if fact.key else ()
    wanted: set[str] = set()
    telling: set[str] = set()
    for topic in (values := _read(fact).values):
        sort, _, about = topic.partition(" ")
        if sort == "about":
            wanted |= {*_TOLD_BY.get(about, ()), about.split()[-1]}
        elif sort == "one":
            wanted |= {*about.split()[0].split("|")}
        elif sort == "said":
            telling |= {word for word in about.split() if word.isalpha()}
            wanted |= {word for ruled_out in _RULED_OUT.get(about, ()) for word in ruled_out.split()[1:]}
            wanted |= {state for state, ruled_out in _RULED_OUT.items() if topic in ruled_out}
    if not any(topic.startswith("about ") for topic in values):
        wanted |= set(sorted(telling, key=lambda word: (word in _LISTS["forms"].split(), -len(word), word))[:1])
    wanted |= {word for word, base in SYNONYMS.items() if base in wanted}
    return Cues(tuple(sorted(set(map(_root, wanted)))), keys)


def denies(text: str) -> bool:
    """True if a text states that something is not so, or no longer so."""
    return not (_NO | _OVER).isdisjoint(terms(text))


def _judged(older: JudgedFact, newer: JudgedFact, one: Claim, other: Claim) -> Judgement:
    keyed = bool(older.key and newer.key) and older.key != newer.key
    # One had ended before the other began.
    for first, second in ((older, newer), (newer, older)):
        if first.valid_to and second.valid_from and first.valid_to <= second.valid_from:
            return NEITHER
    if one.words and one.words == other.words and not keyed:
        return _SAME
    differing = [topic for topic, value in one.values.items() if other.values.get(topic, value) != value]
    if not differing or not one.asserts or not other.asserts:
        return NEITHER
    sorts = {topic.partition(" ")[0] for topic in differing}
    update = other.over or bool(_CHANGED.search(other.text))
    if "said" in sorts:
        reason = "one denies the other"
    elif _WISH.search(one.text) or _WISH.search(other.text):
        return NEITHER
    elif "one" in sorts:
        reason = "they say the opposite"
    elif (keyed and "slot" not in sorts) or _BESIDE.search(one.text) or _BESIDE.search(other.text):
        return NEITHER
    elif any(_exclude(topic, one.values[topic], other.values[topic], keyed=keyed) for topic in differing):
        reason, update = "only one of the two values can hold", update or keyed
    else:
        return NEITHER
    return Judgement(Verdict.UPDATE if update else Verdict.CONTRADICTION, reason)


def _read(fact: JudgedFact) -> Claim:
    text = " ".join(plain(fact.text).split()).rstrip(".!")
    if not text or len(text) > _LONGEST_JUDGED:
        return Claim(text, (), {}, over=False)
    found = terms(text)
    values = {} if _SEVERAL_FIRST.match(text) else dict(_values(text, found))
    if fact.key:
        values[f"slot {slot_of(text, fact.key)}"] = text
    return Claim(text, found, values, not _OVER.isdisjoint(found))


def _values(text: str, found: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield (topic, value) pairs of a statement. The value of a "said …" topic is "yes" or "no"."""
    words = list(found)
    while len(words) > 1 and words[0] in _LEADING and (words[0] != "have" or words[1] == "quitted"):
        del words[0]
    denied = sum(word in _NO for word in words) % 2 == 1 or "quitted" in words
    if denied and "always" in words:
        return
    words = [word for word in words if word not in _UNSAID]
    for place, word in enumerate(words[:3]):
        if (liked := _LIKED.get(word)) is not None and (not denied or word.startswith("like")):
            words[place], denied = "like", denied or not liked
    words = [root.removesuffix("ing") if place == 0 else root for place, root in enumerate(map(_root, words))]
    if not denied and words and words[-1] in ("again", "every:day", "every:week"):
        del words[-1]
    said = " ".join(words)
    yield f"said {said}", "no" if denied else "yes"
    if denied:
        yield from [("said allerg", "no")] if said == "hav allerg" else []
        return
    yield from ((topic, "no") for topic in _RULED_OUT.get(said, ()))
    yield from _of_words(words)
    if attribute := _attribute(text):
        yield f"about {attribute[0]}", attribute[1]


def _of_words(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield further topics and values from the words of an affirmative statement."""
    match words:
        case ["allerg", "to", *_]:
            yield "said allerg", "yes"
        case ["eat" | "drink" as verb, eaten, "and" | "or" | "with", *_]:
            yield f"said {verb} {eaten}", "yes"
        case ["pref", *_] if "to" in words:
            first, _, second = " ".join(words[1:]).partition(" to ")
            yield f"one prefer {' '.join(sorted((first, second)))}", first
        case [*before, verb, number, counted] if verb in _COUNTED and kind_of(number) == "number":
            yield f"count {' '.join((*before, verb, counted))}", number
    for place, word in enumerate(words):
        for pair, beside in _OPPOSITES:
            if word in pair.split("|") and (not beside or beside in words):
                yield f"one {pair} {' '.join((*words[:place], *words[place + 1 :]))}", word


def _attribute(text: str) -> tuple[str, str] | None:
    """Return a single-valued attribute and its value, or None."""
    if (match := _OF_ONESELF.match(text)) and (name := match.lastgroup):
        return (name, match[name]) if _is_plain(match[name]) else None
    if (match := _OF_THINGS.match(text)) is None:
        return None
    words = [SYNONYMS.get(word, word) for word in match["thing"].casefold().split()]
    head, value = words[-1].removesuffix("s"), match["value"]
    name = _SAME_ATTRIBUTE.get(" ".join(words), " ".join(words))
    if words[0] in _LISTS["no_things"].split() or (head in _SEVERAL and len(words) == 1):
        return None
    if words[0] in ("favourite", "native") or words[-1] in _SINGLE:
        fits = _is_plain(value) or bool(DATE.search(value))
    elif head in _SEVERAL:
        return None
    elif match["called"] or name in ("home", "name"):
        fits = value[0].isupper()
    else:
        # "Book club is on Mondays", "train leaves at 8:05", "manager is Ms Brandt".
        fits = bool(re.match(r"(?:Mr|Mrs|Ms|Dr)\.? [A-Z]", value)) or _shape(value) in _TIMES
    return (name, value) if fits else None


def _is_plain(value: str) -> bool:
    """True if a value is short and unconditional."""
    return len(value.split()) <= _LONGEST_VALUE and not _LIMITED.search(value)


def _shape(value: str) -> tuple[str, ...]:
    """Return the kinds of a value's words; two values of an attribute are comparable only if their shapes are equal."""
    halves = {"pm": "half", "antemeridiem": "half"}
    return tuple(
        halves.get(word) or ("year" if word.startswith(("date:1", "date:2")) else kind_of(word))
        for word in terms(value)
    )


def _exclude(topic: str, one: str, other: str, *, keyed: bool) -> bool:
    """True if two values of one topic exclude each other, which they do not if one only adds words to the other."""
    sort, _, about = topic.partition(" ")
    if sort == "count":
        return True
    if sort == "slot":
        ours, theirs = value_words(one), value_words(other)
        return keyed and not ours <= theirs and not theirs <= ours
    ours, theirs = (frozenset(map(_root, terms(value))) for value in (one, other))
    if not ours or not theirs or ours <= theirs or theirs <= ours:
        return False
    shapes = _shape(one), _shape(other)
    if shapes[0] != shapes[1] and any(map(any, shapes)):
        return False
    if about in ("home", "birthplace") and (ours | theirs) & _REGIONS:
        return False
    if about == "job":
        heads = {value.split()[-1].casefold() for value in (one, other)}
        return heads.isdisjoint(_LISTS["side_work"].split()) and heads <= PROFESSIONS
    initials = {"".join(word[0] for word in value.split()).casefold() for value in (one, other)}
    return initials.isdisjoint((one.casefold(), other.casefold()))
