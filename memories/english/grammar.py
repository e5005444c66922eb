"""Which plain English statements become facts, and in which words.

A sentence that asks, supposes, plans or reports somebody else's words yields nothing. In doubt a rule stays silent: the
message is stored as an episode anyway, and a missed fact is better than an invented one.
"""

# ruff: noqa: E501  # a pattern that is broken into pieces is harder to read than a long line

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from memories.english import vocabulary
from memories.english.playbooks import StatedPlaybook, read_playbook
from memories.english.text import (
    CAPITAL,
    I_AM,
    LATELY,
    SPEAKER,
    capitalised,
    clauses,
    compiled,
    content_words,
    finer_clauses,
    phrases,
    plain,
    sentences,
    slug,
    with_subject,
    without_time,
)

# Longer sentences tell stories.
LONGEST_SENTENCE = 400
LONGEST_PLAYBOOK = 4_000
# The longest "like" or "prefer" in words.
_LONGEST_TASTE = 4


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact as it would be stored: short, without a subject. `ends` names what stopped being true.

    `quote` is the clause that says it. `moved`: the home changed with it. `corrects`: the user contradicts what was
    said before. `beside`: it adds to what is known under its key and replaces nothing.
    """

    text: str
    key: str = ""
    category: str = ""
    ends: str = ""
    quote: str = field(default="", compare=False)
    moved: bool = field(default=False, compare=False)
    corrects: bool = field(default=False, compare=False)
    beside: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a message says: facts, a playbook, what to forget (in the user's words), and the questions it asks."""

    statements: tuple[Statement, ...] = ()
    playbook: StatedPlaybook | None = None
    forget: str | None = None
    question: str = ""


_Build = Callable[[re.Match[str]], Iterator[Statement]]
Rule = tuple[re.Pattern[str], _Build]


def read(message: str) -> Reading:
    """What `message` says, as far as the rules understand it."""
    text = plain(message)
    playbook = read_playbook(text) if len(text) <= LONGEST_PLAYBOOK else None
    if playbook is not None:
        return Reading(playbook=playbook)
    statements = list(_introduced(text))
    unmeant = vocabulary.unmeant(text)
    forget: str | None = None
    questions: list[str] = []
    for place, whole in enumerate(sentences(text)):
        sentence = _POLITE.sub(r"\1", _OPENERS.sub("", whole))
        sentence = with_subject(sentence) if place == 0 else sentence
        if len(sentence) > LONGEST_SENTENCE:
            continue
        if match := _FORGET.match(sentence):
            forget = match["about"].strip()
        elif found := () if unmeant else tuple(_said(sentence)):
            corrects = bool(DENIED.match(whole))
            statements += (replace(each, corrects=corrects or each.corrects) for each in found)
        elif vocabulary.QUESTION.search(sentence):
            questions.append(whole)
    return Reading(tuple(dict.fromkeys(statements)), None, forget, " ".join(questions))


def _said(sentence: str) -> Iterator[Statement]:
    """The facts of one sentence: what it asks to remember, else what it states in passing."""
    if match := _TO_DO.match(sentence):
        yield Statement(f"To do: {_closed(match['what'])}", category="to do")
    elif (match := _REMEMBER_THAT.match(sentence)) or (
        (match := _REMEMBER.match(sentence)) and _HAS_VERB.search(match["what"])
    ):
        yield from _remembered(match["what"])
    else:
        yield from _stated(sentence, tastes=True)


def _remembered(what: str) -> Iterator[Statement]:
    """What the user asks to remember is stored in any case: by a rule if one fits, else word for word."""
    if vocabulary.QUESTION.search(what) and not what.casefold().startswith(("is ", "are ")):
        return
    yield from tuple(_stated(what)) or (Statement(capitalised(_closed(what))),)


def _stated(sentence: str, *, tastes: bool = False) -> Iterator[Statement]:
    """What a sentence states in passing; nothing if it asks, supposes or reports."""
    if vocabulary.QUESTION.search(sentence) or vocabulary.doubtful(sentence) or '"' in sentence:
        return
    rules = (*_RULES, *_TASTES) if tastes else _RULES
    for clause in clauses(_NOT_THAT.sub(r"\1", _OPENERS.sub("", sentence))):
        found = tuple(_clause(clause, rules))
        yield from found or (each for part in finer_clauses(clause) for each in _clause(part, rules))
    for pattern, build in _ASIDES:
        if match := pattern.search(sentence):
            moved = bool(_MOVED.match(without_time(sentence)))
            yield from (replace(each, quote=sentence, moved=moved) for each in build(match))


