"""Reads a message: its statements, questions, and requests to forget.

A sentence is split into clauses, and a clause into a subject (the owner, a relative, a pet, a name) and a predicate in
its base form: "I've been working at Acme" and "she works at Acme" both yield "work at Acme". The rows of `slots.toml`
match the predicates. A sentence that asks, supposes, plans or reports another person's words yields nothing, because
missing a fact is better than inventing one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from memories.english import vocabulary
from memories.english.people import also_listed, is_name, name_of, names_in
from memories.english.playbooks import LONGEST, StatedPlaybook, read_playbook
from memories.english.slots import DATE, NAME, PETS, SLOTS, TABLES, WORDS, P, Statement, measure_of, pattern, spelled
from memories.english.text import capitalised, content_words, first_sentences, plain, slug, with_subject, without_time

# Characters; longer sentences are usually narrative.
LONGEST_SENTENCE = 400
_LONGEST_TASTE, _LONGEST_VALUE, _LIST = 4, 5, 3
_IRREGULAR, _DOING = (TABLES[name] for name in ("base_forms", "doing"))
_HIS, _HERS = ("he", "his"), ("she", "her")
_SEVERAL_HOLD = ("employer", "occupation", "home_city")


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed message. `text` is the message with its typos and self-corrections applied."""

    text: str = ""
    statements: tuple[Statement, ...] = ()
    playbook: StatedPlaybook | None = None
    forget: str | None = None
    questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """The person or pet that a clause is about; empty for the owner."""

    who: str = ""
    name: str = ""

    def __str__(self) -> str:
        return self.name or capitalised(self.who)

    def is_meant_by(self, pronoun: str) -> bool:
        """True if the pronoun's gender fits the relation; "it" is a pet."""
        if pronoun.casefold() in ("it", "its"):
            return self.who in PETS
        wrong = P["she"] if pronoun.casefold() in _HIS else P["he"] if pronoun.casefold() in _HERS else None
        return wrong is None or not wrong.fullmatch(self.who)


_OWNER, _UNKNOWN = Subject(), Subject("?")


def read(message: str, before: str = "") -> Reading:
    """Parse `message`; a pronoun may refer to the relative or pet last mentioned in `before`."""
    text = plain(message)
    if (playbook := read_playbook(text) if len(text) <= LONGEST else None) is not None:
        return Reading(text, playbook=playbook)
    text = mended(spelled(text))
    clauses, unmeant = _Clauses(before), vocabulary.unmeant(text)
    statements, forget, asked = [*_introduced(text)], None, list[str]()
    for place, whole in enumerate(first_sentences(text)):
        sentence = P["polite"].sub(r"\1", P["openers"].sub("", whole))
        sentence = with_subject(sentence) if place == 0 else sentence
        if len(sentence) > LONGEST_SENTENCE:
            continue
        if match := P["forget"].match(sentence):
            forget = match["about"].strip()
        elif found := () if unmeant else tuple(_said(sentence, clauses)):
            corrects = bool(P["contradicts"].match(whole))
            statements += (replace(each, corrects=corrects) for each in found)
        elif vocabulary.QUESTION.search(sentence):
            asked += _parted(clauses.with_name(whole))
    return Reading(text, tuple(dict.fromkeys(statements)), None, forget, tuple(asked))


def _said(sentence: str, clauses: _Clauses) -> Iterator[Statement]:
    """Yield the facts of one sentence. A sentence that the user asks to remember is always stored."""
    if match := P["to_do"].match(sentence):
        yield Statement(f"To do: {_closed(match['what'])}", category="to do")
        return
    asked, self_told = P["remember_that"].match(sentence), P["remember"].match(sentence)
    if not asked and self_told and P["has_verb"].search(self_told["what"]):
        asked = self_told
    what = asked["what"] if asked else sentence
    found = tuple(clauses.read(what))
    yield from found
    if asked and not found and (not vocabulary.QUESTION.search(what) or what.casefold().startswith(("is ", "are "))):
        yield Statement(capitalised(_closed(what)))


def _introduced(text: str) -> Iterator[Statement]:
    """Yield the name given after a greeting or by itself: "Hi! I'm Mira", "This is Bob."."""
    match = P["introduced"].match(text)
    name = vocabulary.person_in(match["name"] or match["here"]) if match else ""
    if match and name and is_name(name) and not P["peoples"].fullmatch(name):
        yield Statement(f"Name is {name}", "name", "personal", quote=match[0])


