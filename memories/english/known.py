"""Determines which known facts an English statement supersedes, ends or corrects.

It never selects a fact that may still be true: in doubt it selects none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from memories.english.changes import Change, Correction, End, Shift
from memories.english.slots import SLOTS, P, Statement, pattern, same
from memories.english.text import compiled, content_words, slug, word_set
from memories.english.times import began
from memories.english.vocabulary import relation_key, third_person
from memories.hygiene.text import normalised
from memories.types import Contradiction

HOME, ADDRESS, EMPLOYER, OCCUPATION = "home_city", "address", "employer", "occupation"
_HOMES = (HOME, ADDRESS, "neighbourhood")
_SAMED = [row for row in SLOTS.values() if "same" in row]
_SAME: dict[str, str] = {key: row["key"] for row in _SAMED for key in (row["key"], *row["same"].split())}
_HELD = tuple((row["key"], pattern(row["held"])) for row in SLOTS.values() if "held" in row)
# Slots that depend on another slot and end with it.
_HANGING = {row["key"]: word_set(row["hangs"]) for row in SLOTS.values() if "hangs" in row}
# A statement for these slots that only omits words of a known fact is not new: "Boss is Priya" after "Manager at
# Meridian is called Priya".
_NO_NEWS = (HOME, EMPLOYER, "boss", "landlord", "spouse", "fiance")
_COUPLE = ("spouse", "fiance", "partner", "girlfriend", "boyfriend")
_THERE = ("there", "in that place", "in that city", "in that town")
# More facts learned at one moment were imported, not stated together.
_IN_ONE_BREATH = 3
# A move this long ago is narrative; facts learned since then remain valid.
LONG_AGO = timedelta(days=400)
_SAID_OF_SLOTS = content_words(
    "lives living live based resides home city town moved works working work employed employer job occupation boss "
    "manager supervisor landlord landlady address rent flat house married wife husband spouse fiancé engaged title"
)


@dataclass(slots=True, eq=False)
class Held:
    """A fact: a known one has an `id`, a proposed one its position (`place`) among the proposals."""

    text: str
    key: str
    category: str
    learned_at: datetime
    valid_from: datetime | None = None
    id: UUID | None = None
    place: int | None = None
    current: bool = True
    retracted: bool = False
    ended_at: datetime | None = None
    episodes: frozenset[UUID] = frozenset()
    slot: str = field(init=False)
    words: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.slot = slot_of(self.text, self.key)
        self.words = content_words(f"{self.text} {self.key}")


@dataclass(frozen=True, slots=True)
class Step:
    """One effect of a message: the facts in `over` end, and `said`, if any, replaces them."""

    over: Sequence[Held]
    kind: Contradiction
    said: Statement | None = None
    quote: str = ""
    since: datetime | None = None


def weighed(
    statements: Sequence[Statement],
    changes: Sequence[Change],
    known: Sequence[Held],
    now: datetime,
    contexts: Sequence[str],
    *,
    once: Sequence[Held],
    heard: Sequence[Held] = (),
    denials: bool = False,
) -> Iterator[Step]:
    """Yield the steps of a message sent at `now`, given the facts current then (`known`) and ever believed (`once`).

    `contexts` are the texts that "there" may refer to, nearest first. `heard` are facts that ended after the message
    was sent; its ends may mean them as well. With `denials`, "I no longer …" is stored as a fact.
    """
    harsh, natural = Contradiction.HARSH, Contradiction.NATURAL
    done: set[str] = set()
    keys = {normalised(statement.text): statement.key for statement in statements}
    ends = [change for change in changes if isinstance(change, End)]
    for change in changes:
        if isinstance(change, Correction) and (put := _corrected(change, known)):
            held, text = put
            key, over, kind = _corrected_key(held, change), _same_mistake(held, change, known), harsh
        elif isinstance(change, Shift) and (put := _shifted(change, known)):
            held, text = put
            key, over, kind = held.key, [held], natural
        else:
            continue
        done |= {change.quote, normalised(text), *({held.key} - {""})}
        said = Statement(text, key or keys.get(normalised(text), ""), held.category, quote=change.quote)
        yield Step(over, kind, said, change.quote)
    slots = {slot_of(each.text, each.key) for each in statements}
    names = {given: held.text for held in known if (given := _name_given(held.text))}
    for told in statements:
        given = _name_given(told.text)
        each = replace(told, text=names.setdefault(given, told.text)) if given else told
        if done & {normalised(each.text), each.quote, each.key or "-"} or (each.ends and not denials):
            continue
        over = [held for end in ends if each.ends and end.quote == each.quote for held in meant(end, known, "")]
        said = replace(each, key=over[0].key) if over else each
        over += [held for held in made_false(each, known, slots) if normalised(held.text) not in keys]
        since = began(each.quote, now) if each.quote else None
        story = since is not None and since < now - LONG_AGO
        if not story or not any(since < (held.valid_from or held.learned_at) for held in over if since):
            yield Step(_distinct(over), harsh if each.corrects and over else natural, said, each.quote, since)
        done |= {normalised(each.text)} if given else set()
    for end in ends:
        known_then = [*(once if end.kind is harsh else known), *heard]
        if facts := next(filter(None, (meant(end, known_then, context) for context in contexts)), []):
            yield Step(facts, end.kind, None, end.quote, None if end.kind is harsh else began(end.quote, now))


def _name_given(text: str) -> tuple[str, str] | None:
    """Return the relation and the name: "Sister is called Fien" and "Sister is Fien" say the same."""
    match = P["gives_name"].match(text)
    return (same(match["who"]), match["name"]) if match else None


def _distinct(facts: Iterable[Held]) -> list[Held]:
    return list(dict.fromkeys(facts))


def slot_of(text: str, key: str) -> str:
    """Return the slot of a fact by its key, or else by its wording; "" if it has none.

    "Flat is a studio" describes the flat and is no address.
    """
    if key:
        slot = _SAME.get(key, key)
        return key if slot in (ADDRESS, "office") and P["describes"].match(text) else slot
    return next((slot for slot, held in _HELD if held.match(text)), "")


def keys_of(slot: str) -> frozenset[str]:
    """Return the keys that denote a slot."""
    return frozenset(key for key, named in _SAME.items() if named == slot) | {slot}


def value_words(text: str) -> frozenset[str]:
    """Return the content words of a fact's value, without those that name its slot."""
    return content_words(text) - _SAID_OF_SLOTS


