"""What a message states, asks, and wants forgotten.

A sentence is taken apart into clauses, and a clause into a subject (the owner, a relative, a pet, a name) and a predicate
in its base form: "I've been working at Acme" and "she works at Acme" both say "work at Acme". The rows of `slots.toml`
read the predicates. A sentence that asks, supposes, plans or reports somebody else's words yields nothing: the message is
stored as an episode anyway, and a missed fact is better than an invented one.
"""

# ruff: noqa: E501  # a pattern that is broken into pieces is harder to read than a long line

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from memories.english import vocabulary
from memories.english.playbooks import LONGEST, StatedPlaybook, read_playbook
from memories.english.slots import DATE, KIN, NAME, PETS, SLOTS, SOMEBODY, TABLES, pattern, same, spelled
from memories.english.text import (
    CAPITAL,
    capitalised,
    compiled,
    content_words,
    phrases,
    plain,
    sentences,
    slug,
    with_subject,
    without_time,
    word_set,
)

# Longer sentences tell stories.
LONGEST_SENTENCE = 400
_LONGEST_TASTE, _LONGEST_VALUE = 4, 5


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
    """A message, read once. `text`: its words with its own slips and corrections applied."""

    text: str = ""
    statements: tuple[Statement, ...] = ()
    playbook: StatedPlaybook | None = None
    forget: str | None = None
    questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom a clause is about; empty for the owner."""

    who: str = ""
    name: str = ""

    def __str__(self) -> str:
        return self.name or capitalised(self.who)


_OWNER = Subject()
_MY = r"(?:my|our)\s+(?:(?:younger|older|elder|eldest|youngest|little|big|new|current|baby|twin|lovely|dear|late)\s+)*"
_PERSON = rf"(?P<who>{SOMEBODY})(?![\w-])(?:,?\s+(?P<name>{NAME}))?"
_SUBJECT = compiled(
    rf"(?:(?P<own>i|we)\b|{_MY}{_PERSON}|(?P<pronoun>he|she|they|who|it|his|her|its)\b|(?P<named>{NAME})(?=\W))(?P<of>'s?(?=\s))?(?P<rest>.*)$",
    re.DOTALL,
)
_VERBS = (
    "am, is, are, was, have, has, live, lives, work, works, love, loves, like, likes, hate, hates, enjoy, drive, drives, play, plays, "
    "ride, rides, speak, speaks, study, studies, start, started, moved, joined, prefer, eat, eats, don't, can't, cannot, turned, bought, adopted, used to"
)
_NEXT = compiled(
    rf"(?:\s*[,;:]\s*(?:and\s+|but\s+|so\s+)?|\s+[-–—]\s+|\s+(?:and|but)\s+)(?:also\s+)?(?=(?:(?:today|then|now|yesterday|on \w+day|last \w+)\s+)?(?:(?:i|we|my|our|he|she|they|who|it|his|her)\b(?!-)|(?:{phrases(_VERBS)})\b))"
)
_ANOTHER_TIME = compiled(
    r"(?:when|whenever|once|before|after|as|back|until|while|during|in those|whether|because|since)\b"
)
_ADVERBS = r"(?:(?:still|just|recently|finally|currently|also|both|all|actually|already|usually|really|always|absolutely|only|very|never mind)\s+)*"
_NOW = r"(?:now\s+)?"
_DOING = {
    "living": "live", "staying": "stay", "working": "work", "employed": "work", "studying": "study", "eating": "eat", "driving": "drive",
    "drinking": "drink", "smoking": "smoke", "learning": "learn", "playing": "play", "riding": "ride",
}  # fmt: skip
_BE = compiled(rf"(?:'m|'re|'s|am|are|is)\s+{_ADVERBS}")
_HAVE = compiled(rf"(?:'ve|have|has|'s)\s+{_ADVERBS}(?=got\b|been\b|left\b|bought\b|begun\b|\w+ed\b)(?!lived\b)")
_PLAIN = compiled(rf"{_ADVERBS}{_NOW}{_ADVERBS}")
_CONTINUED = compiled(rf"(?:be|been)\s+{_NOW}(?P<verb>{'|'.join(_DOING)})\b")
_IRREGULAR = {"has": "have", "goes": "go", "does": "do", "is": "are", "teaches": "teach", "watches": "watch"}
_OF_HIM, _OF_HER = word_set("he his"), word_set("she her")
_SHE = compiled(
    r"mother|mum|mom|sister|daughter|wife|girlfriend|aunt|niece|grandm\w+|gran\w?|granny|nan|landlady|granddaughter"
)
_HE = compiled(r"father|dad|brother|son|husband|boyfriend|uncle|nephew|grand(?:father|pa|son)|landlord")
# Words with a capital letter that name nobody.
_NOBODY = word_set(
    """i i'm i've i'll i'd my our we the a an it it's he she they this that there here what who when where how why and but
    so no yes please hi hello hey oh ok okay well actually also today tomorrow yesterday monday tuesday wednesday thursday
    friday saturday sunday january february march april may june july august september october november december
    christmas easter english german french spanish its his her their your you one name age birthday dear everyone everybody
    nobody somebody someone in on at remember translate traffic work life mr mrs ms"""
)
# People have one of these, so another name replaces the first.
_ONE_OF = word_set(
    "wife husband spouse partner girlfriend boyfriend fiance mother father boss landlord landlady doctor dentist gp vet therapist flatmate"
)


def read(message: str, before: str = "") -> Reading:
    """What `message` says; a pronoun may stand for the relative or pet that `before` spoke of last."""
    text = plain(message)
    if (playbook := read_playbook(text) if len(text) <= LONGEST else None) is not None:
        return Reading(text, playbook=playbook)
    text = mended(spelled(text))
    clauses = _Clauses(before)
    statements = list(_introduced(text))
    forget: str | None = None
    asked: list[str] = []
    unmeant = vocabulary.unmeant(text)
    for place, whole in enumerate(sentences(text)):
        sentence = _POLITE.sub(r"\1", _OPENERS.sub("", whole))
        sentence = with_subject(sentence) if place == 0 else sentence
        if len(sentence) > LONGEST_SENTENCE:
            continue
        if match := _FORGET.match(sentence):
            forget = match["about"].strip()
        elif found := () if unmeant else tuple(_said(sentence, clauses)):
            corrects = bool(DENIED.match(whole))
            statements += (replace(each, corrects=corrects or each.corrects) for each in found)
        elif vocabulary.QUESTION.search(sentence):
            asked.append(_about_whom(whole, clauses.spoken_of(whole)))
    return Reading(
        text, tuple(dict.fromkeys(statements)), None, forget, tuple(each for one in asked for each in parted(one))
    )


def _said(sentence: str, clauses: _Clauses) -> Iterator[Statement]:
    """The facts of one sentence: what it asks to remember, else what it states in passing."""
    if match := _TO_DO.match(sentence):
        yield Statement(f"To do: {_closed(match['what'])}", category="to do")
        return
    asked = _REMEMBER_THAT.match(sentence) or (
        (match := _REMEMBER.match(sentence)) and _HAS_VERB.search(match["what"]) and match
    )
    what = asked["what"] if asked else sentence
    found = tuple(clauses.read(what))
    yield from found
    if asked and not found and (not vocabulary.QUESTION.search(what) or what.casefold().startswith(("is ", "are "))):
        yield Statement(capitalised(_closed(what)))  # what the user asks to remember is stored in any case


def _introduced(text: str) -> Iterator[Statement]:
    """The name that somebody gives after a greeting, or alone: "Hi! I'm Mira", "This is Bob.", with age and the like."""
    match = _INTRODUCED.match(text)
    if match and (name := vocabulary.person_in(match["name"] or match["here"])):
        if name.casefold() not in _NOBODY and not _PEOPLES.fullmatch(name):
            yield Statement(f"Name is {name}", "name", "personal", quote=match[0])


class _Clauses:
    """Reads the clauses of one message; remembers whom they spoke of last."""

    def __init__(self, before: str) -> None:
        self._other = _mentioned(before)

    def spoken_of(self, sentence: str) -> Subject | None:
        """Whom a pronoun in `sentence` means: somebody of whom it does not speak itself."""
        return None if _mentioned(sentence) else self._other

    def read(self, sentence: str) -> Iterator[Statement]:
        """What a sentence states in passing; nothing if it asks, supposes or reports."""
        bare = _NOT_THAT.sub(r"\1", _OPENERS.sub("", sentence))
        silent = (
            vocabulary.QUESTION.search(sentence) or vocabulary.doubtful(_USED_TO.sub("", sentence)) or '"' in sentence
        )
        if not silent and not _ANOTHER_TIME.match(bare):
            named = [*_called(bare)]
            last, found = _OWNER, []
            for part in _NEXT.split(bare):
                clause = without_time(_OPENERS.sub("", part)).strip()
                last = self._subject(clause, last)
                found += [replace(each, quote=part.strip()) for each in self._clause(clause, last)]
                self._other = _mentioned(part) or self._other
            found += [replace(each, quote=sentence) for each in _anywhere(bare)]
            names = {each.text.rpartition(" ")[2] for each in named}
            found = [
                each for each in found if not (each.text.startswith("Has a") and each.text.rpartition(" ")[2] in names)
            ]
            moved = bool(_MOVED.search(bare))
            for each in (*found, *(replace(each, quote=sentence) for each in named)):
                beside = each.key in _SEVERAL_HOLD and bool(_BESIDE.search(each.quote))
                yield replace(
                    each, moved=moved and each.category == "home", beside=beside, key="" if beside else each.key
                )
        elif not silent:
            self._other = _mentioned(sentence) or self._other

    def _subject(self, clause: str, last: Subject) -> Subject:
        """Whom a clause is about; one without a subject of its own goes on about the last one."""
        match = _subject(clause)
        if match is None:
            return last
        if match["pronoun"]:
            return self._other if self._other and _fits(match["pronoun"], self._other) else Subject("?")
        if match["who"] or match["named"]:
            return Subject(*_relation(match["who"] or "", match["name"] or match["named"] or ""))
        return _OWNER

    def _clause(self, clause: str, subject: Subject) -> Iterator[Statement]:
        """The facts of one clause."""
        match = _subject(clause)
        if subject.who == "?":
            return
        rest = match["rest"] if match else f" {clause}"
        owned = match and (match["of"] or (match["pronoun"] or "").casefold() in ("his", "her", "its"))
        if (thing := _THING.match(clause)) and not (match and (match["who"] or match["named"])):
            yield from _possession(_OWNER, thing)
        elif match and owned and (thing := _THING.match(f"my{rest}")):
            yield from _possession(subject, thing)
        elif match and subject is not _OWNER:
            found = tuple(_of_other(subject, _predicate(f"'s{rest}" if owned else rest, other=True)))
            if not found and match["who"] and (thing := _THING.match(clause)):
                found = tuple(_possession(_OWNER, thing))
            yield from found
        elif subject == _OWNER:
            yield from _of_owner(_predicate(rest, other=False))
        else:
            yield from _of_other(subject, _predicate(rest, other=True))


def _subject(clause: str) -> re.Match[str] | None:
    """The subject of a clause; a word that names nobody is none."""
    match = _SUBJECT.match(clause)
    return None if match and match["named"] and match["named"].split(" ")[0].casefold() in _NOBODY else match


def _mentioned(text: str) -> Subject | None:
    """The relative or pet that `text` speaks of last."""
    found = list(_MENTION.finditer(text))
    if not found:
        return None
    who, name = found[-1]["who"] or found[-1]["what"], found[-1]["name"] or found[-1]["called"] or ""
    return Subject(*_relation(who, name))


def _relation(who: str, name: str) -> tuple[str, str]:
    return who.lower(), "" if name.split(" ", maxsplit=1)[0].casefold() in _NOBODY and who else name


def _fits(pronoun: str, subject: Subject) -> bool:
    low = pronoun.casefold()
    return not ((low in _OF_HIM and _SHE.fullmatch(subject.who)) or (low in _OF_HER and _HE.fullmatch(subject.who)))


def _about_whom(question: str, subject: Subject | None) -> str:
    """A question with the person that its pronoun means in the pronoun's place."""
    match = _ASKED_PRONOUN.search(question)
    if match is None or subject is None or not _fits(match[0], subject):
        return question
    whom = subject.name or f"my {subject.who}"
    owned = "'s" if match[0].casefold() in ("his", "her", "its") else ""
    return f"{question[: match.start()]}{whom}{owned}{question[match.end() :]}"


