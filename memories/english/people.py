"""What is said of others: relatives, pets and whoever goes by a name. "My sister's birthday is 12 May" is a fact."""

# ruff: noqa: E501  # a pattern that is broken into pieces is harder to read than a long line

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memories.english.grammar import Statement
from memories.english.text import capitalised, phrases, plain, sentences, slug
from memories.english.vocabulary import PROFESSIONS, QUESTION, doubtful

_KIN = (
    "mother, mum, mom, father, dad, sister, brother, son, daughter, wife, husband, spouse, partner, girlfriend, "
    "boyfriend, fiancee, fiancé, fiancée, fiance, aunt, uncle, cousin, niece, nephew, grandmother, grandfather, "
    "grandma, grandpa, granny, gran, nan, grandson, granddaughter, twin, baby"
)
_OTHERS = (
    "best friend, friend, flatmate, roommate, housemate, neighbour, neighbor, colleague, coworker, boss, manager, "
    "landlord, landlady, dentist, doctor, teacher, coach, tutor, therapist, vet, ex"
)
PETS = (
    "guinea pig, dog, puppy, cat, kitten, rabbit, hamster, horse, pony, parrot, budgie, tortoise, turtle, goldfish, "
    "snake, lizard, gerbil, ferret, chicken, hen, bird, fish"
)
KIN = rf"(?:(?:step|half|grand|great-grand|god)-?)?(?:{phrases(_KIN)})(?:-in-law)?"
SOMEBODY = rf"(?:{KIN}|{phrases(_OTHERS)}|{phrases(PETS)})"
NAME = r"(?-i:[A-Z](?:[\w-]|'(?!s\b))*(?:\s(?:(?:de|da|van|von|del|la|al|bin)\s)?[A-Z](?:[\w-]|'(?!s\b))+)?)"
_MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    "|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
DATE = (
    rf"(?:(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}|{_MONTH}\s+(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?)"
    r"(?:,?\s+(?:19|20)\d\d)?\b"
)
_MY = r"(?:my|our)\s+(?:(?:younger|older|elder|eldest|youngest|little|big|new|baby|twin|lovely|dear|late)\s+)*"
_PERSON = rf"{_MY}(?P<who>{SOMEBODY})(?:,?\s+(?P<name>{NAME}),?)?"
_VALUE = r"[^.,;!?()]+?"
_END = r"(?=\s*(?:[.,;!?()]|$|\s(?:and|but|so|because|while)\s))"


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_SUBJECT = _rule(rf"\b(?:{_PERSON}|(?P<named>{NAME}))\b")
# The phrases and patterns of the responder.
TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("responder.toml").read_text(encoding="utf-8"))
_PARTS = {
    **TABLES["patterns"],
    "SOMEBODY": SOMEBODY,
    "NAME": NAME,
    "DATE": DATE,
    "PET": phrases(PETS),
    "PROFESSIONS": "|".join(sorted(PROFESSIONS)),
}


def pattern(text: str) -> re.Pattern[str]:
    """A pattern of the tables, with the parts that it names by <PART>."""
    return _rule(re.sub(r"<([A-Z]+)>", lambda part: str(_PARTS[part[1]]), text))


