"""Parses questions and looks up the owner's facts that answer them.

A question refers to somebody (the owner, a relative, a pet, a name) and a slot. Only a fact about that person in that
slot answers it: a mother-in-law is not a mother.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from memories.english.slots import DATE, MEASURES, PETS, SLOTS, SOMEBODY, TABLES, WORDS, P, pattern, same, spelled
from memories.english.text import content_words, slug, word_set
from memories.english.times import MONTHS
from memories.english.vocabulary import relation_key, same_things, third_person
from memories.models import Fact
from memories.types import Kind

# Slots whose answers also give the previous value.
_CHANGING = ("home", "employer", "job")
_END = TABLES["patterns"]["END"]
_ASKS = tuple((slot, pattern(asks + _END)) for slot, row in SLOTS.items() for asks in row.get("asks", ()))
_CONFIRMS = tuple((slot, pattern(asks + _END)) for slot, row in SLOTS.items() for asks in row.get("confirms", ()))
FORMS = {name: pattern(f"(?:{asks}){_END}") for name, asks in TABLES["forms"].items()}
_QUESTIONS = (
    ("favourite", FORMS["favourite"]),
    *_ASKS,
    *_CONFIRMS,
    *((slot, FORMS[slot]) for slot in ("verb", "thing", "since")),
)
_FIRST_CONFIRMING = 1 + len(_ASKS)
_LAST_CONFIRMING = _FIRST_CONFIRMING + len(_CONFIRMS)
_OWN, _OTHER = ({name: pattern(row.get(whose, "(?!)")) for name, row in SLOTS.items()} for whose in ("own", "other"))
_PLAIN_FORM = tuple((pattern(form), plain) for form, plain in TABLES["plain_forms"])
_WITHOUT_PAST = tuple((pattern(form), plain) for form, plain in TABLES["without_past"])
_WIDER = {
    "spouse": word_set("wife husband partner"),
    "partner": word_set("wife husband girlfriend boyfriend spouse fiance"),
    "child": word_set("son daughter baby"),
    "sibling": word_set("sister brother"),
    "parent": word_set("mother father"),
    "grandchild": word_set("grandson granddaughter"),
    "pet": PETS,
}


@dataclass(frozen=True, slots=True)
class SlotQuestion:
    """A parsed question: slot, person (empty for the owner), whether it asks about the past, value to confirm.

    `noun` is the required kind of answer: "instrument" in "What instrument do I play?".
    """

    slot: str
    who: str = ""
    past: bool = False
    value: str = ""
    confirms: bool = False
    noun: str = ""


def normalised(question: str) -> str:
    """Remove a question's polite opening and expand its contractions."""
    text = spelled(" ".join(question.replace("’", "'").split())).strip().rstrip("?.! ")
    for form, plain in _PLAIN_FORM:
        text = form.sub(plain, text)
    asked = P["polite_question"].sub("", text)
    if asked != text:
        asked = f"what is {asked}" if asked.casefold().startswith(("my ", "our ")) else asked
        asked = P["indirect"].sub(r"\1 \3 \2", asked)
    return asked.strip()


def read_question(question: str) -> SlotQuestion | None:
    """Return the slot that a question asks for, or None if it matches no slot."""
    text = normalised(question)
    past = bool(P["past"].search(text))
    text = _attribute_last(text)
    for former, plain in _WITHOUT_PAST if past else ():
        text = former.sub(plain, text)
    for place, (slot, asks) in enumerate(_QUESTIONS):
        if match := asks.match(text):
            named = {name: value or "" for name, value in match.groupdict().items()}
            who = P["article_of"].sub("", named.get("who", "").strip()).removesuffix("'s").removesuffix("'")
            who = "" if who.casefold() in ("i", "we", "me") else who
            value = (named.get("value") or named.get("thing") or "").strip()
            return SlotQuestion(
                slot, who, past, value, _FIRST_CONFIRMING <= place < _LAST_CONFIRMING, named.get("noun", "").casefold()
            )
    return None


def _attribute_last(question: str) -> str:
    """Put an attribute last: "how high is my saddle" becomes "what is my saddle height"."""
    match = FORMS["measure"].match(question)
    if match is None:
        return question
    noun, what = match["noun"] or MEASURES[match["how"].casefold()], match["what"]
    if what.casefold() in ("i", "we"):
        return f"what is my {noun}"
    whole = P["article_of"].sub("", what)
    person = whole[0].isupper() or re.fullmatch(SOMEBODY, whole, re.IGNORECASE)
    return f"what is {what}'s {noun}" if person and "'" not in what else f"what is {what} {noun}"


def day_asked(question: str, now: datetime) -> datetime | None:
    """Return the start of the day for a question about what was said on that day, or None."""
    match = FORMS["day"].match(normalised(question))
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=match["day"].casefold() == "yesterday") if match else None


