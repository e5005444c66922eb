"""Questions about the owner and their people: what a question asks for, and the facts that answer it.

A question names somebody (the owner, a relative, a pet, a name) and a slot (home, work, age, ...). Only a fact about that
somebody in that slot answers it: a mother-in-law is not a mother.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memories.english.grammar import Statement
from memories.english.people import DATE, NAME, PETS, SOMEBODY
from memories.english.text import content_words, phrases, sentences, slug, word_set
from memories.english.vocabulary import relation_key, third_person
from memories.models import Fact


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks: the slot, of whom (empty: the owner), whether of the past, and a value to confirm."""

    slot: str
    who: str = ""
    past: bool = False
    value: str = ""
    confirms: bool = False


@dataclass(frozen=True, slots=True)
class _Slot:
    """How facts of a slot are recognised: by key, by the beginning of the owner's facts, and behind a subject."""

    keys: frozenset[str] = frozenset()
    own: str = r"(?!)"
    other: str = r"(?!)"
    instead: str = ""


_DIETS = r"(?:an? )?(?:vegetarian|vegan|pescatarian|coeliac|celiac|halal|kosher|keto|flexitarian|lactose[ -]intolerant|gluten[ -]free|dairy[ -]free|teetotal)"
_PET = phrases(PETS)
_CHILD = r"(?:son|daughter|child|kid|children|kids|baby|stepson|stepdaughter|twins?)"
_SIBLING = r"(?:sister|brother|sibling|half-sister|half-brother|stepsister|stepbrother|twin)"
_SPOUSE = r"(?:wife|husband|spouse|partner|married to|engaged to|fianc[eé]e?|girlfriend|boyfriend)"
_SLOTS: dict[str, _Slot] = {
    "home": _Slot(word_set("home_city city address neighbourhood"), r"(?:currently )?(?:lives?|living|based|resides|home (?:city|town) is|(?:home )?address is|moved)\b", r"(?:lives|is (?:living|based)|moved)\b"),
    "address": _Slot(word_set("address home_address postcode"), r"(?:(?:home |postal )?address is|lives (?:at|on)|lives in an? )"),
    "employer": _Slot(word_set("employer"), r"(?:currently )?(?:works|working|employed|employer is|starts)(?! as\b)", r"(?:works|is employed)(?! as\b)", "job"),
    "job": _Slot(word_set("occupation"), r"(?:works as|occupation is|job(?: title)? is|profession is|is an? (?!.*\bperson\b))", r"(?:works as|is an? |is the |is (?:training|studying) )", "employer"),
    "age": _Slot(word_set("age date_of_birth"), r"(?:is \d{1,3} (?:years|months)|born (?:on|in) .*\d{4})", r"(?:is \d{1,3} (?:years|months|weeks) old|was born (?:on|in) .*\d{4})"),
    "birthday": _Slot(word_set("birthday date_of_birth"), r"(?:birthday is|born on)", r"(?:birthday is|was born on)"),
    "birthplace": _Slot(word_set("birthplace"), r"born in [a-z]", r"was born in [a-z]", "origin"),
    "origin": _Slot(word_set("origin"), r"(?:comes|is|originally) from", r"(?:comes|is) from", ""),
    "name": _Slot(word_set("name preferred_name"), r"(?:name is|full name is|prefers to be called)", rf"(?:is|is called|is named|name is) {NAME}$"),
    "spouse": _Slot(word_set("marital_status"), rf"{_SPOUSE}\b(?!'s) (?:is\b|[A-Z])|is (?:not )?(?:single|divorced|widowed|married|engaged)", r"is (?:married|engaged|single|divorced)"),
    "children": _Slot(frozenset(), rf"{_CHILD} (?:is|are) (?:called |named )?|has (?:no|an?|one|two|three|four|five|\d+) {_CHILD}s?\b", rf"has .*{_CHILD}"),
    "siblings": _Slot(frozenset(), rf"{_SIBLING} is (?:called |named )?|has (?:no|an?|one|two|three|four|five|\d+) (?:\w+ )?{_SIBLING}s?\b", ""),
    "pets": _Slot(frozenset(), rf"(?:{_PET}) (?:is|are) (?:called |named )?(?-i:[A-Z])|(?:{_PET})'s name is|has no (?:pets?|animals?)|has (?:no|an?|one|two|three|\d+) (?:[\w-]+ ){{0,2}}(?:{_PET})s?\b", rf"has .*\b(?:{_PET})"),
    "diet": _Slot(word_set("diet"), rf"(?:is {_DIETS}|(?:does not|doesn't|cannot|can't|no longer|mustn't) (?:eat|drink)s?|eats |keeps |follows )", rf"(?:is {_DIETS}|(?:does not|doesn't|cannot|can't) eat)"),
    "allergies": _Slot(frozenset(), r"(?:allergic to|has an? .*allergy|intolerant|is .*intolerant)", r"(?:is allergic|has an? .*allergy)"),
    "car": _Slot(word_set("car"), r"(?:drives|car is|has an? .*\b(?:car|van)\b)", r"(?:drives|car is)"),
    "bike": _Slot(word_set("bike bicycle"), r"(?:rides|bike is|bicycle is|has an? .*\b(?:bike|bicycle)\b)", r"rides"),
    "tastes": _Slot(frozenset(), r"(?:loves|likes|enjoys|prefers|hates|dislikes|can't stand|cannot stand|does not like|doesn't like)", r"(?:loves|likes|enjoys|hates|dislikes|does not like)"),
    "likes": _Slot(frozenset(), r"(?:loves|likes|enjoys|prefers|hobb(?:y|ies) (?:is|are)|is (?:keen on|into|a fan of)|plays|favou?rite )", r"(?:loves|likes|enjoys|plays)"),
    "dislikes": _Slot(frozenset(), r"(?:hates|dislikes|can't stand|cannot stand|does not like|doesn't like)", r"(?:hates|dislikes|does not like)"),
    "style": _Slot(word_set("answer_style"), r"wants (?:answers|replies)"),
    "family": _Slot(frozenset(), rf"(?:{_SPOUSE}|{_CHILD}|{_SIBLING}|mother|mum|mom|father|dad)\b(?!-in-law|'s)"),
}  # fmt: skip
# Slots whose former values are told with the present one.
_WITH_HISTORY = frozenset(("home", "employer", "job"))

