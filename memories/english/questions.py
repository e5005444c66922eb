"""Questions about the owner and their people: what a question asks for, and the facts that answer it.

A question names somebody (the owner, a relative, a pet, a name) and a slot (home, age, ...; `responder.toml`). Only a
fact about that somebody in that slot answers it: a mother-in-law is not a mother.
"""

# ruff: noqa: E501  # a pattern that is broken into pieces is harder to read than a long line

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memories.english.grammar import Statement
from memories.english.people import DATE, PETS, SOMEBODY, TABLES, pattern
from memories.english.text import content_words, sentences, slug, word_set
from memories.english.times import MONTHS
from memories.english.vocabulary import relation_key, third_person
from memories.models import Fact

_END = (
    r"(?: (?:now|at the moment|these days|currently|today|again|right now|nowadays|then|exactly|for a living|please))*$"
)
_TIMES = ("home", "employer", "job")  # slots whose former values are given with the present one
_QUESTIONS = tuple((slot, pattern(asks + _END)) for slot, rows in TABLES["questions"].items() for asks in rows)
_CONFIRMING = tuple((slot, pattern(asks + _END)) for slot, rows in TABLES["confirming"].items() for asks in rows)
FORMS = {name: pattern(f"(?:{asks}){_END}") for name, asks in TABLES["forms"].items()}
_SLOTS = {
    name: (word_set(row.get("keys", "")), pattern(row.get("own", "(?!)")), pattern(row.get("other", "(?!)")))
    for name, row in TABLES["slots"].items()
}
_PAST = pattern(
    r"\b(?:before(?: (?:that|this|then|now))?|previous(?:ly)?|formerly|former|earlier|used to|use to|in the past|originally"
    r"|prior|(?:old|last) (?:job|employer|address|home|company|city|work))\b"
)
_WITHOUT_PAST = (
    (pattern(r"\b(?:used?|use) to "), ""),
    (pattern(r"\s+before\b.*$|\s+in the past\b|\s+(?:previously|formerly|originally|earlier)\b"), ""),
    (pattern(r"\b(?:previous|former|old|prior|last) (?=job|employer|address|home|company|city|work)"), ""),
    (pattern(r"\bwas\b"), "is"),
)
_PLAIN_FORM = (
    (pattern(r"^(?:(?:so|and|ok|okay|well|hey|hi|hello|please|now|also|but|then|by the way|btw|um|just)[, ]+)+"), ""),
    (pattern(r"\b(what|who|where|when|how)'?s\b"), r"\1 is"),
    (pattern(r"\b(what|who|where|when|how)'?re\b"), r"\1 are"),
    (pattern(r"\bfavorite\b"), "favourite"),
    (pattern(r"\bcolor\b"), "colour"),
    (pattern(r"^what (?:time|day|date) (?=do|does|did|is|are|was)(?!is it)"), "when "),
)
_POLITE = pattern(
    r"^(?:(?:can|could|would|will) you (?:please )?(?:tell|remind) me|(?:please )?(?:tell|remind) me"
    r"|do you (?:still )?(?:know|remember)|(?:can|could) you remember|i forgot|i forget|any idea|i (?:can't|don't) remember"
    r"|i want to know|i'd like to know)\b,? (?=wh|how|my |our )"
)
_INDIRECT = pattern(r"^(what|who|where|when|how old) ((?!is |are |am |was |do |does |did ).+?) (is|are|am|was)$")
MEAT = pattern(r"<DIETS>|meat|fish|chicken|beef|pork|bacon|lamb|ham|sausages?|steak|dairy|cheese|eggs")
PERSONAL = pattern(r"\b(?:i|me|my|mine|we|us|our|ours|i'm|i've|i'd|you told|you said)\b")
_AGAIN = r"(?:who|whom|whose|what|when|where|which|how|why|do|does|did|is|are|am|was|were|have|has|can)\b"
_AND = pattern(rf"(?:[,;]|(?<!\s))\s++(?:and|or)\s++(?:also\s++)?(?={_AGAIN})|;\s++(?={_AGAIN})")
_TWICE = pattern(
    r"(?P<asks>(?:where|when|how|what|who|which \w+) (?:do|did|have) (?:i|we)) (?P<one>\w+) and (?P<other>\w+)\s*\?*$"
)
_SUBJECT = pattern(r"(?:(?P<who><SOMEBODY>|child)(?: (?P<both><NAME>))?|(?P<name><NAME>))(?P<of>'s)?\s+(?P<rest>.+)$")
_NAMED = pattern(r"(?:is|is called|is named|name is) (?P<name><NAME>)$")
_OWNED = pattern(
    r"(?:has an? (?:[\w-]+ )*?(?P<who><SOMEBODY>) (?:called|named)|(?P<spouse>married to)) (?P<name><NAME>)$"
)