def _clause(clause: str, rules: tuple[Rule, ...]) -> Iterator[Statement]:
    """The facts of one clause, by the first rule that finds any."""
    bare = without_time(_OPENERS.sub("", clause))
    for pattern, build in rules:
        if (match := pattern.match(bare)) and (found := tuple(build(match))):
            beside = found[0].key in _SEVERAL_HOLD and bool(_BESIDE.search(bare))
            moved = bool(_MOVED.match(bare))
            for each in found:
                key = "" if beside else each.key
                yield replace(each, quote=clause, beside=beside, moved=each.moved or moved, key=key)
            return


def _introduced(text: str) -> Iterator[Statement]:
    """The name that somebody gives after a greeting, or alone: "Hi! I'm Mira", "This is Bob."."""
    match = _INTRODUCED.match(text)
    if match and (name := vocabulary.person_in(match["name"] or match["here"] or match["alone"])):
        yield Statement(f"Name is {name}", "name", "personal", quote=match[0])


def _closed(text: str) -> str:
    return text.strip().rstrip(".!;,: ").strip()


def _short(text: str) -> str:
    """A value of a few words that names something."""
    value = vocabulary.without_tail(text)
    words = value.split()
    names = 0 < len(words) <= _LONGEST_TASTE and words[0].casefold() not in vocabulary.POINTING
    return value if names and not _SELF.search(value) else ""


# What a named group of a pattern has to be. A cleaner that answers "" keeps the rule from firing.
_CLEAN: dict[str, Callable[[str], str]] = {
    "place": vocabulary.place_in,
    "person": vocabulary.person_in,
    "anyone": lambda text: vocabulary.person_in(text, any_case=True),
    "capitals": vocabulary.name_at,
    "employer": vocabulary.workplace_in,
    "value": vocabulary.without_tail,
    "short": _short,
}


def _tell(text: str, key: str = "", category: str = "", *, moved: bool = False) -> _Build:
    """A builder that fills `text` and `key` from the groups of the match; `{a:key}` is a group as a key."""

    def build(match: re.Match[str]) -> Iterator[Statement]:
        groups = {name: _CLEAN.get(name, _closed)(value or "") for name, value in match.groupdict().items()}
        if all(groups[name] or not match[name] for name in groups):
            told = " ".join(text.format(**groups).split())
            named = key.format(**{name: slug(value) for name, value in groups.items()})
            yield Statement(capitalised(told), named, category, moved=moved)

    return build


def _employed(match: re.Match[str]) -> Iterator[Statement]:
    """The employer, the job, or both."""
    groups = match.groupdict()
    told = re.split(r",|\s+(?:since|in|on|next)\b", groups.get("where") or "", maxsplit=1)[0]
    where = vocabulary.workplace_in(told)
    job = re.split(r"\s+(?:and|since|in|at|but|now|last|today)\b|[,.!;]", groups.get("job") or "", maxsplit=1)[
        0
    ].strip()
    if groups.get("where") and not where:
        return
    if job and groups.get("title") is None and job.split()[-1].casefold() not in vocabulary.PROFESSIONS:
        return
    employer = Statement(f"Works {'for' if groups.get('how') == 'for' else 'at'} {where}", "employer", "work")
    work = Statement(f"Works as {(groups.get('article') or 'a').lower()} {job}", "occupation", "work")
    both = [employer] * bool(where) + [work] * bool(job)
    yield from reversed(both) if where and job and match.start("job") < match.start("where") else both


def _birth(match: re.Match[str]) -> Iterator[Statement]:
    where = match["where"].strip()
    if vocabulary.DATE.search(where):
        yield Statement(f"Born {match['how'].lower()} {_closed(where)}", "date_of_birth", "personal")
    elif place := vocabulary.place_in(where):
        yield Statement(f"Born in {place}", "birthplace", "personal")


def _favourite(match: re.Match[str]) -> Iterator[Statement]:
    thing, value = match["thing"].strip(), vocabulary.without_tail(match["value"])
    if slug(thing).split("_")[0] not in _VAGUE and not vocabulary.TRANSIENT.match(value):
        text = f"{match['word'].capitalize()} {thing} {match['verb']} {value}"
        yield Statement(text, f"favourite_{slug(thing)}", "taste")


def _listed(text: str) -> Iterator[str]:
    """The parts of a list: "hiking, jazz and tea"."""
    yield from (part for part in re.split(r",\s*(?:and\s+)?|\s+and\s+", text) if part.strip())


def _allergies(match: re.Match[str]) -> Iterator[Statement]:
    for what in _listed(_closed(match["what"])):
        thing = re.split(r"\s(?:now|again|since|because|for|with|too|by|so|after)\b", what, maxsplit=1)[0].strip()
        if thing and thing.casefold() not in _NO_ALLERGENS and len(thing.split()) <= vocabulary.LONGEST_THING:
            yield Statement(f"Allergic to {thing}", f"allergy_{slug(thing).removesuffix('s')}", "health")