_WHO = r"(?P<who>i|we|(?:my|our) [\w' -]+?|[\w'-]+(?: [\w'-]+)?)"
_OF = r"(?:my|our|(?P<who>(?:(?:my|our) )?[\w' -]+?)(?:'s|'))"
_NOW = (
    r"(?: (?:now|at the moment|these days|currently|today|again|right now|nowadays|then|exactly|for a living|please))*$"
)
_AUX = r"(?:(?:do|does|did|am|is|are|was|were|can|should|have|has) )?"
_ADVERB = r"(?:(?:currently|now|still|actually|really|usually|also) )?"


def _asks(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_QUESTIONS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (slot, _asks(pattern + _NOW))
    for slot, pattern in (
        ("home", rf"where {_AUX}{_WHO} {_ADVERB}(?:live|lives|living|based|stay|staying|reside)(?: in)?"),
        ("home", rf"(?:what|which) (?:city|town|country|place|village|area) {_AUX}{_WHO} {_ADVERB}(?:live|lives|living|based)(?: in)?"),
        ("home", rf"(?:what|where) is {_OF} (?:home(?: ?town| city)?|city|town|house|flat)"),
        ("address", rf"what is {_OF} (?:home |postal |street )?(?:address|postcode)"),
        ("employer", rf"(?:where|who) {_AUX}{_WHO} {_ADVERB}(?:work|works|working|employed)(?: at| for| by)?"),
        ("employer", rf"(?:what|which) (?:company|firm|employer|place|hospital|school) {_AUX}{_WHO} {_ADVERB}(?:work|works|working)(?: at| for| in)?"),
        ("employer", rf"(?:who|what) is {_OF} (?:employer|company|workplace)"),
        ("job", rf"what (?:do|does|did) {_WHO} {_ADVERB}do(?: for (?:a living|work))?"),
        ("job", rf"what {_AUX}{_WHO} {_ADVERB}(?:work|works|working) as"),
        ("job", rf"what (?:is|kind of|sort of) {_OF} (?:job|occupation|profession|job title|work|role|career)"),
        ("age", rf"(?:how old|what age) (?:am|is|are|will) {_WHO}"),
        ("age", rf"what is {_OF} age"),
        ("birthday", rf"when is {_OF} (?:birthday|birth date|bday)"),
        ("birthday", rf"what (?:is|day is|date is) {_OF} (?:birthday|birth date|date of birth|bday)"),
        ("birthday", rf"when (?:was|were|am|is) {_WHO} born"),
        ("birthplace", rf"where (?:was|were|am|is) {_WHO} born"),
        ("origin", rf"where (?:do|does|am|is|are) {_WHO} (?:come )?from"),
        ("name", rf"what (?:is|was) {_OF} (?:full |first |last )?name"),
        ("name", rf"what are {_OF} names?"),
        ("name", rf"(?:what|how) (?:is|am|are) {_WHO} (?:called|named)"),
        ("name", r"who (?:is|are) (?P<who>(?:my|our) [\w' -]+?)"),
        ("name", r"who (?:am i)"),
        ("name", r"what is the name of (?P<who>(?:my|our) [\w' -]+?)"),
        ("spouse", rf"who (?:am|is|are) {_WHO} (?:married|engaged) to"),
        ("pets", rf"(?:what|which|how many) (?:kind of |sort of )?(?:pets?|animals?) (?:do|does) {_WHO} (?:have|own|keep)"),
        ("pets", r"(?:what|who) are my (?:pets|animals)'?(?: called| named| names)?"),
        ("pets", r"what is my pet(?:'s name| called)?"),
        ("children", rf"how many (?:kids|children|sons|daughters) (?:do|does) {_WHO} have"),
        ("children", r"(?:who|what) are my (?:kids|children)(?:'s?)?(?: names?| called| named)?"),
        ("siblings", rf"how many (?:siblings|brothers|sisters) (?:do|does) {_WHO} have"),
        ("siblings", r"who are my siblings"),
        ("family", r"who is in my family|who are my family|what is my family(?: like)?|tell me about my family|what do you know about my family"),
        ("diet", rf"what (?:food |foods |things )?(?:can|can't|cannot|do|don't|does|doesn't|should|shouldn't|must) {_WHO} (?:not )?(?:eat|avoid|avoid eating|eat or drink)"),
        ("diet", rf"what is {_OF} diet"),
        ("diet", r"what (?:kind of )?diet (?:am|do) i (?:on|follow)|do i have (?:any )?dietary \w+|what (?:are my dietary \w+|dietary \w+ do i have)"),
        ("allergies", rf"what (?:food |foods )?(?:am|is|are) {_WHO} allergic to"),
        ("allergies", rf"what (?:are|is) {_OF} allerg(?:y|ies)"),
        ("allergies", rf"(?:what|which) allerg(?:y|ies) (?:do|does) {_WHO} have"),
        ("car", rf"what (?:kind of |sort of |make of |type of )?(?:car |vehicle )?(?:do|does|am|is) {_WHO} (?:drive|driving)"),
        ("car", rf"(?:what|which) (?:kind of |sort of |make of |type of )?(?:car|vehicle) (?:do|does) {_WHO} (?:have|own)"),
        ("car", rf"what is {_OF} car"),
        ("bike", rf"what (?:kind of |sort of )?(?:bike |bicycle )?(?:do|does) {_WHO} ride"),
        ("bike", r"what (?:kind of |sort of )?(?:bike|bicycle) (?:do|does) (?:i|we) (?:have|own)|what is my (?:bike|bicycle)"),
        ("likes", rf"what (?:do|does) {_WHO} {_ADVERB}(?:like|love|enjoy)(?: to do| doing)?"),
        ("likes", rf"what (?:are|is) {_OF} (?:hobb(?:y|ies)|interests|likes)"),
        ("likes", rf"what (?:hobbies|interests) (?:do|does) {_WHO} have"),
        ("dislikes", rf"what (?:food |foods )?(?:do|does|don't|doesn't|can't|can) {_WHO} {_ADVERB}(?:hate|dislike|not like|can't stand|not stand|stand|like)"),
        ("dislikes", rf"what are {_OF} dislikes"),
        ("style", r"how (?:do|should) (?:i|you) (?:want|like|answer|reply).*"),
    )
)  # fmt: skip
_CONFIRMING: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (slot, _asks(pattern + _NOW))
    for slot, pattern in (
        ("home", rf"(?:do|does|am|is|are) {_WHO} {_ADVERB}(?:live|living|based)(?: in| at| on)? (?P<value>.+?)"),
        ("employer", rf"(?:do|does|am|is|are) {_WHO} {_ADVERB}(?:work|working) (?:at|for|in) (?P<value>.+?)"),
        ("job", rf"(?:do|does) {_WHO} work as (?P<value>.+?)"),
        ("allergies", rf"(?:am|is|are) {_WHO} allergic to (?P<value>.+?)"),
        ("allergies", rf"(?:do|does) {_WHO} have (?:any|an?|some) (?P<value>(?:[\w-]+ )?allerg(?:y|ies))"),
        ("spouse", rf"(?:am|is|are) {_WHO} {_ADVERB}(?P<value>married|engaged|single|divorced)"),
        ("spouse", rf"(?:do|does) {_WHO} {_ADVERB}have an? (?P<value>wife|husband|spouse|partner|girlfriend|boyfriend)"),
        ("diet", rf"(?:am|is|are) {_WHO} {_ADVERB}(?P<value>{_DIETS})"),
        ("diet", rf"(?:do|does|can) {_WHO} {_ADVERB}(?:eat|drink) (?P<value>.+?)"),
        ("children", rf"(?:do|does) {_WHO} have (?:any |an? )?(?P<value>kids?|child|children|sons?|daughters?)"),
        ("siblings", rf"(?:do|does) {_WHO} have (?:any |an? )?(?P<value>siblings?|brothers?|sisters?)"),
        ("pets", rf"(?:do|does) {_WHO} have (?:any |an? )?(?P<value>pets?|animals?|(?:{_PET})s?)"),
        ("car", rf"(?:do|does) {_WHO} (?:have|own|drive) an? (?P<value>car)"),
        ("tastes", rf"(?:do|does) {_WHO} {_ADVERB}(?:like|love|enjoy|hate) (?P<value>.+?)"),
        ("age", rf"(?:am|is|are) {_WHO} (?P<value>\d+)(?: years old)?"),
    )
)  # fmt: skip
_FAVOURITE = _asks(r"(?:what|who|which)(?: \w+)? (?:is|are) (?:my|our) favou?rite (?P<thing>[\w' -]+?)" + _NOW)
_THING = _asks(
    r"(?:what|who|when|where|which)(?: \w+)? (?:is|are|was) "
    r"(?:(?:my|our) (?P<mine>[\w -]+?)|(?P<who>(?:my|our) [\w' -]+?|[\w-]+)'s? (?P<thing>[\w -]+?))" + _NOW
)
_VERB = _asks(
    rf"(?:what|where|which)(?: (?P<noun>\w+))? (?:do|does) {_WHO} (?P<verb>play|study|speak|teach|collect|drink|support|ride|own|pay|prefer|use|wear|read|watch|grow)(?: at| in| for)?"
    + _NOW
)
_WHO_IS = _asks(rf"who (?:is|was|are) (?P<who>{NAME}|[a-z]+)" + _NOW)
_KNOWN = _asks(
    r"(?:what|tell me (?:what|everything|all)(?: that)?|list (?:everything|all|what)|show me (?:everything|all|what)|everything)(?: (?:do|did|have|can|else do))? ?(?:you |i )?(?:know|remember|told you|tell you|learned|learnt|got|stored|store|say)(?: (?:about|of|on) (?P<about>.+?))?(?: so far| already)?"
    + _NOW
)
_ABOUT = _asks(r"(?:tell me|what is there|anything|remind me|talk to me) about (?P<about>.+?)" + _NOW)
_PAST = _asks(
    r"\b(?:before(?: (?:that|this|then|now))?|previous(?:ly)?|formerly|former|earlier|used to|use to|in the past|originally|prior"
    r"|(?:old|last) (?:job|employer|address|home|company|city|work))\b"
)
_HISTORY = _asks(
    r"(?:where|which (?:cities|places|towns|companies|jobs)) (?:have|did) (?:i|we)(?: ever)? (?P<how>lived|worked)(?: in| at| for| so far)?"
)
_WHEN = _asks(r"when did (?:i|we) (?P<what>move|start|join|begin|change jobs)\b(?P<rest>.*?)" + _NOW)