def is_no_news(statement: Statement, known: Sequence[Held]) -> bool:
    """True if a known fact of the slot contains the statement's value and more."""
    slot, value = slot_of(statement.text, statement.key), value_words(statement.text)
    return slot in _NO_NEWS and any(held.slot == slot and value < value_words(held.text) for held in known)


# -- facts made false by a statement ------------------------------------------------------------------------------


def made_false(statement: Statement, known: Sequence[Held], told: Collection[str] = ()) -> list[Held]:
    """Return the current facts of `known` that `statement` makes false.

    `told` are the slots that the same message fills; their own statements end the previous facts of those slots.
    """
    if statement.beside:
        return []
    slot, text = slot_of(statement.text, statement.key), statement.text
    rivals = [held for held in known if slot and _is_rival(statement, slot, held)]
    changed = slot != ADDRESS and any(held.slot == slot and _exclude(text, held.text) for held in rivals)
    hanging: list[Held] = []
    if slot in _HANGING and not statement.corrects and (statement.moved or changed):
        hanging = [held for held in _dependents(slot, rivals, known) if held.slot not in told]
    # A move to Edinburgh does not end an address in Edinburgh.
    hanging = [held for held in hanging if not _names_value_of(held.text, text)]
    return _distinct((*rivals, *hanging, *(held for held in known if _opposite(text, held.text))))


def _is_rival(statement: Statement, slot: str, held: Held) -> bool:
    """True if `held` fills the slot with another value, or is a job at another employer."""
    if normalised(held.text) == normalised(statement.text):
        return False
    if statement.key and held.key == statement.key:
        return True
    if (slot, held.slot) == (EMPLOYER, OCCUPATION) and P["job_somewhere"].match(held.text):
        return _exclude(statement.text, held.text)
    couple = slot == "spouse" and held.slot in ("fiance", "girlfriend", "boyfriend")
    return _exclude(statement.text, held.text) if held.slot == slot else couple


def _exclude(new: str, old: str) -> bool:
    """True if two facts of one slot exclude each other, which they do not if one only adds words to the other."""
    one, other = value_words(new), value_words(old)
    return not one <= other and not other <= one


def _names_value_of(text: str, fact: str) -> bool:
    value = value_words(fact)
    return bool(value) and value <= content_words(text)