def _likes(match: re.Match[str]) -> Iterator[Statement]:
    verb = match["verb"].lower()
    told = "Can't stand" if verb == "can't stand" else capitalised(vocabulary.third_person(verb))
    parts = list(_listed(vocabulary.without_tail(match["what"])))
    # "I love fish and chips" may be one dish: only a list of three parts, or with a comma, is taken apart.
    whole = [match["what"]] if len(parts) < 3 and "," not in match["what"] else parts  # noqa: PLR2004 - as it says
    named = [_short(re.sub(r"^my (?:cat|dog) ", "", part)) for part in whole]
    if all(named):
        yield from (Statement(f"{told} {what}", category="taste") for what in named)


def _named_thing(match: re.Match[str]) -> Iterator[Statement]:
    thing = match["thing"].strip()
    if name := vocabulary.person_in(match["name"]):
        relation = re.split(r"\s(?:at|in|from)\s", thing, maxsplit=1)[0]
        person = slug(relation) in vocabulary.PEOPLE
        key = vocabulary.relation_key(relation) if person else f"{slug(thing)}_name"
        key = "" if key in vocabulary.SEVERAL_KIN else key
        yield Statement(f"{capitalised(thing)}{match['link']}{name}", key, "personal")


def _thing(match: re.Match[str]) -> Iterator[Statement]:
    thing, value = match["thing"].strip(), vocabulary.without_tail(match["value"])
    if key := vocabulary.attribute_key(thing, value):
        person = key in vocabulary.PEOPLE and value.casefold().startswith(("a ", "an ", "the "))
        key = "" if person or key in vocabulary.SEVERAL_KIN else key
        yield Statement(f"{capitalised(thing)} is {value}", key, "personal")


def _relation(match: re.Match[str]) -> Iterator[Statement]:
    if name := vocabulary.name_at(match["name"]):
        key = vocabulary.relation_key(match["relation"])
        category = {"landlord": "home", "landlady": "home", "boss": "work"}.get(key, "family")
        yield Statement(f"{capitalised(match['relation'])} is {name}", key, category)


def _ended(match: re.Match[str]) -> Iterator[Statement]:
    what = _closed(match["what"].split(", ", 1)[0])
    if what.split()[0].casefold() not in vocabulary.STATES_OF_MIND:
        yield Statement(f"No longer {vocabulary.third_person(what)}", ends=what)


def _ended_state(match: re.Match[str]) -> Iterator[Statement]:
    what = _closed(match["what"])
    if _LASTING_STATE.match(what):
        yield Statement(f"No longer {what}", ends=what)


def _gave_up(match: re.Match[str]) -> Iterator[Statement]:
    what = f"{_BASE[match['verb'].lower()]} {match['what']}".strip()
    if what != "eat":
        yield Statement(f"No longer {vocabulary.third_person(what)}", category="food", ends=what)


def _again(match: re.Match[str]) -> Iterator[Statement]:
    verb, what = match["verb"].lower(), match["what"].strip()
    if what.casefold() in _TAKEN_UP or (not what and _BASE.get(verb, verb) != "eat"):
        said = capitalised(vocabulary.third_person(f"{_BASE.get(verb, verb)} {what}".strip()))
        yield Statement(f"{said} again", "diet" if what.casefold() in ("meat", "fish", "dairy") else "", "food")


def _owns(match: re.Match[str]) -> Iterator[Statement]:
    """A possession that lasts: one with a name, or one of a few kinds."""
    verb = match.groupdict().get("verb")
    what = _AFTER_A_THING.sub("", match["what"]).strip()
    head = what.split(" with ", 1)[0]
    if (re.search(r"\b(?:[A-Z][\w'-]*|\w*\d\w*)", head) or _DURABLE.search(head)) and not _CONSUMED.search(
        match["what"]
    ):
        told = vocabulary.third_person(verb.lower()) if verb else "has"
        vehicle = "car" if verb and verb.casefold() == "drive" else ""
        yield Statement(f"{capitalised(told)} {match['article'].lower()} {what}", vehicle, "possessions")


def _habit(match: re.Match[str]) -> Iterator[Statement]:
    what = re.split(_OFTEN, match["rest"], maxsplit=1, flags=re.IGNORECASE)[0]
    if content_words(what) and not _NO_HABIT.search(what):
        text = vocabulary.third_person(f"{match['verb'].lower()} {match['rest']}")
        yield Statement(capitalised(text), category="habits")


def _commute(match: re.Match[str]) -> Iterator[Statement]:
    way = vocabulary.third_person(f"{match['verb'].lower()} {match['rest']}".replace(" now", ""))
    yield Statement(capitalised(way), "commute", "home")


def _rent(match: re.Match[str]) -> Iterator[Statement]:
    every = re.search(r"\b(?:a|per|each|every)\s+(?:month|week)\b|\bmonthly\b|\bweekly\b", match["rest"], re.IGNORECASE)
    yield Statement(f"Pays {match['amount']}{f' {every[0]}' if every else ''} in rent", "rent", "home")