_SAME = {
    "mum": "mother", "mom": "mother", "mummy": "mother", "dad": "father", "daddy": "father", "hubby": "husband",
    "kid": "child", "kids": "child", "children": "child", "puppy": "dog", "kitten": "cat", "grandma": "grandmother",
    "granny": "grandmother", "gran": "grandmother", "nan": "grandmother", "grandpa": "grandfather", "neighbor": "neighbour",
    "fiancée": "fiance", "fiancee": "fiance", "fiancé": "fiance", "manager": "boss", "flatmate": "roommate",
}  # fmt: skip
_WIDER = {
    "spouse": ("wife", "husband", "partner"),
    "partner": ("wife", "husband", "girlfriend", "boyfriend", "spouse", "fiance"),
    "child": ("son", "daughter", "baby"),
    "pet": tuple(PETS.split(", ")),
    "sibling": ("sister", "brother"),
    "parent": ("mother", "father"),
}
_SUBJECT = re.compile(
    rf"(?:(?P<who>{SOMEBODY}|child)(?: (?P<both>{NAME}))?|(?P<name>{NAME}))(?P<of>'s)?\s+(?P<rest>.+)$", re.IGNORECASE
)
_NAMED = re.compile(rf"(?:is|is called|is named|name is) (?P<name>{NAME})$", re.IGNORECASE)
_LIKE = word_set(
    "favourite colour birthday allergic allergies address husband daughter brother sister mother father married vegetarian "
    "called children hobbies remember where doctor dentist"
)
_CONTRACTED = tuple(
    (re.compile(pattern, re.IGNORECASE), whole)
    for pattern, whole in (
        (r"\b(what|who|where|when|how)'?s\b", r"\1 is"),
        (r"\b(what|who|where|when|how)'?re\b", r"\1 are"),
        (r"\bfavorite\b", "favourite"),
        (r"\bcolor\b", "colour"),
    )
)
MEAT = re.compile(
    rf"{_DIETS}|meat|fish|chicken|beef|pork|bacon|lamb|ham|sausages?|steak|dairy|cheese|eggs", re.IGNORECASE
)
PERSONAL = re.compile(r"\b(?:i|me|my|mine|we|us|our|ours|i'm|i've|i'd|you told|you said)\b", re.IGNORECASE)
_ASKS_AGAIN = r"(?:who|whom|whose|what|when|where|which|how|why|do|does|did|is|are|am|was|were|have|has|can)\b"
_AND = re.compile(
    rf"(?:[,;]|(?<!\s))\s++(?:and|or)\s++(?:also\s++)?(?={_ASKS_AGAIN})|;\s++(?={_ASKS_AGAIN})", re.IGNORECASE
)
_TWICE = re.compile(
    r"(?P<asks>(?:where|when|how|what|who|which \w+) (?:do|did|have) (?:i|we)) (?P<one>\w+) and (?P<other>\w+)\s*\?*$",
    re.IGNORECASE,
)
LAST_SAID = _asks(
    r"what (?:did|have) i (?:just|last) (?:say|said|tell you|told you|write|wrote)|what was my last message"
)
_DAY_ASKED = _asks(
    r"what (?:did|have) i (?:tell|told|say|said|mention|write)(?: to)?(?: you)? (?P<day>yesterday|today)|what did we (?:talk|speak|chat) about (?P<then>yesterday|today)"
)
_APOSTROPHES = {
    "dont": "don't",
    "doesnt": "doesn't",
    "cant": "can't",
    "isnt": "isn't",
    "didnt": "didn't",
    "wont": "won't",
    "whats": "what's",
    "wheres": "where's",
    "whos": "who's",
    "ive": "I've",
}