def _predicate(rest: str, *, other: bool) -> str:
    """The predicate behind a subject, in its base form: "'ve just been living in Hull" becomes "live in Hull"."""
    text = rest.strip()
    if match := _BE.match(text):
        text = f"be {text[match.end() :]}"
    else:
        text = _HAVE.sub("", text, count=1)
        text = re.sub(r"^'ve\b", "have", text)
        text = text[_PLAIN.match(text).end() :] if _PLAIN.match(text) else text  # type: ignore[union-attr]
        first, _, more = text.partition(" ")
        text = f"{base_form(first.casefold())} {more}".strip() if other else text
    if match := _CONTINUED.match(text):
        text = f"{_DOING[match['verb'].lower()]}{text[match.end() :]}"
    return text[_PLAIN.match(text).end() :]  # type: ignore[union-attr]


def base_form(verb: str) -> str:
    """A verb of the third person as said of "you": lives, live."""
    if verb in _IRREGULAR or not verb.endswith("s") or verb.endswith("ss"):
        return _IRREGULAR.get(verb, verb)
    if verb.endswith("ies") and len(verb) > len("ties"):
        return f"{verb[:-3]}y"
    return verb[:-2] if verb.endswith(("sses", "shes", "ches", "xes", "zes")) else verb[:-1]


