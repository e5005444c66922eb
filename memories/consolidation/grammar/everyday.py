"""Rules for what people tell of their days: home, job, pets, possessions, habits, health, people.

Each rule is a pattern for the beginning of a clause and a builder that yields statements, or nothing when in doubt.
"""

# ruff: noqa: E501  # a pattern that is broken into pieces is harder to read than a long line

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from memories.consolidation.grammar import vocabulary
from memories.consolidation.grammar.statement import Statement
from memories.consolidation.grammar.text import capitalised, phrases, slug
from memories.consolidation.grammar.words import content_words
from memoryhub.regexes import lazy_regex

Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], Iterator[Statement]]]

_I = r"(?:i|we)"
_LATELY = r"(?:'ve|\s+have)?(?:\s+(?:now|just|recently|finally|also|both|all|actually|usually|always|still|finally))*"
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_OFTEN = (
    rf"(?:every\s+(?:other\s+)?(?:morning|evening|night|day|week|weekend|month|year|winter|summer|{_DAY})"
    rf"|on\s+{_DAY}s(?:\s+and\s+{_DAY}s)?|(?:once|twice|\w+\s+times)\s+an?\s+(?:day|week|month|year))"
)
_AMOUNT = r"(?P<amount>[£$€]\s?\d[\d.,]*\d|\d[\d.,]*\s?(?:[£$€]|pounds|euros?|dollars|francs|kroner|kronor|zloty|GBP|EUR|USD|CHF))"
# What somebody bought and keeps, by its noun; other things count if they have a name of their own.
_DURABLE = lazy_regex(
    r"\b(?:"
    + phrases(
        """
        bike, bicycle, car, van, motorbike, motorcycle, scooter, house, flat, apartment, cottage, boat, canoe, kayak,
        tent, camper, piano, guitar, violin, cello, ukulele, drum kit, keyboard, laptop, computer, tablet, camera,
        television, tv, watch, sewing machine, 3d printer, printer, telescope, drone, e-bike, allotment
        """
    )
    + r")$",
    re.IGNORECASE,
)
_CONSUMED = lazy_regex(
    r"\b(?:"
    + phrases(
        """
        ticket, tickets, coffee, tea, beer, pizza, cake, sandwich, present, gift, bouquet, round, lottery, drink,
        meal, lunch, dinner, croissant, snack, bottle, pint, card, book, dvd, big mac, present for
        """
    )
    + r")\b",
    re.IGNORECASE,
)
_FOR_OTHERS = lazy_regex(r"\bfor\s+(?!me\b|myself\b|us\b|ourselves\b|the\b|[£$€\d])", re.IGNORECASE)
_AFTER_A_THING = lazy_regex(
    r"\s*(?:[,.;!(]|\s[-–—]|\s(?:"
    + phrases(
        """
        for, from, because, since, yesterday, today, last, on, at, in, and i, and it, and we, but, so, which, this
        morning, recently, now, second-hand, to
        """
    )
    + r")\b).*$",
    re.IGNORECASE,
)
_NAMED = lazy_regex(r"\b(?:[A-Z][\w'-]*|\w*\d\w*)")
_CONDITIONS = phrases(
    """
    asthma, diabetes, type 1 diabetes, type 2 diabetes, celiac disease, coeliac disease, epilepsy, hay fever, migraines,
    arthritis, eczema, psoriasis, tinnitus, adhd, high blood pressure, an underactive thyroid, crohn's disease,
    sleep apnoea, sleep apnea, endometriosis, dyslexia, anaemia, anemia
    """
)
_RELATIONS = phrases(
    "husband, wife, spouse, partner, girlfriend, boyfriend, fiancé, fiancée, fiance, fiancee, boss, manager, landlord, "
    "landlady"
)
_OF_HOME = frozenset(("landlord", "landlady"))
_OF_WORK = frozenset(("boss", "manager"))
_OFTEN_AT_ALL = lazy_regex(rf"(?:\ba\s+)?\b{_OFTEN}", re.IGNORECASE)
_SELF = lazy_regex(r"\b(?:my|myself|me|you|your)\b", re.IGNORECASE)
_SOMETHING_ELSE = lazy_regex(r"\b(?:it|them|him|her|this|that|these|those)\b", re.IGNORECASE)
# What people give up for good and take up again; who eats pizza again just had some yesterday.
_TAKEN_UP = frozenset(
    ("meat", "fish", "dairy", "gluten", "sugar", "bread", "eggs", "chocolate", "alcohol", "wine", "coffee", "beer")
)
_NO_HABITS = lazy_regex(r"(?:late|to sleep|to bed|crazy|mad|nuts|wrong|back)\b", re.IGNORECASE)


