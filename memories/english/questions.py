"""What a question asks for, and the facts of the owner that answer it.

A question names somebody (the owner, a relative, a pet, a name) and a slot. Only a fact about that somebody in that
slot answers it: a mother-in-law is not a mother.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memories.english.slots import DATE, PETS, SLOTS, SOMEBODY, TABLES, WORDS, P, pattern, same, spelled
from memories.english.text import content_words, slug, word_set
from memories.english.times import MONTHS
from memories.english.vocabulary import relation_key, third_person
from memories.models import Fact

# Slots whose former values are given with the present one.
_CHANGING = ("home", "employer", "job")
_END = TABLES["patterns"]["END"]
_ASKS = tuple((slot, pattern(asks + _END)) for slot, row in SLOTS.items() for asks in row.get("asks", ()))
_CONFIRMS = tuple((slot, pattern(asks + _END)) for slot, row in SLOTS.items() for asks in row.get("confirms", ()))
FORMS = {name: pattern(f"(?:{asks}){_END}") for name, asks in TABLES["forms"].items()}
_QUESTIONS = (
    *((slot, FORMS[slot]) for slot in ("history", "favourite")),
    *_ASKS,
    *_CONFIRMS,
    *((slot, FORMS[slot]) for slot in ("verb", "thing", "since")),
)
_FIRST_CONFIRMING = 2 + len(_ASKS)
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
# What may be asked of a thing whatever the answer is: "What kind of car ...?"


@dataclass(frozen=True, slots=True)
class SlotQuestion:
    """What a question asks: the slot, the person (empty: the owner), whether of the past, and a value to confirm.

    `noun` is what the answer has to be: "instrument" in "What instrument do I play?".
    """

    slot: str
    who: str = ""
    past: bool = False
    value: str = ""
    confirms: bool = False
    noun: str = ""


def normalised(question: str) -> str:
    """A question without its polite opening, with contractions written out."""
    text = spelled(" ".join(question.replace("’", "'").split())).strip().rstrip("?.! ")
    for form, plain in _PLAIN_FORM:
        text = form.sub(plain, text)
    asked = P["polite_question"].sub("", text)
    if asked != text:
        asked = f"what is {asked}" if asked.casefold().startswith(("my ", "our ")) else asked
        asked = P["indirect"].sub(r"\1 \3 \2", asked)
    return asked.strip()


def read_question(question: str) -> SlotQuestion | None:
    """The slot that a question asks for; None if it asks for none that is known here."""
    text = normalised(question)
    past = bool(P["past"].search(text))
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


def day_asked(question: str, now: datetime) -> datetime | None:
    """The day of which a question asks what was said."""
    match = FORMS["day"].match(normalised(question))
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=match["day"].casefold() == "yesterday") if match else None


def asks_for_all(question: str) -> str | None:
    """The person or thing that everything is asked about: empty for the owner, None for another question."""
    text = normalised(question)
    match = FORMS["all_of_it"].match(text) or FORMS["about"].match(text)
    if match is None or re.search(r"\b(?:yesterday|today|last|earlier|week)\b", text, re.IGNORECASE):
        return None
    about = (match["about"] or "").strip()
    return "" if about.casefold() in ("me", "myself", "us", "my life") else P["article_of"].sub("", about)


class Knowledge:
    """The facts of one owner, latest first, as questions look them up."""

    def __init__(self, facts: Sequence[Fact], now: datetime) -> None:
        self.now = now
        self.current = [fact for fact in facts if fact.superseded_at is None]
        self.ended = [fact for fact in facts if fact.superseded_at is not None and not fact.retracted]
        self.retracted = [fact for fact in facts if fact.retracted]
        # Who goes by which name: a name to the relations that it means.
        self.names: dict[str, set[str]] = {}
        for fact in self.current:
            match = P["questions_subject"].match(fact.text)
            if match and match["who"] and (not match["of"] or match["rest"].startswith("name ")):
                named = P["questions_named"].match(match["rest"])
                if name := match["both"] or (named["name"] if named else ""):
                    self.names.setdefault(name.casefold(), set()).add(same(match["who"]))
            if owned := P["questions_owned"].match(fact.text):
                self.names.setdefault(owned["name"].casefold(), set()).add(same(owned["who"] or "spouse"))

    def answering(self, asked: SlotQuestion) -> list[Fact]:
        """The facts that answer, latest first; none if the answer is unknown."""
        if asked.slot == "history":
            slots = ("home",) if asked.value == "lived" else ("employer", "job")
            found = [fact for slot in slots for fact in self._slot(slot, "", [*self.current, *self.ended])]
            return sorted(found, key=lambda fact: (fact.superseded_at is None, fact.superseded_at or fact.learned_at))
        if asked.slot == "since":
            return self._slot("home" if asked.value.startswith("move") else "employer", "", self.current)
        rows = self.ended if asked.past else self.current
        found = [fact for fact in self._slot(asked.slot, asked.who, rows, asked.value) if _is_a(asked.noun, fact.text)]
        if asked.past and asked.slot in _CHANGING:
            used = "Used to live" if asked.slot == "home" else "Used to work"
            found = [fact for fact in self.current if fact.text.startswith(used)] + found
            return [fact for fact in found if not fact.text.startswith("No longer")]
        instead = "" if found or asked.who else SLOTS.get(asked.slot, {}).get("instead", "")
        return self._slot(instead, "", rows) if instead else found

    def before(self, asked: SlotQuestion, fact: Fact) -> Fact | None:
        """What held in the same slot before `fact`."""
        if asked.slot not in _CHANGING or fact.text.startswith("No longer"):
            return None
        earlier = self._slot(asked.slot, asked.who, self.ended)
        return next((each for each in earlier if each.key == fact.key and each.text != fact.text), None)

    def about(self, who: str) -> list[Fact]:
        """All current facts about somebody, or about the family or the pets."""
        if who.casefold() in ("family", "pets"):
            slots = ("family", "pets") if who.casefold() == "family" else ("pets",)
            return [fact for slot in slots for fact in self._slot(slot, "", self.current)]
        return [fact for fact, _ in self._of(who, self.current)]

    def concerns(self, question: str) -> bool:
        """Whether a question is about the owner or somebody who is known by name."""
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
            begins = re.compile(rf"(?:{re.escape(value)})\b(?!'s|-)", re.IGNORECASE)
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
        """The facts about somebody, each with what it says of them."""
        base, _, owned = who.partition("'s ")
        wanted = self._aliases(base)
        for fact in rows:
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
        """The names and relations that stand for somebody: "sister" for Ana, "Ana" for the only sister."""
        low = same(who)
        if low in self.names:
            relations = self.names[low]
            only = {each for each in relations if sum(each in others for others in self.names.values()) == 1}
            return {low, *only}
        wider = {low, *_WIDER.get(low, ())}
        return wider | {name for name, relations in self.names.items() if relations & wider}


def _britain(text: str) -> str:
    """The name of a favourite in one spelling, singular."""
    text = text.casefold().replace("favorite", "favourite").replace("color", "colour").replace("_", " ")
    return text.rstrip("s")


def _is_a(noun: str, text: str) -> bool:
    """Whether a fact can be what a noun asks for: it names it, or something of its kind."""
    if not noun or noun in WORDS["any_noun"]:
        return True
    kind = {"instrument": P["instruments"], "colour": P["coloured"], "colours": P["coloured"]}.get(noun)
    return bool(kind.search(text) if kind else re.search(rf"\b{re.escape(noun)}", text, re.IGNORECASE))


def _is_of_others(text: str) -> bool:
    """Whether a fact is about a relative or a pet rather than about its owner."""
    match = P["questions_subject"].match(text)
    return bool(match and (match["who"] or match["of"]))


def age_from(text: str, now: datetime) -> str:
    """How old somebody is whose date of birth a fact gives; empty if it gives no whole date."""
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
    """Whether a memory holds what a question asks: all of its words, or all but one of four and more."""
    asked = content_words(re.sub(r"\b(?:what|which) (?:kind|sort|type) of\b", "", normalised(question)))
    asked -= content_words("colour") if P["coloured"].search(text) else frozenset()
    return bool(asked) and len(asked & words) >= len(asked) - (len(asked) > len(("one", "two", "three")))