# -- what predicates say ------------------------------------------------------------------------------------------


def _closed(text: str) -> str:
    return text.strip().rstrip(".!;,: ").strip()


def _short(text: str) -> str:
    """A value of a few words that names something."""
    value = vocabulary.without_tail(text)
    words = value.split()
    names = 0 < len(words) <= _LONGEST_TASTE and words[0].casefold() not in vocabulary.POINTING
    return value if names and not _SELF.search(value) else ""


def _job(text: str) -> str:
    return _JOB_ENDS.split(text, maxsplit=1)[0].strip()


def _profession(text: str) -> str:
    job = _job(text)
    return job if job and job.split()[-1].casefold() in vocabulary.PROFESSIONS else ""


def _owned(text: str) -> str:
    """A possession that lasts: one with a name, or one of a few kinds."""
    what = _AFTER_A_THING.sub("", text).strip()
    head = what.split(" with ", 1)[0]
    lasts = re.search(r"\b(?:[A-Z][\w'-]*|\w*\d\w*)", head) or _DURABLE.search(head)
    return what if lasts and not _CONSUMED.search(text) else ""


def _habit(text: str) -> str:
    match = _OFTEN.search(text)
    verb, _, what = text[: match.start()].partition(" ") if match else ("", "", "")
    told = text[: match.end()] if match else ""
    good = match and "," not in told and content_words(what or verb) and not _NO_HABIT.search(what)
    return vocabulary.third_person(told) if good else ""