def _dependents(slot: str, ended: Sequence[Held], known: Sequence[Held]) -> list[Held]:
    """Return the facts that depend on the ended ones.

    A job title ends with the employer if both were learned together, or if it is a rank there.
    """
    hanging = [held for held in known if held.slot in _HANGING.get(slot, ())]
    employers = [held for held in ended if slot == held.slot == EMPLOYER]
    breaths = Counter(held.learned_at for held in known)
    told = [held.learned_at for held in employers if breaths[held.learned_at] <= _IN_ONE_BREATH]
    for held in known if slot == EMPLOYER else ():
        there = any(_names_value_of(held.text, each.text) for each in employers)
        rank = held.learned_at in told or P["rank"].search(held.text)
        if held.slot in (OCCUPATION, "work_place") and (there or (rank and held.slot == OCCUPATION)):
            hanging.append(held)
    return hanging


def _opposite(new: str, old: str) -> bool:
    """True if two texts state opposites."""
    if (one := P["prefers"].match(new)) and (other := P["prefers"].match(old)):
        ours, theirs = ([content_words(m["one"]), content_words(m["other"])] for m in (one, other))
        return bool(ours[0]) and ours == theirs[::-1]
    if (mine := P["taste"].match(new)) and (yours := P["taste"].match(old)):
        good = [match["verb"].casefold() in ("likes", "loves", "enjoys") for match in (mine, yours)]
        return content_words(mine["what"]) == content_words(yours["what"]) and good[0] is not good[1]
    for yes, no in ((new, old), (old, new)):
        denied = P["negated"].match(no)
        if denied and not P["negated"].match(yes):
            return content_words(yes.removesuffix(" again")) == content_words(denied["what"])
        if P["flesh"].match(yes) and P["meatless"].match(no):
            return True
    return False


# -- facts meant by an end ----------------------------------------------------------------------------------------


def meant(end: End, known: Sequence[Held], context: str) -> list[Held]:  # noqa: C901 - a case for each kind
    """Return the facts of `known` that `end` ends, with their dependents. "There" refers to a place in `context`."""
    words, harsh = content_words(end.what), end.kind is Contradiction.HARSH
    own = [held for held in known if not P["denies"].match(held.text) and not P["others"].match(held.text)]
    named = [held for held in own if words and words <= held.words]
    homes = [held for held in named if _is_home(held)]
    if end.what.casefold() in _THERE:
        spoken = content_words(context)
        homes = [held for held in known if _is_home(held) and (value := value_words(held.text)) and value <= spoken]
        homes = homes if len({value_words(held.text) for held in homes}) == 1 and end.how in ("home", "left") else []
    if not harsh and any(held.slot == HOME for held in homes):
        homes = _distinct([*homes, *_dependents(HOME, homes, known)])
    found: list[Held] = []
    match end.how:
        case "home":
            found = homes
        case "work":
            found = _work(words, known, harsh=harsh)
        case "left":
            found = _work(words, known, harsh=harsh) or homes
        case "owned":
            things = [
                held for held in named if P["owns"].match(held.text) and held.slot not in (HOME, EMPLOYER, "boss")
            ]
            things = [held for held in things if harsh or not P["animal"].search(held.text)]
            found = things if len(things) == 1 or harsh else []
        case "living":
            found = _living(end.what, known)
        case "animal":
            pets = [held for held in named if P["pet"].match(held.text)]
            name = P["pet_name"].search(pets[0].text) if len(pets) == 1 else None
            found = _living(name["name"], known) if name else pets if len(pets) == 1 else []
        case "marriage":
            found = [held for held in known if held.slot == "spouse"]
        case "couple":
            found = [held for held in named if held.slot in _COUPLE]
        case "health":
            found = [held for held in named if "allerg" in held.text.casefold()]
        case "habit":
            habits = [held for held in named if P["habit"].match(held.text) and held.slot != EMPLOYER]
            found = habits or _work(words, known, harsh=harsh)
        case _:  # by the verb: "have a cat" ends "Has a cat"; without one, by "is"
            verb = end.what.split()[0]
            begins, first = (f"{third_person(verb).casefold()} ", "is "), content_words(verb)
            alike = (held for held in named if first and content_words(held.text.split()[0]) == first)
            found = _distinct([*(held for held in named if held.text.casefold().startswith(begins)), *alike])
    return found