def spelled(text: str) -> str:
    """`text` with the usual slips put right: "dont", "favrite", "colur". Other words stay as they are."""

    def right(match: re.Match[str]) -> str:
        word = match[0]
        low = word.casefold()
        if low in _APOSTROPHES:
            return _APOSTROPHES[low]
        if not word.islower() or len(word) < 5 or low in _LIKE:
            return word
        near = difflib.get_close_matches(low, _LIKE, 1, 0.85 if len(low) > 5 else 0.9)
        plural = near and low.rstrip("s") == near[0].rstrip("s")
        return near[0] if near and not plural and low[0] == near[0][0] and low not in _REAL_WORDS else word

    return re.sub(r"[A-Za-z]+", right, text)


_REAL_WORDS = word_set(
    "there were favour favours color calling college whether mothers fathers brothers sisters another bother rather farther gather wear marries collar birthdays favourites address addressed remembers remembered doctors"
)


def normalised(question: str) -> str:
    """A question without its polite opening, with contractions written out."""
    text = spelled(" ".join(question.replace("’", "'").split())).strip().rstrip("?.! ")
    text = re.sub(
        r"^(?:(?:so|and|ok|okay|well|hey|hi|hello|please|now|also|but|then|by the way|btw|um|just)[, ]+)+",
        "",
        text,
        flags=re.IGNORECASE,
    )
    for pattern, whole in _CONTRACTED:
        text = pattern.sub(whole, text)
    asked = re.sub(
        r"^(?:(?:can|could|would|will) you (?:please )?(?:tell|remind) me|(?:please )?(?:tell|remind) me|do you (?:still )?(?:know|remember)"
        r"|(?:can|could) you remember|i forgot|i forget|any idea|i can't remember|i don't remember|i want to know|i'd like to know)\b,? (?=wh|how|my |our )",
        "", text, flags=re.IGNORECASE,
    )  # fmt: skip
    if asked != text:
        asked = re.sub(r"^(?=(?:my|our) )", "what is ", asked, flags=re.IGNORECASE)
        asked = re.sub(
            r"^(what|who|where|when|how old) ((?!is |are |am |was |do |does |did ).+?) (is|are|am|was)$",
            r"\1 \3 \2",
            asked,
            flags=re.IGNORECASE,
        )
    return asked.strip()