def _home_detail(match: re.Match[str]) -> Iterator[Statement]:
    what, at = match["what"].lower(), match["at"].lower()
    if where := vocabulary.place_in(match["where"]):
        article = "an" if what[0] in "aeiou" else "a"
        yield Statement(f"Lives in {article} {what} {at} {where}", "neighbourhood" if at == "in" else "address", "home")


_OFTEN = (
    r"\b(?:a\s+)?(?:every\s+(?:other\s+)?(?:morning|evening|night|day|week|weekend|month|year|winter|summer|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
    r"|on\s+(?:mon|tues|wednes|thurs|fri|satur|sun)days(?:\s+and\s+\w+days)?|(?:once|twice|\w+\s+times)\s+an?\s+(?:day|week|month|year))"
)
_AMOUNT = r"(?P<amount>[£$€]\s?\d[\d.,]*\d|\d[\d.,]*\s?(?:[£$€]|pounds|euros?|dollars|francs))"
_JOB = r"(?:,?\s+as\s+(?P<article>an?|the|their)\s+(?P<title>(?P<job>[\w' -]+)))"
_VAGUE = frozenset("thing things part way one bit moment memory aspect".split())
_NO_ALLERGENS = frozenset(
    "mornings mondays work meetings drama stupidity nonsense effort it that this you him her them people".split()
)
_BASE = {"eating": "eat", "drinking": "drink", "smoking": "smoke"}
_TAKEN_UP = frozenset("meat fish dairy gluten sugar bread eggs chocolate alcohol wine coffee beer".split())
_SEVERAL_HOLD = ("employer", "occupation", "home_city")


_SELF = compiled(r"\b(?:my|myself|me|you|your)\b")
_NO_HABIT = compiled(
    r"\b(?:it|them|him|her|this|that|these|those)\b|^(?:late|to sleep|to bed|crazy|mad|nuts|wrong|back)\b"
)
_DURABLE = compiled(
    r"\b(?:"
    + phrases(
        "bike, bicycle, car, van, motorbike, scooter, house, flat, apartment, boat, kayak, tent, piano, guitar, violin, laptop, computer, camera, telescope"
    )
    + r")$"
)
_CONSUMED = compiled(
    r"\b(?:"
    + phrases(
        "ticket, tickets, coffee, tea, beer, pizza, cake, sandwich, present, gift, drink, meal, lunch, dinner, bottle, card, book"
    )
    + r")\b|\bfor\s+(?!me\b|myself\b|us\b|the\b|[£$€\d])"
)
_AFTER_A_THING = compiled(
    r"\s*(?:[,.;!(]|\s[-–—]|\s(?:"
    + phrases(
        "for, from, because, since, yesterday, today, last, on, at, in, and i, and it, and we, but, so, which, this morning, recently, now, to"
    )
    + r")\b).*$"
)
_LASTING_STATE = compiled(
    r"(?:(?:at|with|in)\s[A-Z]|(?:"
    + phrases(
        "a, an, vegan, vegetarian, pescatarian, married, single, engaged, allergic to, employed, living in, based in, working at, working for, working as, studying, retired"
    )
    + r")\b)"
)
_BESIDE = compiled(r"\b(?:also|too|as well|second job|part[- ]time|on the side|at weekends|on weekends)\b")
_MOVED = compiled(r"(?:i|we)\b.{0,20}\b(?:moved|relocated|left)\b")
DENIED = compiled(r"(?:(?:well|oh|hmm|hey|wait|hang on),?\s+)?(?:no|nope|nah|wrong|wait|that's (?:wrong|not right))\b")
# "I work for Globex, not Acme" says as much about Globex as without Acme.
_NOT_THAT = compiled(r",\s+(?:and\s+)?not\s+(?!any|only|just|because|that|yet|sure)[\w' -]+?([.!]*)$")
_INTRODUCED = compiled(
    r"(?:(?:hi|hello|hey|good (?:morning|afternoon|evening))\b[^.!?]{0,20}?[.!,]?\s+"
    rf"(?:(?:i'm|i am|this is)\s+(?P<name>{CAPITAL}[\w'-]+(?:\s{CAPITAL}[\w'-]+){{0,2}})(?=[.!,]|\s+and\b|$)|(?P<here>{CAPITAL}[\w'-]+)\s+here(?=[.!,]|$))"
    rf"|(?:this is|i'm)\s+(?P<alone>{CAPITAL}[\w'-]+)[.!]*$)"
)
_OPENERS = compiled(
    r"^(?:(?:oh|ok|okay|hey|hi|hello|well|so|btw|by the way|fyi|also|actually|and|yes|yeah|no|please|thanks|thank you"
    r"|update|quick update|good news|big news|news|guess what|sorry|oops|hang on|wait|confession|new year|turns out|finally"
    r"|just so you know|for the record|hi there|memoryhub|in fact|great)\b[\s,:!.-]+)+"
)
# Requests to the memory: remember this, forget that, remind me. One in the form of a question is a request.
_POLITE = compiled(r"^((?:can|could|would|will) you (?:please )?(?:remember that|note that|keep in mind)\b.*?)\?+$")
_ASKING = r"(?:(?:please|can you|could you|would you|will you|i want you to|i'd like you to|you should|always)\s+)*"
_FORGET = compiled(
    rf"{_ASKING}(?:forget|(?:delete|erase)(?=\s+(?:that|this)[.!]*$)"
    r"|(?:delete|erase|remove)(?=\s+(?:my\b|what i\b|the memor|the fact\b|everything\b)))\s+"
    r"(?!(?:to|it anyway)\b)(?P<about>(?:(?!\bfrom\b).)+?)(?:\s+from (?:your )?memory)?[.!?]*$"
)
_TO_DO = compiled(rf"{_ASKING}(?:remember|don't forget|do not forget|remind me)\s+to\s+(?P<what>\w.+?)[.!?]*$")
_KEEP = r"(?:remember|memori[sz]e|don't forget|do not forget|keep in mind|bear in mind|note|take note|make a note)"
_REMEMBER_THAT = compiled(
    rf"{_ASKING}{_KEEP}(?:\s*:\s*|\s+this\s*:\s*|\s*,?\s+that\s*:?\s+)(?!(?:time|day|night|one|trip|song|guy)\b)(?P<what>\w.*)$"
)
_REMEMBER = compiled(rf"{_ASKING}{_KEEP}\s+(?P<what>(?:i|i'm|i've|we|we're|my|our)\b.*[^?])$")
_HAS_VERB = compiled(
    r"\b(?:is|are|am|was|were|has|have|had|likes?|loves?|hates?|needs?|wants?|prefers?|uses?|goes?|go|live|work)\b|'[sm]\b|'re\b|'ve\b"
)