def _is_home(held: Held) -> bool:
    """True if a fact states where somebody lives or lived."""
    return held.slot in _HOMES or held.text.casefold().startswith(("lived ", "used to live "))


def _work(words: frozenset[str], known: Sequence[Held], *, harsh: bool) -> list[Held]:
    """Return the employer with this name and the facts that hold only there."""
    work = (held for held in known if held.slot == EMPLOYER or (harsh and held.text.startswith("Worked ")))
    ended = [held for held in work if words and words <= held.words]
    if harsh or not ended:
        return ended
    names = [name for held in ended if (name := value_words(held.text))]
    at_work = [held for held in known if P["at_work"].match(held.text) and any(name <= held.words for name in names)]
    there = [*at_work, *(held for held in known if held.slot == "work_place")]
    return _distinct([*ended, *_dependents(EMPLOYER, ended, known), *there])


def _living(name: str, known: Sequence[Held]) -> list[Held]:
    """Return the facts about the pet with this name; none if there is no such pet."""
    called = re.compile(rf"(?:called|named|name is|is)\s+{re.escape(name)}\b")
    pets = [held for held in known if called.search(held.text) and P["animal"].search(f"{held.text} {held.key}")]
    about = [held for held in known if re.match(rf"{re.escape(name)}\b(?!'s)", held.text)]
    return _distinct([*pets, *about]) if pets else []


# -- corrections and shifts ---------------------------------------------------------------------------------------


def _corrected(correction: Correction, known: Sequence[Held]) -> tuple[Held, str] | None:
    """Return the corrected fact and its new text, or None unless exactly one fact fits. Other words are unchanged."""
    wrong = compiled(rf"(?P<article>\b(?:an?|the)\s+)?(?<!\w){re.escape(correction.wrong)}(?!\w)")
    found = [held for held in known if wrong.search(held.text) and _is_about(held, correction.about)]
    if not found or (len(found) > 1 and found[-1].learned_at == found[-2].learned_at):
        return None
    held = found[-1]
    text = wrong.sub(lambda match: _in_its_place(match["article"] or "", correction.right), held.text, count=1)
    return None if text == held.text else (held, text)


def _same_mistake(held: Held, correction: Correction, known: Sequence[Held]) -> list[Held]:
    """Return `held` and the other facts of its slot with the same wrong value."""
    wrong = compiled(rf"(?<!\w){re.escape(correction.wrong)}(?!\w)")
    return [each for each in known if each is held or (held.slot == each.slot != "" and wrong.search(each.text))]


def _corrected_key(held: Held, correction: Correction) -> str:
    """Return the key of the corrected fact: the same, unless it contains the value ("allergy_peanut")."""
    wrong, right = (slug(P["an"].sub("", words)).removesuffix("s") for words in (correction.wrong, correction.right))
    return held.key.removesuffix(wrong) + right if wrong and held.key.endswith(f"_{wrong}") else held.key


def _shifted(shift: Shift, known: Sequence[Held]) -> tuple[Held, str] | None:
    """Return the one fact about the thing that names a day or an hour, and its new text.

    "every Tuesday" becomes "on Thursdays".
    """
    day = P["day"].fullmatch(shift.to)
    moment, before, words = P["day" if day else "hour"], "on" if day else "at", content_words(shift.about)
    named = [held for held in known if words and words <= held.words and len(moment.findall(held.text)) == 1]
    if len(named) != 1:
        return None
    text = moment.sub(lambda match: f"{before} {shift.to}" if match["before"] else shift.to, named[0].text)
    return None if text.casefold() == named[0].text.casefold() else (named[0], text)


def _is_about(held: Held, about: str) -> bool:
    others = P["others"].match(held.text) or P["former"].match(held.text)
    if about and others and not held.text.casefold().startswith(about.casefold()):
        return False
    named = {held.slot, held.key} & {relation_key(about), slug(about), slot_of("", slug(about))} - {""}
    return bool(named) or content_words(about) <= held.words


def _in_its_place(article: str, right: str) -> str:
    """Return the right value, with an article if the wrong value had one."""
    bare = right if right[0].isupper() else P["an"].sub("", right)
    if not article or bare != right:
        return right
    fitting = article if article.strip().casefold() == "the" else "an " if bare[0].casefold() in "aeiou" else "a "
    return fitting + bare