def _employed(match: re.Match[str]) -> Iterator[Statement]:
    where = vocabulary.workplace_in(re.split(r",|\s+since\b|\s+in\b|\s+on\b", match["where"], maxsplit=1)[0])
    if not where or not where[0].isupper():
        return
    how = "for" if (match.groupdict().get("how") or "").casefold() == "for" else "at"
    yield Statement(f"Works {how} {where}", "employer", "work")
    if match["job"]:
        job = re.split(r"\s+(?:and|since|in|at|but|now|last|today)\b|[,.!;]", match["job"], maxsplit=1)[0].strip()
        if job:
            yield Statement(f"Works as {match['article'].lower()} {job}", "occupation", "work")


def _employed_in_profession(match: re.Match[str]) -> Iterator[Statement]:
    if match["job"].split()[-1].casefold() in vocabulary.PROFESSIONS:
        yield from _employed(match)


def _home_detail(match: re.Match[str]) -> Iterator[Statement]:
    where, what = vocabulary.place_in(match["where"]), match["what"].lower()
    article = "an" if what[0] in "aeiou" else "a"
    if where and match["at"].casefold() != "in":
        yield Statement(f"Lives in {article} {what} {match['at'].lower()} {where}", "address", "home")
    elif where:
        yield Statement(f"Lives in {article} {what} in {where}", "neighbourhood", "home")


def _street(match: re.Match[str]) -> Iterator[Statement]:
    where = vocabulary.without_tail(match["where"])
    if re.match(r"(?:\d+\s?[a-zA-Z]?,?\s+)?[A-Z]", where) and _NAMED.search(where):
        yield Statement(f"Lives {match['at'].lower()} {where}", "address", "home")


def _moved_to_address(match: re.Match[str]) -> Iterator[Statement]:
    yield Statement(f"Address is {vocabulary.without_tail(match['where'])}", "address", "home", moved=True)


def _bought(match: re.Match[str]) -> Iterator[Statement]:
    whole = match["what"]
    what = _AFTER_A_THING.sub("", whole).strip()
    head = what.split(" with ", 1)[0]
    named = _NAMED.search(head) or _DURABLE.search(head)
    if named and not _CONSUMED.search(head) and not _FOR_OTHERS.search(whole):
        yield Statement(f"Has {match['article'].lower()} {what}", category="possessions")


def _owns(match: re.Match[str]) -> Iterator[Statement]:
    what = _AFTER_A_THING.sub("", match["what"]).strip()
    if _NAMED.search(what) or _DURABLE.search(what):
        verb = capitalised(vocabulary.third_person(match["verb"].lower()))
        yield Statement(f"{verb} {match['article'].lower()} {what}", category="possessions")


def _pet(match: re.Match[str]) -> Iterator[Statement]:
    if name := vocabulary.person_in(match["name"]):
        yield Statement(f"Has {match['what'].strip()} called {name}", category="pets")


def _habit(match: re.Match[str]) -> Iterator[Statement]:
    what = _OFTEN_AT_ALL.split(match["rest"], maxsplit=1)[0]
    if content_words(what) and not _NO_HABITS.match(what) and not _SOMETHING_ELSE.search(what):
        yield Statement(
            capitalised(vocabulary.third_person(f"{match['verb'].lower()} {match['rest']}")), category="habits"
        )


def _commute(match: re.Match[str]) -> Iterator[Statement]:
    way = vocabulary.third_person(f"{match['verb'].lower()} {match['rest']}".replace(" now", ""))
    yield Statement(capitalised(way), "commute", "home")