class _Clauses:
    """Reads the clauses of one message and tracks the person or pet mentioned last."""

    def __init__(self, before: str) -> None:
        self._other = _mentioned(before)

    def with_name(self, question: str) -> str:
        """Replace the question's pronoun with the person it refers to."""
        match, other = P["asked_pronoun"].search(question), self._other
        if match is None or other is None or _mentioned(question) or not other.is_meant_by(match[0]):
            return question
        owned = "'s" if match[0].casefold() in ("his", "her", "its") else ""
        return f"{question[: match.start()]}{other.name or f'my {other.who}'}{owned}{question[match.end() :]}"

    def read(self, sentence: str) -> Iterator[Statement]:
        """Yield the statements of a sentence; none if it asks, supposes or reports."""
        bare = P["not_that"].sub(r"\1", P["openers"].sub("", sentence))
        doubtful = vocabulary.doubtful(P["used_to"].sub("", sentence))
        if doubtful or vocabulary.QUESTION.search(sentence) or '"' in sentence:
            return
        found: list[Statement] = []
        named = [replace(each, quote=sentence) for each in names_in(bare)]
        last, moved = _OWNER, bool(P["moved"].search(bare))
        for part, told in _parts(bare) if not P["another_time"].match(bare) else ():
            clause = _attribute_last(without_time(P["openers"].sub("", told)).strip())
            match = P["subject"].match(clause)
            match = match if match and (match["who"] or is_name(match["named"] or "x")) else None
            last = self._subject(match) if match else last
            found += (replace(each, quote=part.strip()) for each in _clause(clause, match, last))
            if P["of_somebodys"].match(clause) or (match is None and P["about_them"].match(clause)):
                last = _UNKNOWN  # what follows is about them: "my parents, Ann and Bob, live in Leeds"
            self._other = _mentioned(part) or self._other
        self._other = _mentioned(bare) or self._other
        found += (replace(each, quote=sentence) for each in _anywhere(bare))
        names = tuple(each.text.rpartition(" ")[2] for each in named)
        for each in (*found, *named):
            if not (
                names and each.text.startswith(("Has a", "Kids are", "Children are")) and each.text.endswith(names)
            ):
                beside = each.key in _SEVERAL_HOLD and bool(P["beside"].search(each.quote))
                key = "" if beside else each.key
                yield replace(each, moved=moved and each.category == "home", beside=beside, key=key)

    def _subject(self, match: re.Match[str]) -> Subject:
        if match["pronoun"]:
            return self._other if self._other and self._other.is_meant_by(match["pronoun"]) else _UNKNOWN
        return _OWNER if match["own"] else _person(match["who"] or "", match["name"] or match["named"] or "")


def _parts(sentence: str) -> Iterator[tuple[str, str]]:
    """Yield the clauses of a sentence, each in its words and with its subject: "29" of "I'm Priya, 29" is "I'm 29"."""
    described = P["described"].match(sentence)
    first, rest = (described["head"], sentence[described.end() :]) if described else (sentence, "")
    yield from ((part, part) for part in P["next"].split(first))
    more = re.split(r",\s+", described["more"])[1:] if described else []
    yield from ((each, f"I'm {each}") for each in more)
    yield from ((part, part) for part in P["next"].split(rest) if part)


def _person(who: str, name: str) -> Subject:
    return Subject(who.lower(), name if name and is_name(name) else "")


def _mentioned(text: str) -> Subject | None:
    """Return the relative or pet last mentioned in `text`."""
    found = [*P["mention"].finditer(text)][-1:]
    named = [(match["who"] or match["what"], match["name"] or match["called"] or "") for match in found]
    return _person(*named[0]) if named else None


def _attribute_last(clause: str) -> str:
    """Put an attribute after what has it: "my saddle's height is" and "the height of my saddle is" are one wording."""
    match = P["of_mine"].match(clause)
    if match is None:
        return clause
    whose, noun = match["thing"] or match["whose"], match["noun"] or match["name"] or "weight"
    person = "'s" if P["somebodys"].match(whose) else ""
    link = " is" if match["weighs"] is not None else ""
    return f"{match['mine'] or match['ours']} {whose}{person} {noun}{link}{clause[match.end() :]}"