def _listed(text: str) -> list[str]:
    """The parts of a list: "hiking, jazz and tea"."""
    return [part for part in re.split(r",\s*(?:and\s+)?|\s+and\s+", text) if part.strip()]


def _likes(text: str) -> list[str]:
    """What is liked. "Fish and chips" may be one dish: only a list of three parts, or with a comma, is taken apart."""
    parts = _listed(vocabulary.without_tail(text))
    named = [_short(part) for part in ([text] if len(parts) < 3 and "," not in text else parts)]  # noqa: PLR2004 - as it says
    return named if all(named) else []


def _allergens(text: str) -> list[str]:
    things = [_ALLERGEN_ENDS.split(part, maxsplit=1)[0].strip() for part in _listed(_closed(text))]
    return [
        each
        for each in things
        if each and each.casefold() not in _NO_ALLERGENS and len(each.split()) <= vocabulary.LONGEST_THING
    ]


# What a named group of a pattern has to be; a group that a cleaner empties keeps the row from saying anything.
_CLEAN: dict[str, Callable[[str], str | list[str]]] = {
    "place": vocabulary.place_in,
    "person": vocabulary.person_in,
    "capitals": vocabulary.name_at,
    "employer": lambda text: vocabulary.workplace_in(_JOB_TIME.split(text, maxsplit=1)[0]),
    "value": vocabulary.without_tail,
    "short": _short,
    "title": _job,
    "profession": _profession,
    "owned": _owned,
    "habit": _habit,
    "likes": _likes,
    "allergens": _allergens,
    "third": lambda text: f"is {text[3:]}" if text.startswith("be ") else vocabulary.third_person(text),
    "taste": lambda text: text if text.lower() == "can't stand" else vocabulary.third_person(text.lower()),
    "how": str.lower,
    "article": str.lower,
    "housing": lambda text: f"{'an' if text[0].lower() in 'aeiou' else 'a'} {text.lower()}",
}
Row = tuple[re.Pattern[str], str, str, str]


def _rows(name: str) -> tuple[tuple[Row, ...], ...]:
    """The rows of each slot: pattern, wording, key, category."""
    return tuple(
        tuple((pattern(said), text, row.get("key", ""), row.get("category", "")) for said, text in row.get(name, ()))
        for row in SLOTS.values()
    )


_SAID, _ANYWHERE = _rows("said"), _rows("anywhere")
_OF_OTHERS = tuple((pattern(said), text, key, "family") for said, text, key in TABLES["others"]["said"])


def _filled(row: Row, match: re.Match[str]) -> Iterator[Statement]:
    """The statements of a row: its wording with the groups of the match."""
    _, text, key, category = row
    given = {name: value or "" for name, value in match.groupdict().items()}
    groups = {name: _CLEAN.get(name, _closed)(value) if value else "" for name, value in given.items()}
    if any(given[name] and not groups[name] for name in given):
        return
    several = next((name for name in groups if isinstance(groups[name], list)), "")
    for each in groups[several] if several else [""]:
        values = groups | {several: each}
        told = " ".join(text.format(**values).split())
        yield Statement(capitalised(told), key.format(each=slug(each).removesuffix("s")), category)