_BIRTHDAY = _rule(rf"('s|s')\s+birthday\s*(?:'s|is|falls)?\s*(?:on\s+)?(?P<date>{DATE})")
_AGED = _rule(
    r"(?:\s*\((?P<brackets>\d{1,3})\)|,\s+(?P<aside>\d{1,3})(?=\s*(?:[.,;!)]|$|\s+and\b))"
    r"|(?:\s+is|'s)\s+(?:now\s+|already\s+|only\s+)?(?P<age>\d{1,3})(?:\s*years?[\s-]old|(?=\s*(?:now\b|[.,;!)]|$|\s+and\b)))"
    r"|\s+(?:has\s+)?(?:just\s+)?turned\s+(?P<turned>\d{1,3})\b|(?:\s+is|'s)\s+(?P<unit>\d{1,2}\s+(?:months?|weeks?))\s+old)"
)
_CALLED = _rule(rf"(?:'s\s+name\s+is|'s\s+called|\s+is\s+(?:called|named)|\s+is)\s+(?P<name>{NAME}){_END}")
_LIVES = _rule(
    rf"\s+(?:now\s+|still\s+)?(?P<how>lives|works|moved|studies|was\s+born)\s+(?P<rest>(?:in|at|to|on|for|as|with|near)\s+{_VALUE}){_END}"
)
_HAS = _rule(
    rf"('s|s')\s+(?P<what>(?!name\b|birthday\b)[a-z][\w-]*(?:\s[\w-]+){{0,2}}?)\s+(?P<is>is|are)\s+(?:called\s+)?(?P<value>(?!not\b)[^.,;!?()]+?){_END}"
)
_DOES = _rule(
    rf"\s+(?:now\s+|also\s+|really\s+)?(?P<verb>is\s+(?:allergic|married|engaged|an?|vegan|vegetarian|pescatarian|diabetic|coeliac"
    rf"|celiac|retired|pregnant)|has|drives|plays|loves|likes|hates|studies|speaks|supports)\b(?P<rest>{_VALUE}|){_END}"
)
_PRONOUN = _rule(
    r"(?:,|;|\s)\s*(?:(?:and|but|who)\s+)?(?:he|she|they|who|it)(?=(?:'s|\s+(?:is|lives|works|moved|studies|loves|likes|hates|has|turned|just|was))\b)"
)
_AND = _rule(r"\s*,?\s+and(?=\s+(?:is|lives|works|plays|loves|likes|hates|has|drives)\b)")
_NEWBORN = _rule(
    rf"\b(?:had|have|got|welcomed)\s+(?:an?\s+|our\s+|my\s+)(?:new\s+|little\s+)*(?:baby\s+)?(?P<what>girl|boy|daughter|son)\b,?\s+"
    rf"(?:(?:called|named)\s+)?(?P<name>{NAME})(?:,?\s*(?:who\s+was\s+)?born\s+(?:on\s+)?(?P<date>{DATE}))?"
)
_OWNED = _rule(
    rf"\b(?:have|'ve\s+got|got|adopted|bought|rescued)\s+(?:(?:an?|two|three|\d)\s+)?(?:[\w-]+\s+){{0,2}}?(?P<what>{phrases(PETS)}|twin|son|daughter|brother|sister|kid|child)"
    rf"(?P<many>s|ren)?[,:]?\s+(?:(?:called|named)\s+|(?:his|her|its|their)\s+name\s+is\s+)?(?P<names>{NAME}(?:(?:,|\s+and|,\s+and)\s+{NAME})*)"
)
_BORN = {"girl": "daughter", "boy": "son"}
# Words with a capital letter that name nobody.
_NOBODY = frozenset(
    """i i'm i've i'll i'd my our we the a an it it's he she they this that there here what who when where how why and but
    so no yes please hi hello hey oh ok okay well actually also today tomorrow yesterday monday tuesday wednesday thursday
    friday saturday sunday january february march april may june july august september october november december
    christmas easter english german french spanish its his her their your you one name age birthday dear""".split()
)
_ONE_OF = frozenset("wife husband spouse partner girlfriend boyfriend fiancee fiance mother mum mom father dad".split())


def others(message: str) -> tuple[Statement, ...]:
    """The facts that `message` states of people and animals other than the one who writes it."""
    found: list[Statement] = []
    for sentence in sentences(plain(message)):
        if not QUESTION.search(sentence) and not doubtful(sentence) and '"' not in sentence:
            found += _of(sentence)
    return tuple({(fact.text, fact.key): fact for fact in found}.values())


def _of(sentence: str) -> Iterator[Statement]:
    if match := _NEWBORN.search(sentence):
        what, name = match["what"].lower(), match["name"]
        yield Statement(f"{capitalised(_BORN.get(what, what))} is called {name}", "", "family", quote=sentence)
        if match["date"]:
            yield Statement(
                f"{name} was born on {match['date']}", f"{slug(name)}_date_of_birth", "family", quote=sentence
            )
    for match in _OWNED.finditer(sentence):
        one = match["what"].lower().replace("kid", "child").replace("twin", "child")
        for name in re.findall(NAME, match["names"]):
            category = "family" if re.fullmatch(KIN, one, re.IGNORECASE) or one == "child" else "pets"
            yield Statement(f"{capitalised(one)} is called {name}", "", category, quote=sentence)
    for match in _SUBJECT.finditer(sentence):
        who, name = (match["who"] or "").lower(), match["name"] or ""
        if match["named"] and (match["named"].split()[0].casefold() in _NOBODY or not _known(match, sentence)):
            continue
        if name and name.split()[0].casefold() in _NOBODY:
            name = ""
        yield from _said_of(who, name or match["named"] or "", sentence[match.end() :].removeprefix(","), sentence)


def _known(match: re.Match[str], sentence: str) -> bool:
    """Whether a bare name is the subject of its clause, so that what follows is said of it."""
    before = sentence[: match.start()].rstrip()
    return not before or before[-1] in ",;" or before.casefold().endswith((" and", " but"))