def _rent(match: re.Match[str]) -> Iterator[Statement]:
    every = re.search(r"\b(?:a|per|each|every)\s+(?:month|week)\b|\bmonthly\b|\bweekly\b", match["rest"], re.IGNORECASE)
    each = f" {every[0]}" if every else ""
    yield Statement(f"Pays {match['amount']}{each} in rent", "rent", "home")


def _relation(match: re.Match[str]) -> Iterator[Statement]:
    name = vocabulary.person_in(vocabulary.name_at(match["name"]))
    relation = match["relation"]
    if name:
        key = vocabulary.relation_key(relation)
        category = "home" if key in _OF_HOME else "work" if key in _OF_WORK else "family"
        yield Statement(f"{capitalised(relation)} is {name}", key, category)


def _married(match: re.Match[str]) -> Iterator[Statement]:
    if name := vocabulary.person_in(vocabulary.name_at(match["name"])):
        yield Statement(f"Married to {name}", "spouse", "family")


def _engaged(match: re.Match[str]) -> Iterator[Statement]:
    if name := vocabulary.person_in(vocabulary.name_at(match["name"])):
        yield Statement(f"Engaged to {name}", "fiance", "family")


def _their_date(match: re.Match[str]) -> Iterator[Statement]:
    text = f"{match['name']}'s {match['what'].lower()} is {match['on'] or ''}{match['date']}"
    yield Statement(text, f"{slug(match['name'])}_{slug(match['what'])}", "family")


def _again(match: re.Match[str]) -> Iterator[Statement]:
    verb = match["verb"].lower()
    base = {"eating": "eat", "drinking": "drink", "smoking": "smoke"}.get(verb, verb)
    what = match["what"].strip()
    if what.casefold() in _TAKEN_UP or (not what and base != "eat"):
        said = capitalised(vocabulary.third_person(f"{base} {what}".strip()))
        diet = "diet" if what.casefold() in ("meat", "fish", "dairy") else ""
        yield Statement(f"{said} again", diet, "food")


def _abstains(match: re.Match[str]) -> Iterator[Statement]:
    what = vocabulary.without_tail(match["what"])
    if len(what.split()) <= vocabulary.LONGEST_THING:
        yield Statement(f"Does not {match['verb'].lower()} {what}", category="food")


def _must_not(match: re.Match[str]) -> Iterator[Statement]:
    what = match["what"].strip()
    if len(what.split()) <= vocabulary.LONGEST_THING and what.split()[0].casefold() not in vocabulary.POINTING:
        yield Statement(f"Cannot {match['verb'].lower()} {what}", category="health")


def _condition(match: re.Match[str]) -> Iterator[Statement]:
    yield Statement(f"Has {match['what']}", category="health")


def _has(match: re.Match[str]) -> Iterator[Statement]:
    yield Statement(f"Has {match['what']}", category="family")


def _studies(match: re.Match[str]) -> Iterator[Statement]:
    yield Statement(f"Studies {vocabulary.without_tail(match['what'])}", category="education")


def _gave_up(match: re.Match[str]) -> Iterator[Statement]:
    verb = {"eating": "eat", "drinking": "drink", "smoking": "smoke"}[match["verb"].lower()]
    what = f"{verb} {match['what']}".strip()
    if what != "eat":
        yield Statement(f"No longer {vocabulary.third_person(what)}", category="food", ends=what)


def _prefers(match: re.Match[str]) -> Iterator[Statement]:
    what = vocabulary.without_tail(match["what"])
    first = what.split()[0].casefold() if what else "it"
    if len(what.split()) <= vocabulary.LONGEST_THING + 1 and first not in vocabulary.POINTING | {"not", "if", "no"}:
        yield Statement(f"Prefers {what}", category="taste")


def _plays(match: re.Match[str]) -> Iterator[Statement]:
    yield Statement(f"Plays {match['what']}", category="leisure")


def _speaks(match: re.Match[str]) -> Iterator[Statement]:
    yield Statement(f"Speaks {match['what']}", category="personal")