# The first rule that yields something wins for a clause.
_RULES: tuple[Rule, ...] = (
    # employer and job together
    (compiled(rf"i{LATELY}\s+(?:been\s+working|work|working)\s+(?P<how>at|for)\s+(?P<where>.+?){_JOB}"), _employed),
    (compiled(rf"i{LATELY}\s+(?:started(?:\s+work(?:ing)?|\s+(?:a|my)\s+(?:new\s+)?job)?|joined)\s+(?:(?:at|with|for)\s+)?(?P<where>{CAPITAL}.+?)(?:{_JOB}|$)"), _employed),
    (compiled(rf"i{LATELY}\s+left\s+[\w' -]+?(?:,\s*|\s+and\s+|,\s+and\s+)(?:have\s+)?(?:(?:just|then|now)\s+)?(?:started(?:\s+work(?:ing)?)?|i(?:'m|\s+am)(?:\s+now)?)\s+(?P<how>at|with|for)\s+(?P<where>{CAPITAL}.+?)(?:{_JOB}|\s+now\b|[.!]*$)"), _employed),
    (compiled(rf"(?:{I_AM}|i)\s+(?:now\s+)?(?:(?:work|working)\s+as\s+)?(?P<article>an?)\s+(?P<job>[\w-]+(?:\s[\w-]+){{0,3}}?)\s+(?P<how>at|for)\s+(?P<where>{CAPITAL}[^,;]+)$"), _employed),
    (compiled(rf"{SPEAKER}{LATELY}\s+work{LATELY}{_JOB}(?:\s+(?P<how>at|for)\s+(?P<where>.+))?[.!]*$"), _employed),
    (compiled(rf"{SPEAKER}{LATELY}\s+(?:work{LATELY}|been\s+working)\s+(?P<how>at|for)\s+(?P<where>.+)$"), _employed),
    (compiled(rf"{I_AM}\s+(?:now\s+)?working\s+(?P<how>at|for)\s+(?P<where>{CAPITAL}.+?)\s+(?:now|these\s+days|since)\b"), _employed),
    (compiled(rf"{SPEAKER}{LATELY}\s+(?:got|found|took|accepted)\s+an?\s+(?:new\s+)?(?:job|position)\s+(?:at|with|for)\s+(?P<where>.+)$"), _employed),
    (compiled(rf"{I_AM}{LATELY}\s+(?P<article>an?)\s+(?P<job>(?!\w+\s+of\s)[\w-]+(?:\s[\w-]+){{0,3}}?)(?:\s+now)?(?:,.*)?[.!]*$"), _employed),
    (compiled(r"i(?:\s+now)?\s+work\s+(?P<how>from\s+home|remotely)(?:\s+(?:now|full-time|these\s+days|since\s.*))?[.!]*$"), _tell("Works {how}", "work_place", "work")),
    (compiled(rf"i(?:'ll)?\s+start\s+(?:work\s+)?at\s+(?P<employer>{CAPITAL}[\w&' -]+?)\s+(?P<when>next\s+\w+|on\s+.+)$"), _tell("Starts at {employer} {when}", "", "work")),
    # what stopped
    (compiled(rf"{SPEAKER}\s+no\s+longer\s+(?P<what>\w+.*)$"), _ended),
    (compiled(rf"{SPEAKER}\s+(?:don't|do not)\s+(?P<what>\w+.*?)\s+any\s?(?:more|longer)\b[.!]?$"), _ended),
    (compiled(rf"{I_AM}\s+(?:no\s+longer\s+(?P<what>\w+.*))$"), _ended_state),
    (compiled(rf"{I_AM}\s+not\s+(?P<what>\w+.*?)\s+any\s?(?:more|longer)\b[.!]?$"), _ended_state),
    (compiled(rf"{SPEAKER}{LATELY}\s+(?:stopped|quit|given\s+up|gave\s+up)\s+(?P<verb>eating|drinking|smoking)\s*(?P<what>[\w' -]*?)(?=\s+(?:in|last|this|a|since|because|for|when|yesterday|today)\b|[,.!;]|$)"), _gave_up),
    # home
    (compiled(rf"{SPEAKER}{LATELY}\s+moved\b[^:]*?(?:\bto\s+|:\s*)(?P<value>\d+\s?[a-z]?,?\s+{CAPITAL}[\w' -]+)"), _tell("Address is {value}", "address", "home", moved=True)),
    (compiled(rf"{SPEAKER}{LATELY}\s+left\s+[\w' -]+?(?:,\s*|\s+and\s+|,\s+and\s+)(?:(?:{I_AM}|are|am|now|living|based)\s+)*(?:in|live\s+in|moved\s+to)\s+(?P<place>.+?)(?:\s+now\b.*)?[.!]*$"), _tell("Lives in {place}", "home_city", "home")),
    (compiled(rf"{SPEAKER}{LATELY}\s+(?:moved|relocated)(?:\s+(?:back|over|house|home|out|up|down))*(?:\s+from\s+[\w' -]+?)?\s+to\s+(?P<place>.+)$"), _tell("Lives in {place}", "home_city", "home")),
    (compiled(rf"{SPEAKER}{LATELY}\s+(?:live{LATELY}|settled(?:\s+down)?)\s+in\s+(?P<place>.+)$"), _tell("Lives in {place}", "home_city", "home")),
    (compiled(rf"{SPEAKER}(?:'ve|\s+have)\s+(?:lived|been living)\s+in\s+(?P<place>.+?\s+(?:since|for)\s.+)$"), _tell("Lives in {place}", "home_city", "home")),
    (compiled(rf"{I_AM}{LATELY}\s+(?:living|based){LATELY}\s+in\s+(?P<place>.+)$"), _tell("Lives in {place}", "home_city", "home")),
    (compiled(r"my home (?:city|town) is(?: now)?\s+(?P<place>.+)$"), _tell("Lives in {place}", "home_city", "home")),
    (compiled(rf"(?:{I_AM}|i come)(?:\s+originally)?\s+from\s+(?P<place>.+)$"), _tell("Comes from {place}", "origin", "home")),
    (compiled(rf"(?:(?:our|my|the)\s+)?rent\s+(?:is|went\s+(?:up|down)\s+to)(?:\s+now)?\s+{_AMOUNT}(?P<rest>.*)$"), _rent),
    (compiled(rf"{SPEAKER}{LATELY}\s+pay\s+{_AMOUNT}(?P<rest>.*\b(?:rent|landlord|landlady)\b.*)$"), _rent),
    (compiled(rf".*\brent\b.*,\s*(?:so\s+)?(?:now\s+)?it's\s+(?:now\s+)?{_AMOUNT}(?P<rest>.*)$"), _rent),
    (compiled(rf"i{LATELY}\s+(?P<verb>cycle|bike|walk|drive|commute|run)\s+(?P<rest>to\s+work\b(?!.*\b(?:today|yesterday)\b)[^,.;!]*)"), _commute),
    (compiled(rf"i{LATELY}\s+(?P<verb>take|catch|get)\s+(?P<rest>the\s+(?:[\w-]+\s+)*(?:bus|train|tram|metro|tube|ferry)(?:\s+\w+)?\s+to\s+work\b)(?!.*\b(?:today|yesterday)\b)"), _commute),
    # who somebody is
    (compiled(r"my (?:full |real )?name(?:'s|\s+is)\s+(?P<anyone>.+)$"), _tell("Name is {anyone}", "name", "personal")),
    (compiled(r"(?:(?:you (?:can|may) )?call me|i go by|(?:everyone|everybody|people|my friends|friends) calls? me)\s+(?P<person>.+)$"), _tell("Prefers to be called {person}", "preferred_name", "personal")),
    (compiled(r"(?:i was|i'm|i am)\s+born\s+(?P<how>on|in)\s+(?P<where>.+)$"), _birth),
    (compiled(r"(?:i'm|i\s+am|i\s+(?:just\s+)?turned)\s+(?P<age>[1-9]\d?)(?:\s+years\s+old\b.*|(?:\s+now|\s+today)?[.!]*)$"), _tell("Is {age} years old", "age", "personal")),
    (compiled(rf"i\s+(?:also\s+)?speak\s+(?P<what>(?:fluent\s+)?{CAPITAL}\w+(?:(?:,|\s+and)\s+{CAPITAL}\w+)*)"), _tell("Speaks {what}", "", "personal")),
    (compiled(rf"i(?:'m\s+studying|\s+study|\s+am\s+studying)\s+(?P<what>[\w ]+?\s+at\s+{CAPITAL}[\w' -]+)"), _tell("Studies {what}", "", "education")),
    (compiled(r"i\s+(?:can\s+)?play\s+(?P<what>the\s+[a-z]+)[.!]*$"), _tell("Plays {what}", "", "leisure")),
    # tastes, food, health
    (compiled(r"my (?:all-time )?(?P<word>favou?rite)\s+(?P<thing>[\w' -]+?)\s+(?P<verb>is|are)\s+(?:now\s+)?(?P<value>.+)$"), _favourite),
    (compiled(rf"{I_AM}(?:\s+(?:also|very|severely|really|badly))*\s+allergic to\s+(?P<what>.+)$"), _allergies),
    (compiled(r"i have an?\s+(?:(?:\w+ly|severe|bad|mild|serious)\s+)*(?P<what>[\w-]+)\s+allergy\b(?!\s+(?:to|tests?|medication|season|pills?|clinic)\b)"), _tell("Has a {what} allergy", "allergy_{what}", "health")),
    (compiled(rf"{I_AM}{LATELY}\s+(?:an?\s+)?(?P<diet>vegetarian|vegan|pescatarian|coeliac|celiac|lactose[ -]intolerant|gluten[ -]free)(?:\s+now)?[.!]*$"), _tell("Is {diet}", "diet", "food")),
    (compiled(r"(?:i|we)(?:'m|'re|\s+am|\s+are)?\s+(?:now\s+)?(?P<verb>eat(?:ing)?|drink(?:ing)?|smok(?:e|ing))\s+(?P<what>[\w -]{0,30}?)\s*again\b"), _again),
    (compiled(r"i\s+(?:don't|do not)\s+(?P<verb>eat|drink)\s+(?P<short>[\w' -]+?)[.!]*$"), _tell("Does not {verb} {short}", "", "food")),
    (compiled(r"i\s+(?:can't|cannot|must\s+not|mustn't)\s+(?P<verb>eat|drink)\s+(?P<short>[a-z][\w' -]*?)(?=[.!,;]|\s+(?:because|since|any)\b|$)"), _tell("Cannot {verb} {short}", "", "health")),
    (compiled(r"i\s+(?:have|suffer\s+from|was\s+diagnosed\s+with)\s+(?P<what>asthma|(?:type\s+[12]\s+)?diabetes|co?eliac disease|epilepsy|hay fever|migraines|arthritis|high blood pressure|adhd)\b(?!\s+(?:today|again|right))"), _tell("Has {what}", "", "health")),
    (compiled(rf"i{LATELY}\s+prefer\s+(?P<value>\w.*\s(?:to|over|than)\s\w.*)$"), _tell("Prefers {value}", "", "taste")),
    # family, pets, possessions, habits
    (compiled(rf"my (?P<relation>husband|wife|partner|girlfriend|boyfriend|fianc[eé]e?|boss|landlord|landlady)\s+(?P<name>{CAPITAL}.*)$"), _relation),
    (compiled(rf"i(?:'m|\s+am)?\s+(?:just\s+)?(?:got\s+|now\s+|)married\s+(?:to\s+)?(?P<capitals>{CAPITAL}.*)$"), _tell("Married to {capitals}", "spouse", "family")),
    (compiled(r"(?:i|we)(?:'ve got|\s+have(?: got)?)\s+(?P<what>an?\s+[\w -]+?)\s+(?P<verb>called|named)\s+(?P<person>.+)$"), _tell("Has {what} {verb} {person}", "", "family")),
    (compiled(rf"{SPEAKER}{LATELY}\s+(?:adopted|got|rescued|bought)\s+(?P<what>an?\s+[\w -]+?(?:,\s+an?\s+[\w -]+?)?),?\s+(?:called|named|(?:his|her|its)\s+name\s+is)\s+(?P<person>.+)$"), _tell("Has {what} called {person}", "", "pets")),
    (compiled(rf"{SPEAKER}\s+(?:have|'ve\s+got)\s+(?P<what>(?:an?|one|two|three|four|five|six|\d+)\s+(?:kids?|children|sons?|daughters?|brothers?|sisters?|siblings?|grandchildren|cats?|dogs?))\b(?!\s+(?:called|named))"), _tell("Has {what}", "", "family")),
    (compiled(rf"(?P<name>{CAPITAL}[\w-]+(?:\s{CAPITAL}[\w-]+)?)'s\s+(?P<what>birthday|anniversary)\s+is\s+(?P<date>(?:on\s+)?(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{CAPITAL}\w+|(?:on\s+)?{CAPITAL}\w+\s+\d{{1,2}})\b"), _tell("{name}'s {what} is {date}", "{name}_{what}", "family")),
    (compiled(rf"{SPEAKER}{LATELY}\s+(?:bought|purchased|got\s+(?:myself|ourselves)|own)(?:\s+myself|\s+ourselves)?\s+(?P<article>an?)\s+(?:new\s+|used\s+|second-hand\s+)?(?P<what>\w.*)$"), _owns),
    (compiled(rf"i{LATELY}\s+(?P<verb>drive|ride)\s+(?P<article>an?)\s+(?P<what>\w.*)$"), _owns),
    (compiled(rf"{SPEAKER}{LATELY}\s+(?P<verb>go|take|play|swim|run|train|sing|teach|volunteer|walk|cycle|visit|cook|meet|attend|do|climb|dance|call)\s+(?P<rest>[^,.;!]*?{_OFTEN})"), _habit),
    # my dog's name is Rex, my dog is called Rex, my <thing> is <value>
    (compiled(r"(?:my|our) (?:new |current )?(?P<thing>[\w -]+?)(?P<link>'s name is | is (?:called|named) )(?P<name>.+)$"), _named_thing),
    (compiled(r"(?:my|our) (?:new |current )?(?P<thing>[\w -]+?)(?:\s+is|'s)\s+(?:now\s+)?(?P<value>.+)$"), _thing),
    (compiled(r"(?:i|we)(?:'ve|\s+have)?\s+changed my (?P<thing>[\w -]+?)\s+to\s+(?P<value>.+)$"), _thing),
    (compiled(r"my (?P<thing>[\w -]+?)\s+(?:has\s+)?changed(?:\s+to|[,:;]?\s+(?:and\s+)?(?:now\s+)?it's(?:\s+now)?)\s+(?P<value>.+)$"), _thing),
)  # fmt: skip