def asks_for_all(question: str) -> str | None:
    """Return the person or thing about which everything is asked: "" for the owner, None for other questions."""
    text = normalised(question)
    match = FORMS["all_of_it"].match(text) or FORMS["about"].match(text)
    if match is None or re.search(r"\b(?:yesterday|today|last|earlier|week)\b", text, re.IGNORECASE):
        return None
    about = (match["about"] or "").strip()
    return "" if about.casefold() in ("me", "myself", "us", "my life") else P["article_of"].sub("", about)


class Knowledge:
    """The facts of one owner, latest first, with lookups for questions."""

    def __init__(self, facts: Sequence[Fact], now: datetime) -> None:
        self.now = now
        # The memories that the answer states, as (kind, id).
        self.cited: list[tuple[Kind, UUID]] = []
        self.current = [fact for fact in facts if fact.superseded_at is None]
        self.ended = [fact for fact in facts if fact.superseded_at is not None and not fact.retracted]
        self.retracted = [fact for fact in facts if fact.retracted]
        # Maps a person's name to the relations known for it.
        self.names: dict[str, set[str]] = {}
        for fact in self.current:
            match = P["questions_subject"].match(fact.text)
            if match and match["who"] and (not match["of"] or match["rest"].startswith("name ")):
                named = P["questions_named"].match(match["rest"])
                if name := match["both"] or (named["name"] if named else ""):
                    self.names.setdefault(name.casefold(), set()).add(same(match["who"]))
            if owned := P["questions_owned"].match(fact.text):
                self.names.setdefault(owned["name"].casefold(), set()).add(same(owned["who"] or "spouse"))

    def cite(self, *facts: Fact) -> None:
        """Note that the answer states these facts."""
        self.cited += [(fact.kind, fact.pk) for fact in facts]

    def answering(self, asked: SlotQuestion) -> list[Fact]:
        """Return the facts that answer, latest first; none if the answer is unknown."""
        if asked.slot == "since":
            return self._slot("home" if asked.value.startswith("move") else "employer", "", self.current)
        rows = self.ended if asked.past else self.current
        found = [fact for fact in self._slot(asked.slot, asked.who, rows, asked.value) if _is_a(asked.noun, fact.text)]
        if asked.past and asked.slot in _CHANGING:
            used = "Used to live" if asked.slot == "home" else "Used to work"
            found = [fact for fact in self.current if fact.text.startswith(used)] + found
            return [fact for fact in found if not fact.text.startswith("No longer")]
        if asked.slot == "age" and asked.who and not found:
            return self._slot("thing", "", rows, f"{asked.who} age")
        instead = "" if found or asked.who else SLOTS.get(asked.slot, {}).get("instead", "")
        return self._slot(instead, "", rows) if instead else found

    def before(self, asked: SlotQuestion, fact: Fact) -> Fact | None:
        """Return the previous fact of the same slot, or None."""
        if asked.slot not in _CHANGING or fact.text.startswith("No longer"):
            return None
        earlier = self._slot(asked.slot, asked.who, self.ended)
        return next((each for each in earlier if each.key == fact.key and each.text != fact.text), None)

    def about(self, who: str) -> list[Fact]:
        """Return all current facts about a person, the family or the pets."""
        if who.casefold() in ("family", "pets"):
            slots = ("family", "pets") if who.casefold() == "family" else ("pets",)
            return [fact for slot in slots for fact in self._slot(slot, "", self.current)]
        return [fact for fact, _ in self._of(who, self.current)]

    def concerns(self, question: str) -> bool:
        """True if a question is about the owner or a person known by name."""
        named = (re.search(rf"\b{re.escape(name)}\b", question, re.IGNORECASE) for name in self.names)
        return bool(P["personal"].search(question)) or any(named)

    def _slot(self, name: str, who: str, rows: Sequence[Fact], value: str = "") -> list[Fact]:
        if name == "favourite":
            wanted = _britain(f"favourite {value}")
            return [row for row in rows if _britain(row.text).startswith(wanted) or _britain(row.key) == wanted]
        if name == "thing" and not who and re.fullmatch(SOMEBODY, value, re.IGNORECASE):
            return [fact for fact, _ in self._of(value, rows)]
        begins = _OWN.get(name)
        if name == "thing":
            begins = _telling(value)
        elif name == "verb":
            verb = value.casefold().removesuffix("ing") if value.endswith("ing") else value
            begins = re.compile(rf"(?:is )?(?:{third_person(verb)}|{re.escape(value)})\b", re.IGNORECASE)
        if begins is None:
            return []
        if who:
            begins = _OTHER.get(name, begins)
            return [fact for fact, rest in self._of(who, rows) if begins.match(rest)]
        keys = word_set(SLOTS[name].get("keys", SLOTS[name].get("key", ""))) if name in SLOTS else frozenset()
        keys |= {slug(value), relation_key(value)} if name == "thing" else frozenset()
        keyed = [fact for fact in rows if fact.key in keys and not _is_of_others(fact.text)]
        return keyed + [fact for fact in rows if fact not in keyed and begins.match(fact.text)]

    def _of(self, who: str, rows: Sequence[Fact]) -> Iterator[tuple[Fact, str]]:
        """Yield the facts about a person, each with its text after the subject."""
        base, _, owned = who.partition("'s ")
        wanted = self._aliases(base)
        for fact in rows:
            if named := P["questions_owned"].match(fact.text):
                if not owned and {same(named["who"] or "spouse"), named["name"].casefold()} & wanted:
                    yield fact, f"is {named['name']}"
                continue
            match = P["questions_subject"].match(fact.text)
            if match is None:
                continue
            both, rest = (match["both"] or "").casefold(), match["rest"]
            called = {same(match["who"] or ""), (match["name"] or both).casefold()} - {""}
            another = both and both not in wanted and base.casefold() in self.names
            if not called & wanted or another:
                continue
            if not owned:
                yield fact, rest
            elif match["of"] and rest.casefold().startswith(f"{owned.casefold()} "):
                yield fact, rest[len(owned) + 1 :]

    def _aliases(self, who: str) -> set[str]:
        """Return the names and relations that denote a person: "sister" for Ana, "Ana" for the only sister."""
        low = same(who)
        if low in self.names:
            relations = self.names[low]
            only = {each for each in relations if sum(each in others for others in self.names.values()) == 1}
            return {low, *only}
        wider = {low, *_WIDER.get(low, ())}
        return wider | {name for name, relations in self.names.items() if relations & wider}