def _age(match: re.Match[str]) -> Iterator[Statement]:
    yield Statement(f"Is {match['age']} years old", "age", "personal")


def _works_from_home(match: re.Match[str]) -> Iterator[Statement]:
    yield Statement(f"Works {match['how'].lower()}", "work_place", "work")


def _likes(match: re.Match[str]) -> Iterator[Statement]:
    what = vocabulary.without_tail(match["what"])
    first = what.split()[0].casefold() if what else "it"
    short = len(what.split()) <= vocabulary.LONGEST_THING + 1
    if short and first not in vocabulary.POINTING and not _SELF.search(what):
        verb = (
            vocabulary.third_person(match["verb"].lower())
            if match["verb"].casefold() != "can't stand"
            else "Can't stand"
        )
        yield Statement(f"{capitalised(verb)} {what}", category="taste")


def _rule(pattern: str) -> re.Pattern[str]:
    return lazy_regex(pattern, re.IGNORECASE)


_AS = r"(?:.*?,?\s+as\s+(?P<article>an?|the|their)\s+(?P<job>[\w' -]+))?"
_CAPITAL = r"(?-i:[A-Z])"

# Before the plain rules: these say more in the same words.
EARLY: tuple[Rule, ...] = (
    (_rule(rf"(?:(?:our|my|the)\s+)?rent\s+(?:is|went\s+(?:up|down)\s+to|is\s+going\s+up\s+to)(?:\s+now)?\s+{_AMOUNT}(?P<rest>.*)$"), _rent),
    (_rule(rf"i(?:'ve|\s+have)\s+been\s+working\s+(?P<how>at|for)\s+(?P<where>.+?)(?=,?\s+as\s+(?:an?|the)\s|$){_AS}"), _employed),
    (_rule(rf"i{_LATELY}\s+work\s+(?P<how>at|for)\s+(?P<where>.+?)(?=,?\s+as\s+(?:an?|the)\s){_AS}"), _employed),
    (_rule(rf"i{_LATELY}\s+(?:started(?:\s+work(?:ing)?|\s+(?:a|my)\s+(?:new\s+)?job)?)\s+(?:at|with)\s+(?P<where>.+?)(?=,?\s+as\s+(?:an?|the|their)\s|$){_AS}"), _employed),
    (_rule(rf"i{_LATELY}\s+left\s+[\w' -]+?(?:,\s*|\s+and\s+|,\s+and\s+)(?:now\s+)?i(?:'m|\s+am)\s+(?:now\s+)?(?P<how>at|with)\s+(?P<where>{_CAPITAL}.+?)(?=,?\s+as\s+(?:an?|the)\s|\s+now\b|[.!]*$){_AS}"), _employed),
    (_rule(rf"i{_LATELY}\s+left\s+[\w' -]+?\s+and\s+(?:have\s+)?(?:just\s+|then\s+|now\s+)?started(?:\s+work(?:ing)?)?\s+(?P<how>at|with|for)\s+(?P<where>{_CAPITAL}.+?)(?=,?\s+as\s+(?:an?|the)\s|$){_AS}"), _employed),
    (_rule(rf"(?:i'm|i\s+am)\s+(?:now\s+)?working\s+(?P<how>at|for)\s+(?P<where>{_CAPITAL}.+?)(?=\s+(?:now|these\s+days|since)\b){_AS}"), _employed),
    (_rule(rf"(?:i'm|i\s+am)\s+(?:now\s+)?(?P<article>an?)\s+(?P<job>[\w-]+(?:\s[\w-]+){{0,3}}?)\s+at\s+(?P<where>{_CAPITAL}[^,;]+)$"), _employed_in_profession),
    (_rule(rf"i{_LATELY}\s+joined\s+(?P<where>.+?)(?=,?\s+as\s+(?:an?|the|their)\s){_AS}"), _employed),
    (_rule(rf"{_I}{_LATELY}\s+moved\b[^:]*?(?:\bto\s+|:\s*)(?P<where>\d+\s?[a-z]?,?\s+{_CAPITAL}[\w' -]+)"), _moved_to_address),
    (_rule(r"my (?P<relation>husband|wife|partner|girlfriend|boyfriend|fianc[eé]e?|boss|landlord|landlady)\s+(?P<name>" + _CAPITAL + r".*)$"), _relation),
)  # fmt: skip