def _of_owner(predicate: str) -> Iterator[Statement]:
    """What the owner says of themselves: of each slot, what the first row that fits says."""
    if ended := _ended(predicate):
        yield ended
        return
    for rows in _SAID:
        found = ((match, row) for row in rows if (match := row[0].match(predicate)))
        yield from next((told for match, row in found if (told := tuple(_filled(row, match)))), ())


def _anywhere(sentence: str) -> Iterator[Statement]:
    """What a sentence says beside its clauses."""
    for rows in _ANYWHERE:
        for row in rows:
            if match := row[0].search(sentence):
                yield from _filled(row, match)
    for match in _CHANGED.finditer(sentence):
        yield from _possession(_OWNER, match)


def _of_other(subject: Subject, predicate: str) -> Iterator[Statement]:
    """What is said of somebody else."""
    called = _NAMED.match(predicate)
    if subject.who and not subject.name and called and called["name"].split()[0].casefold() not in _NOBODY:
        yield _name_of(subject.who, called["name"], " is called " if called["called"] else " is ")
        return
    for row in _OF_OTHERS:
        if match := row[0].match(predicate):
            for each in _filled(row, match):
                text = f"{each.text[0].lower()}{each.text[1:]}"
                yield replace(
                    each, text=f"{subject} {text}", key=f"{slug(str(subject))}_{each.key}" if each.key else ""
                )
            return


def _name_of(who: str, name: str, link: str) -> Statement:
    pet = who in PETS.split(", ")
    key = f"{who}_name" if pet else same(who) if same(who) in _ONE_OF else ""
    kin = re.fullmatch(rf"{KIN}|child", who, re.IGNORECASE)
    category = (
        "pets"
        if pet
        else "family"
        if kin
        else "home"
        if "land" in who
        else "work"
        if same(who) == "boss"
        else "personal"
    )
    return Statement(f"{capitalised(who)}{link}{name}", key, category)


def _called(sentence: str) -> Iterator[Statement]:
    """The names of relatives and pets that a sentence mentions: "my wife Ana", "two cats, Miso and Tofu", "our son Leo (3)"."""
    for match in _APPOSED.finditer(sentence):
        name = match["name"]
        if name.split()[0].casefold() not in _NOBODY:
            yield _name_of(match["who"].lower(), name, " is ")
            if match["age"]:
                yield Statement(f"{name} is {match['age']} years old", f"{slug(name)}_age", "family")
    for match in _OWNED.finditer(sentence):
        what = (match["what"] or match["mine"]).lower()
        for name in re.findall(NAME, match["names"]):
            if name.split()[0].casefold() not in _NOBODY:
                yield replace(_name_of(_BORN.get(what, what), name, " is called "), key="")
        if born := _BORN_ON.match(sentence[match.end() :]):
            yield Statement(f"{name} was born on {born['date']}", f"{slug(name)}_date_of_birth", "family")


def _possession(owner: Subject, match: re.Match[str]) -> Iterator[Statement]:
    """What "my <thing> is <value>" says of the owner, or of the thing of somebody else."""
    thing, value = match["thing"].strip(), vocabulary.without_tail(match["value"])
    key, words = slug(thing), thing.casefold().split()
    called = bool(match.groupdict().get("called"))
    link = match.groupdict().get("link") or "is"
    date = re.match(rf"(?:on )?(?P<date>{DATE})", value, re.IGNORECASE)
    if owner != _OWNER:
        name = re.match(NAME, value)
        if key == "name":
            if name and owner.who:
                yield _name_of(owner.who, name[0], " is called ")
        elif key != "birthday" or date:
            value = date["date"] if date and key == "birthday" else value
            if value and not vocabulary.TRANSIENT.match(value):
                yield Statement(f"{owner}'s {thing} {link} {value}", f"{slug(str(owner))}_{key}", "family")
    elif words[0] in ("favourite", "favorite") and len(words) > 1:
        if words[1] not in _VAGUE and not vocabulary.TRANSIENT.match(value):
            yield Statement(f"{capitalised(thing)} {link} {value}", f"favourite_{slug(' '.join(words[1:]))}", "taste")
    elif key in ("name", "full_name", "real_name"):
        if name := vocabulary.person_in(match["value"], any_case=True):
            yield Statement(f"Name is {name}", "name", "personal")
    elif key in ("home_city", "home_town"):
        if place := vocabulary.place_in(match["value"]):
            yield Statement(f"Lives in {place}", "home_city", "home")
    elif key == "birthday":
        if date:
            yield Statement(f"Birthday is {date[0]}", "birthday", "personal")
    elif called:
        if name := vocabulary.person_in(match["value"]):
            yield Statement(f"{capitalised(thing)} is called {name}", f"{key}_name", "personal")
    elif key := vocabulary.attribute_key(thing, value):
        person = key in vocabulary.PEOPLE and value.casefold().startswith(("a ", "an ", "the "))
        yield Statement(f"{capitalised(thing)} {link} {value}", "" if person else key, "personal")