# Only in passing: "remember that I like …" is stored as it was said.
_TASTES: tuple[Rule, ...] = (
    (compiled(rf"i{LATELY}\s+prefer\s+(?P<short>(?!not\b|if\b|no\b)\w[^.!?]*)[.!]*$"), _tell("Prefers {short}", "", "taste")),
    (compiled(rf"{SPEAKER}{LATELY}\s+(?:really\s+|absolutely\s+)?(?P<verb>like|love|enjoy|hate|dislike|can't\s+stand)\s+(?P<what>[^.!?]+)[.!]*$"), _likes),
)  # fmt: skip

# Anywhere in a sentence, besides what its clauses say.
_ASIDES: tuple[Rule, ...] = (
    (compiled(rf"\b(?P<person>{CAPITAL}[\w'-]+)\s+and\s+i\s+(?:just\s+)?(?:got\s+married|are\s+married(?:\s+now)?)\b"), _tell("Married to {person}", "spouse", "family")),
    (compiled(rf"\b(?P<person>{CAPITAL}[\w'-]+)\s+and\s+i\s+(?:just\s+)?(?:got|are)\s+engaged\b"), _tell("Engaged to {person}", "fiance", "family")),
    (compiled(rf"\b(?:our|my)\s+(?P<relation>landlord|landlady|fianc[eé]e?|husband|wife),?\s+(?P<name>{CAPITAL}[\w.' -]*?)(?:[.!]*$|,\s+(?!and\b)|\s+(?:and|works|lives)\b)"), _relation),
    (compiled(rf"\b{SPEAKER}\b.*?\b(?:in|into|to)\s+(?:an?|our|my)\s+(?:new\s+)?(?P<what>(?:[\w-]+\s+)?(?:flat|house|apartment|studio|cottage))\s+(?P<at>on|at|in)\s+(?P<where>{CAPITAL}.*)$"), _home_detail),
    (compiled(rf"\bi\s+live\s+(?P<at>on|at)\s+(?P<value>(?:\d+\s?[a-z]?,?\s+)?{CAPITAL}.*)$"), _tell("Lives {at} {value}", "address", "home")),
)  # fmt: skip