LATE: tuple[Rule, ...] = (
    (_rule(rf"{_I}{_LATELY}\s+(?:bought|purchased|got\s+myself|got\s+ourselves|treated\s+myself\s+to|own)(?:\s+myself|\s+ourselves)?\s+(?P<article>an?)\s+(?:new\s+|used\s+|second-hand\s+)?(?P<what>\w.*)$"), _bought),
    (_rule(rf"{_I}{_LATELY}\s+(?:have|got)\s+an?\s+new\s+(?P<relation>{_RELATIONS})[,:]\s+(?:his|her|their)\s+name\s+is\s+(?P<name>{_CAPITAL}.*)$"), _relation),
    (_rule(rf"{_I}\s+(?:have|'ve\s+got)\s+(?P<what>(?:an?|one|two|three|four|five|six|\d+)\s+(?:kids?|children|sons?|daughters?|brothers?|sisters?|siblings?|grandchildren|cats?|dogs?))\b(?!\s+(?:called|named))"), _has),
    (_rule(rf"i(?:'m\s+studying|\s+study|\s+am\s+studying)\s+(?P<what>[\w ]+?\s+at\s+{_CAPITAL}[\w' -]+)"), _studies),
    (_rule(rf"{_I}{_LATELY}\s+(?:stopped|quit|given\s+up|gave\s+up)\s+(?P<verb>eating|drinking|smoking)\s*(?P<what>[\w' -]*?)(?=\s+(?:in|last|this|a|since|because|for|when|yesterday|today|completely)\b|[,.!;]|$)"), _gave_up),
    (_rule(rf"i{_LATELY}\s+(?P<verb>drive|ride)\s+(?P<article>an?)\s+(?P<what>\w.*)$"), _owns),
    (_rule(rf"{_I}{_LATELY}\s+(?:adopted|got|rescued|bought)\s+(?P<what>an?\s+[\w -]+?(?:,\s+an?\s+[\w -]+?)?),?\s+(?:called|named)\s+(?P<name>.+)$"), _pet),
    (_rule(rf"{_I}{_LATELY}\s+(?:adopted|got|rescued|bought)\s+(?P<what>an?\s+[\w -]+?),\s+(?:his|her|its|their)\s+name\s+is\s+(?P<name>.+)$"), _pet),
    (_rule(rf"i{_LATELY}\s+(?P<verb>cycle|bike|walk|drive|commute|run)\s+(?P<rest>to\s+work\b(?!.*\b(?:today|yesterday)\b)[^,.;!]*)"), _commute),
    (_rule(rf"i{_LATELY}\s+(?P<verb>take|catch|get)\s+(?P<rest>the\s+(?:[\w-]+\s+)*(?:bus|train|tram|metro|tube|ferry|subway)(?:\s+\w+)?\s+to\s+work\b)(?!.*\b(?:today|yesterday)\b)"), _commute),
    (_rule(rf"{_I}{_LATELY}\s+(?P<verb>go|take|play|swim|run|train|sing|teach|volunteer|walk|cycle|visit|cook|meet|practise|attend|do|climb|dance|call)\s+(?P<rest>[^,.;!]*?\b{_OFTEN})"), _habit),
    (_rule(rf"{_I}{_LATELY}\s+pay\s+{_AMOUNT}(?P<rest>.*\b(?:rent|landlord|landlady)\b.*)$"), _rent),
    (_rule(rf".*\b(?:rent)\b.*,\s*(?:so\s+)?(?:now\s+)?it's\s+(?:now\s+)?{_AMOUNT}(?P<rest>.*)$"), _rent),
    (_rule(rf"i(?:'m|\s+am)?\s+(?:just\s+)?(?:got\s+|now\s+|)married\s+(?:to\s+)?(?P<name>{_CAPITAL}.*)$"), _married),
    (_rule(rf"(?P<name>{_CAPITAL}[\w-]+(?:\s{_CAPITAL}[\w-]+)?)'s\s+(?P<what>birthday|anniversary)\s+is\s+(?P<on>on\s+)?(?P<date>(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_CAPITAL}\w+|{_CAPITAL}\w+\s+\d{{1,2}})\b"), _their_date),
    (_rule(r"(?:i|we)(?:'m|'re|\s+am|\s+are)?\s+(?:now\s+)?(?P<verb>eat(?:ing)?|drink(?:ing)?|smok(?:e|ing))\s+(?P<what>[\w -]{0,30}?)\s*again\b"), _again),
    (_rule(r"i\s+(?:don't|do not)\s+(?P<verb>eat|drink)\s+(?P<what>[\w' -]+?)[.!]*$"), _abstains),
    (_rule(r"i\s+(?:can't|cannot|must\s+not|mustn't)\s+(?P<verb>eat|drink)\s+(?P<what>[a-z][\w' -]*?)(?=[.!,;]|\s+(?:because|since|any)\b|$)"), _must_not),
    (_rule(rf"i\s+(?:have|suffer\s+from|was\s+diagnosed\s+with)\s+(?P<what>{_CONDITIONS})\b(?!\s+(?:today|again|right))"), _condition),
    (_rule(r"i\s+(?:can\s+)?play\s+(?P<what>the\s+[a-z]+)[.!]*$"), _plays),
    (_rule(rf"i\s+(?:also\s+)?speak\s+(?P<what>(?:fluent\s+)?{_CAPITAL}\w+(?:(?:,|\s+and)\s+{_CAPITAL}\w+)*)"), _speaks),
    (_rule(r"(?:i'm|i\s+am)\s+(?P<age>\d{1,3})\s+years\s+old\b"), _age),
    (_rule(r"i(?:\s+now)?\s+work\s+(?P<how>from\s+home|remotely)(?:\s+(?:now|full-time|these\s+days|again|since\s.*))?[.!]*$"), _works_from_home),
)  # fmt: skip