def _ended(predicate: str) -> Statement | None:
    """What the owner no longer does, has or is."""
    match = next((match for each in _ENDED if (match := each.match(predicate))), None)
    if match is None:
        return None
    what = _closed(match["what"].split(", ", 1)[0])
    if verb := match.groupdict().get("verb"):
        what = f"{_DOING[verb.lower()]} {what}".strip()
        return (
            None
            if what == "eat"
            else Statement(f"No longer {vocabulary.third_person(what)}", category="food", ends=what)
        )
    if predicate.startswith("be "):
        return Statement(f"No longer {what}", ends=what) if _LASTING_STATE.match(what) else None
    idle = not what or what.split()[0].casefold() in vocabulary.STATES_OF_MIND
    return None if idle else Statement(f"No longer {vocabulary.third_person(what)}", ends=what)


# -- messages that correct themselves ------------------------------------------------------------------------------


def mended(message: str) -> str:
    """A message with what it corrects in itself put right: "I'm vegetarian. Wait, no, pescatarian." is one statement."""
    told: list[str] = []
    for sentence in sentences(message):
        if match := _INSIDE.search(sentence):
            better = "" if _FINITE.search(match["value"]) else _instead(sentence[: match.start()], match["value"])
            if better:
                told.append(better + sentence[match.end() :])
                continue
        right = fragment(sentence)
        if right and told and (better := _instead(told[-1], right)):
            told[-1] = better
            continue
        told.append(sentence)
    return " ".join(told) if len(told) > 1 else told[0] if told else ""


def fragment(message: str) -> str:
    """The value that a message gives in place of another, in short: "Wait, no, pescatarian"; empty if it gives none."""
    match = _FRAGMENT.fullmatch(message.strip())
    if match is None or _FINITE.search(match["value"]) or len(match["value"].split()) > _LONGEST_VALUE:
        return ""
    return match["value"].strip()


def value_of(text: str) -> str:
    """The value of a fact: Leeds of "Lives in Leeds"."""
    match = _AT_VALUE.match(text)
    return match["value"] if match else text


def with_value(text: str, right: str) -> str:
    """A fact with another value in its place; empty if it has none that `right` could stand for."""
    match = _AT_VALUE.match(text)
    if match is None:
        return ""
    old = match["value"]
    if right.isdigit() and _NUMBER.search(old):
        return match["head"] + _NUMBER.sub(right, old, count=1)
    if right.isdigit() or (_NUMBER.match(old) and not _NUMBER.search(right)):
        return ""
    if old[:1].isupper() and right.islower():
        right = right.title()
    if match["head"].endswith((" a ", " an ")):
        right = re.sub(r"^(?:an?|the)\s+", "", right, flags=re.IGNORECASE)
    return match["head"] + right


def _instead(sentence: str, right: str) -> str:
    """A sentence with the value of its last statement replaced; empty if that is not found in it."""
    for statement in reversed([*_Clauses("").read(sentence)]):
        words = value_of(statement.text).split()
        if right[:1].isdigit() and (number := _NUMBER.search(" ".join(words))):
            words = words if len(right.split()) > 1 else [number[0]]
        for start in range(len(words)):
            value = " ".join(words[start:])
            if place := re.search(rf"(?<!\w){re.escape(value)}(?!\w)", sentence, re.IGNORECASE):
                return sentence[: place.start()] + right + sentence[place.end() :]
    return ""


def parted(question: str) -> Iterator[str]:
    """The questions in a text, each by itself; "Where do I live and work?" asks twice."""
    if match := _TWICE.match(question.strip()):
        yield from (f"{match['asks']} {match[name]}?" for name in ("one", "other"))
        return
    halves = [half.strip() for half in _AND.split(question)]
    yield from halves if len(halves) > 1 and all(map(content_words, halves)) else [question]