_SAME = {
    "mum": "mother", "mom": "mother", "mummy": "mother", "dad": "father", "daddy": "father", "hubby": "husband",
    "kid": "child", "kids": "child", "children": "child", "puppy": "dog", "kitten": "cat", "grandma": "grandmother",
    "granny": "grandmother", "gran": "grandmother", "nan": "grandmother", "grandpa": "grandfather",
    "neighbor": "neighbour", "fiancée": "fiance", "fiancee": "fiance", "fiancé": "fiance", "manager": "boss",
    "flatmate": "roommate",
}  # fmt: skip
_WIDER = {
    "spouse": word_set("wife husband partner"),
    "partner": word_set("wife husband girlfriend boyfriend spouse fiance"),
    "child": word_set("son daughter baby"),
    "sibling": word_set("sister brother"),
    "parent": word_set("mother father"),
    "pet": frozenset(PETS.split(", ")),
}
_ONE = {*PETS.split(", "), *"son daughter sister brother friend uncle aunt cousin parent sibling pet".split()}
_OF_PEOPLE = ("home_city", "employer", "occupation", "date_of_birth", "birthday", "age")
# Misspelled words that are put right, words like them that are not, and apostrophes that were left out.
_SPELLINGS = word_set(
    "favourite colour birthday allergic allergies address husband daughter brother sister mother father married vegetarian "
    "called children hobbies remember where doctor dentist"
)
_OTHER_WORDS = word_set(
    "there were favour favours color calling college whether mothers fathers brothers sisters another bother rather farther "
    "gather wear marries collar birthdays favourites addressed remembers remembered doctors"
)
_APOSTROPHES = {
    "dont": "don't", "doesnt": "doesn't", "cant": "can't", "isnt": "isn't", "didnt": "didn't", "wont": "won't",
    "whats": "what's", "wheres": "where's", "whos": "who's", "ive": "I've",
}  # fmt: skip
_COLOUR = content_words("colour")
_COLOURED = pattern(
    r"\b(?:red|blue|green|yellow|black|white|gr[ea]y|brown|orange|purple|pink|silver|gold|golden|beige|blond|blonde)\b"
)
_INSTRUMENTS = pattern(r"\bthe \w+$|guitar|piano|violin|drums|cello|flute|bass")
# What may be asked of a thing whatever the answer is: "What kind of car ...?"
_ANY_NOUN = word_set("kind sort type make model brand day date number name language languages team club subject course")
_SHORTEST_SLIP, _LIKE_ENOUGH = 5, 0.85


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


def spelled(text: str) -> str:
    """`text` with the usual slips put right: "dont", "favrite", "colur". Other words stay as they are."""
    return re.sub(r"[A-Za-z]+", lambda word: _spelled(word[0]), text)


def _spelled(word: str) -> str:
    low = word.casefold()
    if low in _APOSTROPHES:
        return _APOSTROPHES[low]
    if not word.islower() or len(word) < _SHORTEST_SLIP or low in _SPELLINGS | _OTHER_WORDS:
        return word
    near = difflib.get_close_matches(low, _SPELLINGS, 1, _LIKE_ENOUGH)
    return near[0] if near and low[0] == near[0][0] and low.rstrip("s") != near[0].rstrip("s") else word


def normalised(question: str) -> str:
    """A question without its polite opening, with contractions written out."""
    text = spelled(" ".join(question.replace("’", "'").split())).strip().rstrip("?.! ")
    for form, plain in _PLAIN_FORM:
        text = form.sub(plain, text)
    asked = _POLITE.sub("", text)
    if asked != text:
        asked = _INDIRECT.sub(
            r"\1 \3 \2", f"what is {asked}" if asked.casefold().startswith(("my ", "our ")) else asked
        )
    return asked.strip()


def read_question(question: str) -> SlotQuestion | None:
    """The slot that a question asks for; None if it asks for none that is known here."""
    text = normalised(question)
    past = bool(_PAST.search(text))
    for former, plain in _WITHOUT_PAST if past else ():
        text = former.sub(plain, text)
    for slot, asks in (("history", FORMS["history"]), *_QUESTIONS):
        if match := asks.match(text):
            return SlotQuestion(slot, _whom(match), past, match.groupdict().get("value") or "")
    for slot, asks in _CONFIRMING:
        if match := asks.match(text):
            return SlotQuestion(slot, _whom(match), past, match["value"].strip(), confirms=True)
    for slot in ("favourite", "verb", "thing", "since"):
        if match := FORMS[slot].match(text):
            named = match.groupdict()
            value = named.get("value") or named.get("thing") or ""
            return SlotQuestion(slot, _whom(match), past, value.strip(), noun=(named.get("noun") or "").casefold())
    return None