def read_question(question: str) -> Asked | None:
    """The slot that a question asks for; None if it asks for none that is known here."""
    text = normalised(question)
    past = bool(_PAST.search(text))
    if past:
        text = re.sub(r"\b(?:used?|use) to ", "", text, flags=re.IGNORECASE)
        text = re.sub(
            r"\s+before\b.*$|\s+in the past\b|\s+(?:previously|formerly|originally|earlier)\b",
            "",
            text,
            flags=re.IGNORECASE,
        )
        text = re.sub(
            r"\b(?:previous|former|old|prior|last) (?=job|employer|address|home|company|city|work)",
            "",
            text,
            flags=re.IGNORECASE,
        )
        text = re.sub(r"\bwas\b", "is", text)
    if match := _HISTORY.match(text):
        return Asked("history", "", past=False, value="home" if match["how"].lower() == "lived" else "employer job")
    for slot, pattern in _QUESTIONS:
        if match := pattern.match(text):
            return Asked(slot, _whom(match), past)
    for slot, pattern in _CONFIRMING:
        if match := pattern.match(text):
            return Asked(slot, _whom(match), past, match["value"].strip(), confirms=True)
    if match := _FAVOURITE.match(text):
        return Asked("favourite", "", past, match["thing"].strip())
    if match := _VERB.match(text):
        noun = match["noun"] or ""
        return Asked("verb", _whom(match), past, f"{match['verb']} {noun}".strip())
    if match := _THING.match(text):
        return Asked("thing", _whom(match), past, (match["mine"] or match["thing"]).strip())
    if match := _WHEN.match(text):
        return Asked("since", "", past, match["what"].lower() + match["rest"])
    return None


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
    match = _DAY_ASKED.match(normalised(question))
    if match is None:
        return None
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=(match["day"] or match["then"]).casefold() == "yesterday")