def _clause(clause: str, match: re.Match[str] | None, subject: Subject) -> Iterator[Statement]:
    """Yield the facts of one clause; `match` is its subject, if it has its own."""
    rest = match["rest"] if match else f" {clause}"
    owned = match and (match["of"] or (match["pronoun"] or "").casefold() in ("his", "her", "its"))
    thing = P["thing"].match(f"my{rest}" if owned else clause)
    if subject == _UNKNOWN and (match or not thing):
        return
    if thing and (owned or match is None):
        yield from _possession(subject if owned else _OWNER, thing)
    elif subject == _OWNER:
        yield from _of_owner(_predicate(rest, other=False))
    else:
        found = tuple(_of_other(subject, _predicate(f"'s{rest}" if owned else rest, other=True)))
        yield from found or (_possession(_OWNER, thing) if thing else ())


def _predicate(rest: str, *, other: bool) -> str:
    """Return the predicate in its base form: "'ve just been living in Hull" becomes "live in Hull"."""
    text = rest.strip()
    if match := P["be"].match(text):
        text = f"be {text[match.end() :]}"
    else:
        text = P["adverbs"].sub("", P["have"].sub("", text, count=1).replace("'ve ", "have ", 1), count=1)
        first, _, more = text.partition(" ")
        text = f"{base_form(first.casefold())} {more}".strip() if other else text
    if match := P["continued"].match(text):
        text = f"{_DOING[match['verb'].lower()]}{text[match.end() :]}"
    return P["adverbs"].sub("", text, count=1)


def base_form(verb: str) -> str:
    """Return the form of a verb used with "you": "lives" becomes "live"."""
    if verb in _IRREGULAR or not verb.endswith("s") or verb.endswith("ss"):
        return str(_IRREGULAR.get(verb, verb))
    if verb.endswith("ies") and len(verb) > len("ties"):
        return f"{verb[:-3]}y"
    return verb[:-2] if verb.endswith(("sses", "shes", "ches", "xes", "zes")) else verb[:-1]


# -- meaning of predicates ----------------------------------------------------------------------------------------


def _closed(text: str) -> str:
    return text.strip().rstrip(".!;,: ").strip()


def _short(text: str) -> str:
    """Return a value of at most four words, or "" if it is longer or does not name anything."""
    value = vocabulary.without_tail(text)
    words = value.split()
    names = 0 < len(words) <= _LONGEST_TASTE and words[0].casefold() not in vocabulary.POINTING
    return value if names and not P["self"].search(value) else ""


def _job(text: str) -> str:
    return P["job_ends"].split(text, maxsplit=1)[0].strip()


def _profession(text: str) -> str:
    *_, last = ("", *_job(text).split())
    return _job(text) if last.casefold() in vocabulary.PROFESSIONS else ""


def _owned(text: str) -> str:
    """Return a lasting possession: one with a name, or one of a few kinds; else ""."""
    what = P["after_a_thing"].sub("", text).strip()
    lasts = P["durable"].search(what.split(" with ", 1)[0])
    return what if lasts and not P["consumed"].search(text) else ""


def _habit(text: str) -> str:
    if not (match := P["often"].search(text)) or "," in text[: match.end()]:
        return ""
    verb, _, what = text[: match.start()].partition(" ")
    lasts = content_words(what or verb) and not P["no_habit"].search(what)
    return vocabulary.third_person(text[: match.end()]) if lasts else ""


def _likes(text: str) -> list[str]:
    """Return the liked things.

    "Fish and chips" may be one dish, so only a list of three parts, or with a comma, is split.
    """
    parts = P["list"].split(vocabulary.without_tail(text))
    named = [_short(part) for part in (parts if len(parts) >= _LIST or "," in text else [text])]
    return named if all(named) else []


def _allergens(text: str) -> list[str]:
    things = (P["allergen_ends"].split(part, maxsplit=1)[0].strip() for part in P["list"].split(_closed(text)))
    several = (each for each in things if len(each.split()) <= vocabulary.LONGEST_THING)
    return [each for each in several if each and each.casefold() not in WORDS["no_allergens"]]