def _whom(match: re.Match[str]) -> str:
    """The person that a question names; empty for the user."""
    who = (match.groupdict().get("who") or "").strip()
    who = re.sub(r"^(?:my|our|the)\b ?", "", who, flags=re.IGNORECASE).removesuffix("'s").removesuffix("'")
    return "" if who.casefold() in ("i", "we", "me") else who


def parted(question: str) -> Iterator[str]:
    """The questions in a text, each by itself; "Where do I live and work?" asks twice."""
    for each in sentences(question):
        if match := _TWICE.match(each.strip()):
            yield from (f"{match['asks']} {match[name]}?" for name in ("one", "other"))
            continue
        halves = [half.strip() for half in _AND.split(each)]
        yield from halves if len(halves) > 1 and all(map(content_words, halves)) else [each]


def day_asked(question: str, now: datetime) -> datetime | None:
    """The day of which a question asks what was said."""
    match = FORMS["day"].match(normalised(question))
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=match["day"].casefold() == "yesterday") if match else None


def asks_for_all(question: str) -> str | None:
    """The person or thing that everything is asked about: empty for the owner, None for another question."""
    text = normalised(question)
    if FORMS["of_me"].match(text):
        return ""
    match = FORMS["all_of_it"].match(text) or FORMS["about"].match(text)
    if match is None or re.search(r"\b(?:yesterday|today|last|earlier|week)\b", text, re.IGNORECASE):
        return None
    about = (match["about"] or "").strip()
    return "" if about.casefold() in ("me", "myself", "us", "my life") else about