def asks_for_all(question: str) -> str | None:
    """Of whom or what everything is asked: empty for the owner, None if the question is another."""
    text = normalised(question)
    match = _KNOWN.match(text) or _ABOUT.match(text)
    if match is None:
        return (
            ""
            if re.fullmatch(
                r"(?:what|who) (?:am i|do i look like) to you|summari[sz]e me|describe me", text, re.IGNORECASE
            )
            else None
        )
    about = (match["about"] or "").strip()
    if re.search(r"\b(?:yesterday|today|last|earlier|week)\b", text, re.IGNORECASE):
        return None
    return "" if about.casefold() in ("", "me", "myself", "us", "my life") else about


def names_somebody(question: str) -> str:
    """The name in a question such as "Who is Ana?"."""
    match = _WHO_IS.match(normalised(question))
    return match["who"] if match else ""


def _whom(match: re.Match[str]) -> str:
    """Whom a question names; empty for the one who asks."""
    who = (match.groupdict().get("who") or "").strip()
    who = re.sub(r"^(?:my|our|the)\b ?", "", who, flags=re.IGNORECASE).removesuffix("'s").removesuffix("'")
    return "" if who.casefold() in ("i", "we", "me") else who


class Knowledge:
    """The facts of one owner, latest first, as questions look them up."""

    def __init__(self, facts: Sequence[Fact], now: datetime) -> None:
        self.now = now
        self.current = [fact for fact in facts if fact.superseded_at is None]
        self.ended = [fact for fact in facts if fact.superseded_at is not None and not fact.retracted]
        self.retracted = [fact for fact in facts if fact.retracted]

    def answering(self, asked: Asked) -> list[Fact]:
        """The facts that answer, latest first; none if the question asks for what nobody told."""
        if asked.slot == "history":
            rows = [fact for name in asked.value.split() for fact in self._slot(name, "", [*self.current, *self.ended])]
            return sorted(rows, key=lambda fact: (fact.superseded_at is None, fact.superseded_at or fact.learned_at))
        if asked.slot == "since":
            return self._slot("home" if asked.value.startswith("move") else "employer", "", self.current)
        rows = self.ended if asked.past else self.current
        found = self._slot(asked.slot, asked.who, rows, asked.value)
        if asked.past and (used := {"home": "live", "employer": "work", "job": "work"}.get(asked.slot)):
            found = [fact for fact in self.current if fact.text.startswith(f"Used to {used}")] + found
        if not found and not asked.who and (instead := _SLOTS.get(asked.slot, _Slot()).instead):
            found = self._slot(instead, "", rows)
        if asked.past and asked.slot == "employer":
            return [fact for fact in found if not fact.text.casefold().startswith("no longer")]
        return found

    def before(self, asked: Asked, fact: Fact) -> Fact | None:
        """What held in the same slot before `fact`."""
        if asked.slot not in _WITH_HISTORY or asked.past:
            return None
        earlier = self._slot(asked.slot, asked.who, self.ended)
        same = [each for each in earlier if each.key == fact.key and each.text.casefold() != fact.text.casefold()]
        return same[0] if same else None

    def naming(self, name: str) -> list[Fact]:
        """The current facts that hold a name."""
        return [fact for fact in self.current if re.search(rf"\b{re.escape(name)}\b", fact.text, re.IGNORECASE)]

    def same_person(self, key: str, told: Sequence[Statement]) -> set[str]:
        """The keys of the same slot under the other names of somebody: sister_home_city for ines_home_city."""
        prefix, slot = next(
            ((key.removesuffix(f"_{slot}"), slot) for slot in _OF_PEOPLE if key.endswith(f"_{slot}")), ("", "")
        )
        names = {name: set(relations) for name, relations in self.names.items()}
        for statement in told:
            if (match := _SUBJECT.match(statement.text)) and match["who"] and (named := _NAMED.match(match["rest"])):
                names.setdefault(named["name"].casefold(), set()).add(_same(match["who"]))
        aliases = {relation for name, relations in names.items() if slug(name) == prefix for relation in relations}
        aliases |= {name for name, relations in names.items() if prefix in map(slug, relations)}
        return {f"{slug(alias)}_{slot}" for alias in aliases if prefix}

    def concerns(self, question: str) -> bool:
        """Whether a question is about the owner or somebody who is known by name."""
        return bool(PERSONAL.search(question)) or any(
            re.search(rf"\b{re.escape(name)}\b", question, re.IGNORECASE) for name in self.names
        )

    def about(self, who: str) -> list[Fact]:
        """All current facts about somebody or something."""
        return [fact for fact, _ in self._of(who, self.current)]

    def _slot(self, name: str, who: str, rows: Sequence[Fact], value: str = "") -> list[Fact]:
        slot = _SLOTS.get(name)
        if name == "thing":
            return self._thing(who, rows, value)
        if name == "favourite":
            return self._favourite(rows, value)
        if name == "verb":
            verb, _, noun = value.partition(" ")
            slot = _Slot(own=re.escape(third_person(verb)) + r"\b", other=re.escape(third_person(verb)) + r"\b")
            found = self._slot_of(slot, who, rows)
            kinds = {
                "team": "",
                "club": "",
                "subject": "",
                "course": "",
                "instrument": r"\bthe \w+$|guitar|piano|violin|drums|cello|flute|bass",
                "language": "",
                "languages": "",
            }
            pattern = kinds.get(noun.casefold(), re.escape(noun))
            return [fact for fact in found if re.search(pattern, fact.text, re.IGNORECASE)]
        if slot is None:
            return []
        if not who and name == "name":
            return self._slot_of(slot, "", rows)
        return self._slot_of(slot, who, rows)

    def _slot_of(self, slot: _Slot, who: str, rows: Sequence[Fact]) -> list[Fact]:
        if not who:
            own = re.compile(slot.own, re.IGNORECASE)
            keyed = [fact for fact in rows if fact.key in slot.keys and not _is_of_others(fact.text)]
            return keyed + [fact for fact in rows if fact not in keyed and own.match(fact.text)]
        other = re.compile(slot.other, re.IGNORECASE)
        return [fact for fact, rest in self._of(who, rows) if slot.other and other.match(rest)]

    def _thing(self, who: str, rows: Sequence[Fact], thing: str) -> list[Fact]:
        begins = re.compile(rf"(?:{re.escape(thing)})\b(?!'s|-)", re.IGNORECASE)
        if who:
            return [fact for fact, rest in self._of(who, rows) if begins.match(rest)]
        if re.fullmatch(SOMEBODY, thing, re.IGNORECASE):
            return [fact for fact, _ in self._of(thing, rows)]
        keys = {slug(thing), relation_key(thing)}
        return [fact for fact in rows if fact.key in keys or begins.match(fact.text)]

    def _favourite(self, rows: Sequence[Fact], thing: str) -> list[Fact]:
        def plain(text: str) -> str:
            return text.casefold().replace("favorite", "favourite").replace("color", "colour").replace("_", " ")

        wanted = plain(f"favourite {thing}").rstrip("s")
        return [fact for fact in rows if plain(fact.text).startswith(wanted) or plain(fact.key).rstrip("s") == wanted]

    def _of(self, who: str, rows: Sequence[Fact]) -> Iterator[tuple[Fact, str]]:
        """The facts about somebody, each with what it says of them."""
        base, _, tail = who.partition("'s ")
        wanted = self._aliases(base)
        for fact in rows:
            match = _SUBJECT.match(fact.text)
            if match is None:
                continue
            called = {_same(match["who"])} if match["who"] else set()
            called |= {(match["name"] or match["both"] or "").casefold()} - {""}
            if not called & wanted or (
                match["both"] and match["both"].casefold() not in wanted and base.casefold() in self.names
            ):
                continue
            rest = match["rest"]
            if tail:
                if match["of"] and rest.casefold().startswith(tail.casefold() + " "):
                    yield fact, rest[len(tail) + 1 :]
            else:
                yield fact, rest

    @property
    def names(self) -> dict[str, set[str]]:
        """Who goes by which name: a name to the relations that it stands for."""
        found: dict[str, set[str]] = {}
        for fact in self.current:
            match = _SUBJECT.match(fact.text)
            if match is None or (match["of"] and not match["rest"].startswith("name ")):
                pass
            elif match["who"]:
                named = _NAMED.match(match["rest"])
                name = match["both"] or (named["name"] if named else "")
                if name:
                    found.setdefault(name.casefold(), set()).add(_same(match["who"]))
            if owned := re.match(
                rf"has an? (?:[\w-]+ )*?(?P<who>{SOMEBODY}) (?:called|named) (?P<name>{NAME})$",
                fact.text,
                re.IGNORECASE,
            ):
                found.setdefault(owned["name"].casefold(), set()).add(_same(owned["who"]))
            if married := re.match(rf"married to (?P<name>{NAME})$", fact.text, re.IGNORECASE):
                found.setdefault(married["name"].casefold(), set()).add("spouse")
        return found

    def _aliases(self, who: str) -> set[str]:
        """The names and relations that stand for somebody: "sister" for Ana, "Ana" for the only sister."""
        low = _same(who)
        names = self.names
        wider = {low, *_WIDER.get(low, ())}
        named = {name for name, relations in names.items() if relations & wider}
        if low in names:
            single = {relation for relation in names[low] if sum(relation in each for each in names.values()) == 1}
            return {low, *single}
        return wider | named