_OPENER = r"(?:no|nope|wait|sorry|oops|correction|scratch that|i mean|i meant|make that|or rather|rather|actually|hang on|hold on|my mistake|my bad|not quite|that's wrong|that's not right|i misspoke)"
_IS = r"(?:(?:i mean|i meant|make that|it's|it is|it was|it should be|should be|that's|that is|he's|she's|they're|i'm|i am|in|at|on|to)\s+)?"
_VALUE = r"(?P<value>(?!(?:not|i|it|that|this|he|she|we|they|you|my|what|never|mind|thanks|please|the other)\b)[\w£$€][^.!?;,]{0,40}?)"
_FRAGMENT = compiled(
    rf"(?:(?:oh|ah|well|um|ok)[, ]+)*{_OPENER}(?:[\s,.!:–-]+{_OPENER})*[\s,.!:–-]+{_IS}(?:now )?{_VALUE}(?:,? (?:not|instead of) [\w ]+)?[.!]*$"
)
_INSIDE = compiled(rf"\s*[,;.–-]+\s*{_OPENER}(?:[\s,.!–-]+{_OPENER})*[\s,!–-]+{_IS}{_VALUE}(?=[.!;]|$|,? (?:and|but) )")
_FINITE = compiled(
    r"\b(?:is|are|was|am|have|has|had|live|lives|work|works|like|love|want|think|know|start|moved|don't|do|does|forget|remember|tell|can|will|got)\b"
)
_AT_VALUE = compiled(
    r"(?P<head>(?:.*?\b(?:is called|is named|is on|is an?|is the|is|are|lives in|lives at|works (?:at|for)|works as an?|works as|starts at"
    r"|allergic to|married to|engaged to|comes from|born on|born in|drives an?|rides an?|has an?|loves|likes|hates|prefers|plays the|plays|speaks|studies|has|pays))\s+)(?P<value>.+)$"
)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)?")
_AGAIN = r"(?:who|whom|whose|what|when|where|which|how|why|do|does|did|is|are|am|was|were|have|has|can)\b"
_AND = compiled(rf"(?:[,;]|(?<!\s))\s++(?:and|or)\s++(?:also\s++)?(?={_AGAIN})|;\s++(?={_AGAIN})")
_TWICE = compiled(
    r"(?P<asks>(?:where|when|how|what|who|which \w+) (?:do|did|have) (?:i|we)) (?P<one>\w+) and (?P<other>\w+)\s*\?*$"
)

# -- patterns ------------------------------------------------------------------------------------------------------