class Knowledge:
    """The facts of one owner, latest first, as questions look them up."""

    def __init__(self, facts: Sequence[Fact], now: datetime) -> None:
        self.now = now
        self.current = [fact for fact in facts if fact.superseded_at is None]
        self.ended = [fact for fact in facts if fact.superseded_at is not None and not fact.retracted]
        self.retracted = [fact for fact in facts if fact.retracted]

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
        if asked.past and asked.slot in _TIMES:
            used = "Used to live" if asked.slot == "home" else "Used to work"
            found = [fact for fact in self.current if fact.text.startswith(used)] + found
            return [fact for fact in found if not fact.text.startswith("No longer")]
        instead = "" if found or asked.who else TABLES["slots"].get(asked.slot, {}).get("instead", "")
        return self._slot(instead, "", rows) if instead else found

    def before(self, asked: SlotQuestion, fact: Fact) -> Fact | None:
        """What held in the same slot before `fact`."""
        if asked.slot not in _TIMES or fact.text.startswith("No longer"):
            return None
        earlier = self._slot(asked.slot, asked.who, self.ended)
        other = (each for each in earlier if each.key == fact.key and each.text.casefold() != fact.text.casefold())
        return next(other, None)

    def about(self, who: str) -> list[Fact]:
        """All current facts about somebody, or about the family."""
        if who.casefold() == "family":
            return [fact for slot in ("family", "pets") for fact in self._slot(slot, "", self.current)]
        return [fact for fact, _ in self._of(who, self.current)]

    def naming(self, name: str) -> list[Fact]:
        """The current facts that hold a name."""
        return [fact for fact in self.current if re.search(rf"\b{re.escape(name)}\b", fact.text, re.IGNORECASE)]

    def concerns(self, question: str) -> bool:
        """Whether a question is about the owner or somebody who is known by name."""
        named = (re.search(rf"\b{re.escape(name)}\b", question, re.IGNORECASE) for name in self.names)
        return bool(PERSONAL.search(question)) or any(named)

    def same_person(self, key: str, told: Sequence[Statement]) -> set[str]:
        """The keys of the same slot under the other names of somebody: sister_home_city for ines_home_city."""
        slot = next((slot for slot in _OF_PEOPLE if key.endswith(f"_{slot}")), "")
        prefix = key.removesuffix(f"_{slot}") if slot else ""
        names = self._names([*(fact.text for fact in self.current), *(statement.text for statement in told)])
        aliases = {relation for name, relations in names.items() if slug(name) == prefix for relation in relations}
        aliases |= {name for name, relations in names.items() if prefix in map(slug, relations)}
        return {f"{slug(alias)}_{slot}" for alias in aliases if prefix}

    def _slot(self, name: str, who: str, rows: Sequence[Fact], value: str = "") -> list[Fact]:
        if name == "thing":
            return self._thing(who, rows, value)
        if name == "favourite":
            return self._favourite(rows, value)
        if name == "verb":
            return self._verb(who, rows, value)
        keys, own, other = _SLOTS[name]
        if who:
            return [fact for fact, rest in self._of(who, rows) if other.match(rest)]
        keyed = [fact for fact in rows if fact.key in keys and not _is_of_others(fact.text)]
        return keyed + [fact for fact in rows if fact not in keyed and own.match(fact.text)]

    def _thing(self, who: str, rows: Sequence[Fact], thing: str) -> list[Fact]:
        begins = re.compile(rf"(?:{re.escape(thing)})\b(?!'s|-)", re.IGNORECASE)
        if who:
            return [fact for fact, rest in self._of(who, rows) if begins.match(rest)]
        if re.fullmatch(SOMEBODY, thing, re.IGNORECASE):
            return [fact for fact, _ in self._of(thing, rows)]
        return [fact for fact in rows if fact.key in (slug(thing), relation_key(thing)) or begins.match(fact.text)]

    def _favourite(self, rows: Sequence[Fact], thing: str) -> list[Fact]:
        def plain(text: str) -> str:
            return text.casefold().replace("favorite", "favourite").replace("color", "colour").replace("_", " ")

        wanted = plain(f"favourite {thing}").rstrip("s")
        return [fact for fact in rows if plain(fact.text).startswith(wanted) or plain(fact.key).rstrip("s") == wanted]

    def _verb(self, who: str, rows: Sequence[Fact], verb: str) -> list[Fact]:
        does = re.compile(rf"{third_person(verb)}\b", re.IGNORECASE)
        if who:
            return [fact for fact, rest in self._of(who, rows) if does.match(rest)]
        return [fact for fact in rows if does.match(fact.text)]

    def _of(self, who: str, rows: Sequence[Fact]) -> Iterator[tuple[Fact, str]]:
        """The facts about somebody, each with what it says of them."""
        base, _, owned = who.partition("'s ")
        wanted = self._aliases(base)
        for fact in rows:
            match = _SUBJECT.match(fact.text)
            if match is None:
                continue
            both = (match["both"] or "").casefold()
            called = {_same(match["who"] or ""), (match["name"] or both).casefold()} - {""}
            another = both and both not in wanted and base.casefold() in self.names
            rest = match["rest"]
            if not called & wanted or another:
                continue
            if not owned:
                yield fact, rest
            elif match["of"] and rest.casefold().startswith(f"{owned.casefold()} "):
                yield fact, rest[len(owned) + 1 :]

    @property
    def names(self) -> dict[str, set[str]]:
        """Who goes by which name: a name to the relations that it means."""
        return self._names([fact.text for fact in self.current])

    def _names(self, texts: Sequence[str]) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for text in texts:
            match = _SUBJECT.match(text)
            if match and match["who"] and (not match["of"] or match["rest"].startswith("name ")):
                named = _NAMED.match(match["rest"])
                if name := match["both"] or (named["name"] if named else ""):
                    found.setdefault(name.casefold(), set()).add(_same(match["who"]))
            if owned := _OWNED.match(text):
                found.setdefault(owned["name"].casefold(), set()).add(_same(owned["who"] or "spouse"))
        return found

    def _aliases(self, who: str) -> set[str]:
        """The names and relations that stand for somebody: "sister" for Ana, "Ana" for the only sister."""
        low, names = _same(who), self.names
        if low in names:
            only = {relation for relation in names[low] if sum(relation in each for each in names.values()) == 1}
            return {low, *only}
        wider = {low, *_WIDER.get(low, ())}
        return wider | {name for name, relations in names.items() if relations & wider}


def _same(relation: str) -> str:
    """One word for a relation that has several: father for dad."""
    low = relation.casefold().strip()
    low = low.rstrip("s") if low.rstrip("s") in _ONE else low
    return _SAME.get(low, low)


def _is_a(noun: str, text: str) -> bool:
    """Whether a fact can be what a noun asks for: it names it, or something of its kind."""
    if not noun or noun in _ANY_NOUN:
        return True
    kind = _INSTRUMENTS if noun == "instrument" else _COLOURED if noun in ("colour", "colours") else None
    return bool(kind.search(text) if kind else re.search(rf"\b{re.escape(noun)}", text, re.IGNORECASE))


def _is_of_others(text: str) -> bool:
    """Whether a fact is about a relative or a pet rather than about its owner."""
    match = _SUBJECT.match(text)
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
    asked -= _COLOUR if _COLOURED.search(text) else frozenset()
    return bool(asked) and len(asked & words) >= len(asked) - (len(asked) > len(("one", "two", "three")))