# What people say they like; "remember that I like tea" keeps their own words instead.
TASTES: tuple[Rule, ...] = (
    (_rule(r"i\s+(?:really\s+|now\s+)?prefer\s+(?P<what>[^.!?]+)[.!]*$"), _prefers),
    (_rule(r"i\s+(?:really\s+|absolutely\s+)?(?P<verb>like|love|enjoy|hate|dislike|can't\s+stand)\s+(?P<what>[^.!?]+)[.!]*$"), _likes),
)  # fmt: skip

# Anywhere in a sentence, besides what its clauses say.
ASIDES: tuple[Rule, ...] = (
    (_rule(rf"\b(?P<name>{_CAPITAL}[\w'-]+)\s+and\s+i\s+(?:just\s+)?(?:got\s+married|are\s+married(?:\s+now)?|tied\s+the\s+knot)\b"), _married),
    (_rule(rf"\b(?P<name>{_CAPITAL}[\w'-]+)\s+and\s+i\s+(?:just\s+)?(?:got|are)\s+engaged\b"), _engaged),
    (_rule(rf"\b(?:our|my)\s+(?P<relation>landlord|landlady|fianc[eé]e?|husband|wife)\s+(?P<name>{_CAPITAL}.*)$"), _relation),
    (_rule(rf"\b(?:to|with|from|by|for|and)\s+(?:our|my)\s+(?P<relation>landlord|landlady|fianc[eé]e?|husband|wife),\s+(?P<name>{_CAPITAL}[\w.' -]*?)(?:[.!]*$|,\s+(?!and\b))"), _relation),
    (_rule(rf"\b{_I}\b.*?\b(?:in|into|to)\s+(?:an?|our|my)\s+(?:new\s+)?(?P<what>(?:[\w-]+\s+)?(?:flat|house|apartment|studio|cottage))\s+(?P<at>on|at|in)\s+(?P<where>{_CAPITAL}.*)$"), _home_detail),
    (_rule(rf"\bi\s+live\s+(?P<at>on|at)\s+(?P<where>(?:\d|{_CAPITAL}).*)$"), _street),
)  # fmt: skip