def _telling(thing: str) -> re.Pattern[str]:
    """Compile the beginnings of facts that state a thing; "Saddle is 74 cm high" states a saddle height."""
    ways = [*map(re.escape, same_things(thing))]
    whose, _, noun = thing.rpartition(" ")
    if row := TABLES["measures"].get(noun.casefold()):
        what = f"{re.escape(whose)} " if whose else ""
        how, number = "|".join(row["how"].split()), r"(?:about |around )?\d[\d.,]* ?"
        another = "|".join(each for each in (*MEASURES, "old") if each not in row["how"].split())
        ways += [
            rf"{what}(?:is|are|was|were) {number}[^\d,;.]*?\b(?:{how})(?=[,;.]|$| and )",
            rf"{what}(?:is|are|was|were|weighs?|measures?) {number}(?:{row['units']})\b(?! (?:{another})\b)",
            rf"{noun} of (?:my |our |the )?{re.escape(whose)}",
        ]
    return re.compile(rf"(?:the )?(?:{'|'.join(ways)})(?!\w|'s|-)", re.IGNORECASE)


def _britain(text: str) -> str:
    """Normalize the name of a favourite to one spelling, in the singular."""
    text = text.casefold().replace("favorite", "favourite").replace("color", "colour").replace("_", " ")
    return text.rstrip("s")


def _is_a(noun: str, text: str) -> bool:
    """True if a fact fits the noun of a question, by naming it or something of its kind."""
    if not noun or noun in WORDS["any_noun"]:
        return True
    kinds = {"instrument": P["instruments"], "colour": P["coloured"], "colours": P["coloured"], "sport": P["sports"]}
    kind = kinds.get(noun)
    kind = P["medicine"] if noun in WORDS["medicines"] else kind
    return bool(kind.search(text) if kind else re.search(rf"\b{re.escape(noun)}", text, re.IGNORECASE))


def _is_of_others(text: str) -> bool:
    """True if a fact is about a relative or a pet rather than its owner."""
    match = P["questions_subject"].match(text)
    return bool(match and (match["who"] or match["of"]))


def age_from(text: str, now: datetime) -> str:
    """Return a person's age in words from a fact with a full date of birth; "" without one."""
    match = re.search(rf"born (?:on |in )?(?P<date>{DATE})", text, re.IGNORECASE)
    numbers = re.findall(r"\d+", match["date"]) if match else []
    month = next((place for place, name in enumerate(MONTHS, 1) if match and name[:3] in match["date"].casefold()), 0)
    if len(numbers) != len(("day", "year")):
        return ""
    day, year = map(int, numbers)
    months = (now.year - year) * 12 + now.month - month - (now.day < day)
    for unit, count in (("year", months // 12), ("month", months), ("week", (now.day - day) % 31 // 7)):
        if count:
            return f"{count} {unit}{'' if count == 1 else 's'} old"
    return "a few days old"


def covers(question: str, text: str, words: frozenset[str]) -> bool:
    """True if a memory contains all content words of a question, or all but one if there are at least four."""
    asked = content_words(re.sub(r"\b(?:what|which) (?:kind|sort|type) of\b", "", normalised(question)))
    asked -= content_words("colour") if P["coloured"].search(text) else frozenset()
    asked -= content_words(TABLES["words"]["medicines"]) if P["medicine"].search(text) else frozenset()
    return bool(asked) and len(asked & words) >= len(asked) - (len(asked) > len(("one", "two", "three")))