_THING = compiled(
    r"(?:my|our) (?:new |current |all-time )?(?P<thing>[\w' -]+?)(?:'s name is| is(?P<called> called| named)|'s| (?P<link>is|are)) (?:now )?(?P<value>.+)$"
)
_CHANGED = compiled(
    r"\bmy (?P<thing>[\w -]+?)\s+(?:has\s+)?(?:changed|drowned\b.*)(?:\s+to|[,:;]?\s+(?:and\s+)?(?:now\s+)?it's(?:\s+now)?)\s+(?P<value>.+)$"
)
_NAMED = compiled(
    rf"be (?P<called>called |named )?(?P<name>{NAME})(?=\s*(?:[.,;!?()]|$|\s(?:and|but|so|because|while|now)\s))"
)
_MENTION = compiled(
    rf"(?:my|our|your) (?:\w+ )?(?P<who>{SOMEBODY})\b(?!-)(?:(?: is called| is|,)? (?P<name>{NAME}))?|\ban? (?:\w+ )?(?P<what>{SOMEBODY}),? (?:called|named) (?P<called>{NAME})"
)
_ASKED_PRONOUN = compiled(r"(?<!what is )(?<!how's )\b(?:he|she|his|her|its)\b(?=[ ?])")
_APPOSED = compiled(rf"\b{_MY}(?P<who>{SOMEBODY}),?\s+(?P<name>{NAME})(?:\s*\((?P<age>\d{{1,3}})\))?")
_MINE = rf"(?:kids|children|twins|{phrases(PETS)}|sons|daughters|brothers|sisters)"
_OWNED = compiled(
    rf"\b(?:(?:have|has|'ve\s+got|got|adopted|bought|rescued|welcomed|with|had(?=\s+(?:an?|our)\s+(?:baby|son|daughter|little)))\s+(?:(?:an?|one|two|three|four|five|our|my|\d)\s+)?(?:[\w-]+\s+){{0,2}}?(?P<what>{phrases(PETS)}|{KIN}|kid|child|girl|boy)(?:s|ren)?"
    rf"|(?:my|our)\s+(?:(?:two|three|four|five)\s+)?(?P<mine>{_MINE})s?\s+are)[,:]?\s+(?:(?:called|named)\s+|(?:his|her|its|their)\s+names?\s+(?:is|are)\s+)?(?P<names>{NAME}(?:(?:,|\s+and|,\s+and)\s+{NAME})*)"
)
_BORN = {
    "girl": "daughter",
    "boy": "son",
    "kid": "child",
    "kids": "child",
    "children": "child",
    "twins": "child",
    "baby": "child",
}
_BORN |= {f"{one}s": one for one in (*PETS.split(", "), "son", "daughter", "brother", "sister")}
_BORN_ON = compiled(rf",?\s*(?:who was |was )?born\s+(?:on\s+)?(?P<date>{DATE})")
_PEOPLES = compiled(
    r".*(?:ish|ese|[^i]sian|anian|alian|ican|nch|ndian|ussian|adian|gian|razilian)$|german|dutch|greek|swiss|thai|czech|muslim|jewish|catholic|hindu|buddhist|welsh|scots"
)
_JOB_ENDS = compiled(r"\s+(?:and|since|in|at|for|but|now|last|today)\b|[,.!;]")
_JOB_TIME = compiled(r",|\s+(?:since|in|on|next)\b")
_OFTEN = pattern("<OFTEN>")
_ALLERGEN_ENDS = compiled(r"\s(?:now|again|since|because|for|with|too|by|so|after)\b")
_VAGUE = word_set("thing things part way one bit moment memory aspect")
_NO_ALLERGENS = word_set(
    "mornings mondays work meetings drama stupidity nonsense effort it that this you him her them people"
)
_SEVERAL_HOLD = ("employer", "occupation", "home_city")
_SELF = compiled(r"\b(?:my|myself|me|you|your)\b")
_NO_HABIT = compiled(
    r"\b(?:it|them|him|her|this|that|these|those)\b|^(?:late|to sleep|to bed|crazy|mad|nuts|wrong|back)\b"
)
_DURABLE = compiled(
    rf"\b(?:{phrases('bike, bicycle, car, van, motorbike, scooter, house, flat, apartment, boat, kayak, tent, piano, guitar, violin, laptop, computer, camera, telescope')})$"
)
_CONSUMED = compiled(
    rf"\b(?:{phrases('ticket, tickets, coffee, tea, beer, pizza, cake, sandwich, present, gift, drink, meal, lunch, dinner, bottle, card, book')})\b|\bfor\s+(?!me\b|myself\b|us\b|the\b|[£$€\d])"
)
_AFTER_A_THING = compiled(
    rf"\s*(?:[,.;!(]|\s[-–—]|\s(?:{phrases('for, from, because, since, yesterday, today, last, on, at, in, and, but, so, which, this morning, recently, now, to')})\b).*$"
)
_LASTING_STATE = compiled(
    rf"(?:(?:at|with|in)\s[A-Z]|(?:{phrases('a, an, vegan, vegetarian, pescatarian, married, single, engaged, allergic to, employed, living in, based in, working at, working for, working as, studying, retired')})\b)"
)
_ENDED = tuple(
    map(
        compiled,
        (
            r"(?:be )?no longer (?P<what>\w+.*)$",
            r"(?:don't|do not) (?P<what>\w+.*?) any\s?(?:more|longer)\b[.!]?$",
            r"be not (?P<what>\w+.*?) any\s?(?:more|longer)\b[.!]?$",
            r"(?:stopped|quit|given up|gave up) (?P<verb>eating|drinking|smoking)\s*(?P<what>[\w' -]*?)(?= (?:in|last|this|a|since|because|for|when|yesterday|today)\b|[,.!;]|$)",
        ),
    )
)
_BESIDE = compiled(r"\b(?:also|too|as well|second job|part[- ]time|on the side|at weekends|on weekends)\b")
_MOVED = compiled(r"\b(?:i|we)\b.{0,20}\b(?:moved|relocated|left)\b")
_USED_TO = compiled(r"\bused to\b")
DENIED = compiled(r"(?:(?:well|oh|hmm|hey|wait|hang on),?\s+)?(?:no|nope|nah|wrong|wait|that's (?:wrong|not right))\b")
# "I work for Globex, not Acme" says as much about Globex as without Acme.
_NOT_THAT = compiled(r",\s+(?:and\s+)?not\s+(?!any|only|just|because|that|yet|sure)[\w' -]+?([.!]*)$")
_INTRODUCED = compiled(
    rf"(?:(?:hi|hello|hey|good (?:morning|afternoon|evening))\b[^.!?]{{0,20}}?[.!,]?\s+)?(?:(?:i'm|i am|this is|it's)\s+(?P<name>{CAPITAL}[\w'-]+(?:\s{CAPITAL}[\w'-]+){{0,2}})(?=\s*(?:[.!,]|$|and\b|here\b|by the way))"
    rf"|(?P<here>{CAPITAL}[\w'-]+)\s+here(?=[.!,]|$))"
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