# Functions that clean each named group of a pattern. An empty result keeps the row from matching.
_CLEAN: dict[str, Callable[[str], str | list[str]]] = {
    "place": vocabulary.place_in,
    "person": vocabulary.person_in,
    "capitals": vocabulary.name_at,
    "employer": lambda text: vocabulary.workplace_in(P["job_time"].split(text, maxsplit=1)[0]),
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


def _rows(name: str) -> list[list[Row]]:
    """Return the rows of each slot: pattern, text template, key, category."""
    slots = ((row.get(name, ()), row.get("key", ""), row.get("category", "")) for row in SLOTS.values())
    return [[(pattern(said), text, key, category) for said, text in rows] for rows, key, category in slots]


_SAID, _ANYWHERE = _rows("said"), _rows("anywhere")
_OF_OTHERS = [(pattern(said), text, key, "family") for said, text, key in TABLES["others"]["said"]]
_ENDED = [pattern(ended) for ended in TABLES["ended"]["said"]]


def _filled(row: Row, match: re.Match[str]) -> Iterator[Statement]:
    """Yield the statements of a row: its text template filled with the groups of the match."""
    _, text, key, category = row
    given = {name: value for name, value in match.groupdict().items() if value}
    groups = dict.fromkeys(match.groupdict(), "") | {n: _CLEAN.get(n, _closed)(value) for n, value in given.items()}
    if all(groups[name] for name in given):
        name, several = next(((n, each) for n, each in groups.items() if isinstance(each, list)), ("", [""]))
        for each in several:
            told = " ".join(text.format(**groups | {name: each}).split())
            yield Statement(capitalised(told), key.format(each=slug(each).removesuffix("s")), category)


def _of_owner(predicate: str) -> Iterator[Statement]:
    """Yield the owner's statements about themselves, from the first matching row of each slot."""
    if ended := _ended(predicate):
        yield ended
        return
    for rows in _SAID:
        found = (tuple(_filled(row, match)) for row in rows if (match := row[0].match(predicate)))
        yield from next(filter(None, found), ())


def _anywhere(sentence: str) -> Iterator[Statement]:
    """Yield statements from patterns that match anywhere in a sentence, independent of its clauses."""
    for row in (row for rows in _ANYWHERE for row in rows):
        if match := row[0].search(sentence):
            yield from _filled(row, match)
    for match in P["changed"].finditer(sentence):
        yield from _possession(_OWNER, match)


def _of_other(subject: Subject, predicate: str) -> Iterator[Statement]:
    """Yield statements about another person or a pet."""
    called = P["named"].match(predicate)
    if subject.who and not subject.name and called and is_name(called["name"]):
        yield name_of(subject.who, called["name"], "is called" if called["called"] else "is")
        return
    row = next((row for row in _OF_OTHERS if row[0].match(predicate)), None)
    if row and (match := row[0].match(predicate)):
        for each in _filled(row, match):
            key = f"{slug(str(subject))}_{each.key}" if each.key else ""
            yield replace(each, text=f"{subject} {each.text[0].lower()}{each.text[1:]}", key=key)
    if child := P["named_child"].match(predicate):
        yield from (Statement(f"{subject} has {each}", "", "family") for each in also_listed(predicate, child.end()))


def _possession(owner: Subject, match: re.Match[str]) -> Iterator[Statement]:
    """Yield the statements in "my <thing> is <value>", for a thing of the owner or of another person."""
    said = match.groupdict()
    thing, raw, link = said["thing"].strip(), said["value"], said.get("link") or "is"
    value, key, words = vocabulary.without_tail(raw), slug(thing), thing.casefold().split()
    measured = P["measured"].match(value)
    date = re.match(rf"(?:on )?(?P<date>{DATE})", value, re.IGNORECASE)
    told: tuple[str, str, str] | None = None
    if owner != _OWNER and key == "name":
        if owner.who and (name := re.match(NAME, value)):
            yield name_of(owner.who, name[0], "is called")
    elif owner != _OWNER:
        value = date["date"] if date and key == "birthday" else value if key != "birthday" else ""
        told = f"{owner}'s {thing} {link}", value, f"{slug(str(owner))}_{key}"
    elif key.startswith("favourite_"):
        told = f"{capitalised(thing)} {link}", "" if words[1] in WORDS["vague"] else value, key
    elif key in ("name", "full_name", "real_name"):
        told = "Name is", vocabulary.person_in(raw, any_case=True), "name"
    elif key in ("home_city", "home_town"):
        told = "Lives in", vocabulary.place_in(raw), "home_city"
    elif key == "birthday":
        told = "Birthday is", date[0] if date else "", key
    elif said.get("called"):
        told = f"{capitalised(thing)} is called", vocabulary.person_in(raw), f"{key}_name"
    elif key := vocabulary.attribute_key(thing, value):
        person = key in vocabulary.PEOPLE and value.casefold().startswith(("a ", "an ", "the "))
        told = f"{capitalised(thing)} {link}", value, "" if person else key
    if told and told[2] and measured and words[-1] not in TABLES["measures"]:
        told = *told[:2], _measure_key(told[2], measured["unit"], measured["how"] or "")
    if told and told[1] and not vocabulary.TRANSIENT.match(told[1]):
        category = {"favourite": "taste", "home": "home"}.get(told[2].split("_")[0], "personal")
        yield Statement(f"{told[0]} {told[1]}", told[2], category if owner == _OWNER else "family")


def _measure_key(key: str, unit: str, how: str) -> str:
    """Return the key of a measure, for "Desk is 75 cm high" as for "Desk height is 75 cm"; "" for a unit of several."""
    noun = measure_of(unit, how)
    return key if noun is None else f"{key}_{noun}" if noun else ""


def _ended(predicate: str) -> Statement | None:
    """Return a statement of what the owner no longer does, has or is."""
    match = next((match for each in _ENDED if (match := each.match(predicate))), None)
    if match is None:
        return None
    what = _closed(match["what"].split(", ", 1)[0])
    if verb := match.groupdict().get("verb"):
        what = f"{_DOING[verb.lower()]} {what}".strip()
    elif predicate.startswith("be "):
        return Statement(f"No longer {what}", ends=what) if P["lasting_state"].match(what) else None
    if not what or what == "eat" or what.split()[0].casefold() in vocabulary.STATES_OF_MIND:
        return None
    return Statement(f"No longer {vocabulary.third_person(what)}", category="food" if verb else "", ends=what)


# -- messages that correct themselves ------------------------------------------------------------------------------


def mended(message: str) -> str:
    """Apply the self-corrections in a message: "I'm vegetarian. Wait, no, vegan." becomes one statement."""
    told: list[str] = []
    for sentence in first_sentences(message):
        if len(sentence) > LONGEST_SENTENCE:
            told.append(sentence)
            continue
        match, right = P["inside"].search(sentence), fragment(sentence)
        value = match["value"] if match else ""
        if match and not P["finite"].search(value) and (better := _instead(sentence[: match.start()], value)):
            told.append(better + sentence[match.end() :])
        elif right and told and (better := _instead(told[-1], right)):
            told[-1] = better
        else:
            told.append(sentence)
    return " ".join(told)


def fragment(message: str) -> str:
    """Return the replacement value of a short correction such as "Wait, no, pescatarian", or ""."""
    match = P["fragment"].fullmatch(message.strip())
    value = match["value"].strip() if match else ""
    return "" if P["finite"].search(value) or len(value.split()) > _LONGEST_VALUE else value


def value_of(text: str) -> str:
    """Return the value of a fact: "Leeds" for "Lives in Leeds"."""
    match = P["at_value"].match(text)
    return match["value"] if match else text


def with_value(text: str, right: str) -> str:
    """Return the fact with another value; "" if it has no value that `right` could replace."""
    match = P["at_value"].match(text)
    if match is None:
        return ""
    head, old = match["head"], match["value"]
    if right.isdigit():
        return head + P["number"].sub(right, old, count=1) if P["number"].search(old) else ""
    if P["number"].match(old) and not P["number"].search(right):
        return ""
    right = right.title() if old[:1].isupper() and right.islower() else right
    return head + (P["an"].sub("", right) if head.endswith((" a ", " an ")) else right)


def _instead(sentence: str, right: str) -> str:
    """Replace the value of the sentence's last statement; "" if the value is not found in it."""
    for statement in reversed([*_Clauses("").read(sentence)]):
        words = value_of(statement.text).split()
        if right[:1].isdigit() and (number := P["number"].search(" ".join(words))):
            words = words if len(right.split()) > 1 else [number[0]]
        for start in range(len(words)):
            value = re.escape(" ".join(words[start:]))
            if place := re.search(rf"(?<!\w){value}(?!\w)", sentence, re.IGNORECASE):
                return sentence[: place.start()] + right + sentence[place.end() :]
    return ""


def _parted(question: str) -> list[str]:
    """Split a text into its questions; "Where do I live and work?" contains two."""
    if match := P["twice"].match(question.strip()):
        return [f"{match['asks']} {match[name]}?" for name in ("one", "other")]
    halves = [half.strip() for half in P["and"].split(question)]
    return halves if len(halves) > 1 and all(map(content_words, halves)) else [question]