def _said_of(who: str, name: str, rest: str, quote: str) -> Iterator[Statement]:
    """What follows the mention of somebody, and what follows the pronouns that stand for them."""
    relation = capitalised(who)
    if who and name:
        yield Statement(f"{relation} is {name}", _key(who, "name"), _category(who), quote=quote)
    subject = name or relation
    while rest:
        if match := _BIRTHDAY.match(rest):
            yield Statement(
                f"{subject}'s birthday is {match['date']}", f"{slug(subject)}_birthday", "family", quote=quote
            )
        elif match := _HAS.match(rest):
            yield Statement(
                f"{subject}'s {match['what']} {match['is']} {match['value']}",
                f"{slug(subject)}_{slug(match['what'])}",
                "family",
                quote=quote,
            )
        elif match := _AGED.match(rest):
            age = match["brackets"] or match["aside"] or match["age"] or match["turned"]
            said = f"{age} years" if age else match["unit"]
            yield Statement(f"{subject} is {said} old", f"{slug(subject)}_age", "family", quote=quote)
        elif who and not name and (match := _CALLED.match(rest)) and match["name"].split()[0].casefold() not in _NOBODY:
            name = match["name"]
            link = "is called" if "called" in match[0] or "name" in match[0] else "is"
            yield Statement(f"{relation} {link} {name}", _key(who, "name"), _category(who), quote=quote)
            subject = name
        elif match := _LIVES.match(rest):
            how, where = match["how"].lower(), match["rest"].strip()
            if how == "moved":
                how, where = "lives", re.sub(r"^to\b", "in", where)
            slot = {"lives": "home_city", "works": "occupation" if where.startswith("as") else "employer"}.get(how, "")
            where = re.sub(r"\s+(?:now|these days|at the moment|last \w+)$", "", where)
            yield Statement(
                f"{subject} {how} {where}", f"{slug(subject)}_{slot}" if slot else "", "family", quote=quote
            )
        elif match := _DOES.match(rest):
            yield Statement(f"{subject} {match['verb'].lower()}{match['rest']}".strip(), "", "family", quote=quote)
        else:
            return
        rest = rest[match.end() :]
        following = _PRONOUN.match(rest) or _AND.match(rest)
        if following is None:
            return
        rest = rest[following.end() :]


def _key(who: str, what: str) -> str:
    """The slot of a name; several sisters may have one each, so they have none."""
    if who in _ONE_OF:
        return {"fiancee": "fiance", "mum": "mother", "mom": "mother", "dad": "father"}.get(who, who)
    return f"{slug(who)}_{what}" if re.fullmatch(phrases(PETS), who) else ""


def _category(who: str) -> str:
    return "pets" if re.fullmatch(phrases(PETS), who) else "family"


_STATEMENTS = tuple(
    (pattern(row["said"]), row["fact"], row.get("key", ""), row["category"]) for row in TABLES["statements"]
)


_INTRODUCED = _rule(
    r"(?:(?:hi|hello|hey|good (?:morning|afternoon|evening))\b[\s,!.]*(?:there[\s,!.]*)?)?(?:i'm|i am|this is|it's)\s+"
    r"(?P<name>(?-i:[A-Z][a-z][\w'-]*))(?=\s*(?:[.,!]|$|and\b|here\b|by the way))"
)
_HAVING = _rule(r"i(?:'ve got| have)(?: got)? (?P<what>[^.;!?]+)")
_EACH = _rule(
    rf"\b(?:an?|one|two|three|four|five|\d) (?:(?:older|younger|little|big|twin) )?(?:{KIN}|{phrases(PETS)})s?\b(?!-|,? (?:called|named|(?-i:[A-Z])))"
)
_ASIDE = pattern(
    r",?\s*(?:(?:and )?(?P<age>\d{1,3})(?: years old)?(?=[.,;!]|$| and|\s+from))?(?:,?\s*(?:and )?(?:i'm )?(?P<job>an? (?:[\w-]+ ){0,2}(?:<PROFESSIONS>)))?"
    r"(?:,?\s*(?:and )?(?:i'm )?from (?P<place><NAME>))?"
)
_PEOPLES = _rule(
    r".*(?:ish|ese|[^i]sian|anian|alian|ican|nch|ndian|ussian|adian|gian|razilian)$|german|dutch|greek|swiss|thai|czech|muslim|jewish|catholic|hindu|buddhist|welsh|scots"
)


def more(message: str) -> Iterator[Statement]:
    """What the owner says of themselves in forms that the grammar does not read."""
    told = _INTRODUCED.match(plain(message))
    if told and told["name"].casefold() not in _NOBODY and not _PEOPLES.fullmatch(told["name"]):
        yield Statement(f"Name is {told['name']}", "name", "personal", quote=told[0])
        if aside := _ASIDE.match(plain(message)[told.end() :]):
            if aside["age"]:
                yield Statement(f"Is {aside['age']} years old", "age", "personal", quote=message)
            if aside["job"]:
                yield Statement(f"Works as {aside['job']}", "occupation", "work", quote=message)
            if aside["place"]:
                yield Statement(f"Comes from {aside['place']}", "origin", "home", quote=message)
    for sentence in sentences(plain(message)):
        if QUESTION.search(sentence) or (doubtful(sentence) and "used to" not in sentence) or '"' in sentence:
            continue
        if having := _HAVING.match(sentence):
            for one in _EACH.finditer(having["what"]):
                yield Statement(f"Has {one[0].lower()}", "", "family", quote=sentence)
        for rule, text, key, category in _STATEMENTS:
            if match := rule.search(sentence):
                yield Statement(text.format(match["v"].strip()), key, category, quote=sentence)