def _same(relation: str) -> str:
    low = relation.casefold().strip()
    return _SAME.get(low, _SAME.get(low.rstrip("s"), low if low not in _PLURALS else low.rstrip("s")))


_OF_PEOPLE = ("home_city", "employer", "occupation", "age", "birthday", "date_of_birth")
_PLURALS = {
    f"{word}s"
    for word in (
        *PETS.split(", "),
        "son",
        "daughter",
        "sister",
        "brother",
        "friend",
        "uncle",
        "aunt",
        "cousin",
        "parent",
        "sibling",
        "pet",
    )
}


def _is_of_others(text: str) -> bool:
    """Whether a fact is about a relative or a pet rather than about its owner."""
    match = _SUBJECT.match(text)
    return bool(match and (match["who"] or match["of"]))


def age_from(text: str, now: datetime) -> str:
    """How old somebody is whose date of birth a fact gives; empty if it gives no whole date."""
    match = re.search(rf"born (?:on |in )?(?P<date>{DATE}|(?:19|20)\d\d)", text, re.IGNORECASE)
    if match is None or not (year := re.search(r"(?:19|20)\d\d", match["date"])):
        return ""
    born = _day_of(match["date"], int(year[0]))
    if born is None:
        return ""
    months = (now.year - born[0]) * 12 + now.month - born[1] - (now.day < born[2])
    weeks = (now.date() - datetime(*born).date()).days // 7
    if months >= 24:
        return f"{months // 12} years old"
    return f"{months} months old" if months >= 2 else f"{weeks} week{'' if weeks == 1 else 's'} old"


def _day_of(text: str, year: int) -> tuple[int, int, int] | None:
    months = "jan feb mar apr may jun jul aug sep oct nov dec".split()
    month = next((place for place, name in enumerate(months, 1) if re.search(rf"\b{name}", text, re.IGNORECASE)), None)
    number = re.search(r"\b(\d{1,2})(?:st|nd|rd|th)?\b", text)
    return (year, month, int(number[1])) if month and number and 1 <= int(number[1]) <= 31 else None


def covers(question: str, words: frozenset[str]) -> bool:
    """Whether a memory holds what a question asks: all of its words, or all but one of four and more."""
    asked = content_words(re.sub(r"\b(?:what|which) (?:kind|sort|type) of\b", "", normalised(question)))
    return bool(asked) and len(asked & words) >= len(asked) - (len(asked) >= 4)
