"""English vocabulary: recognizes places, persons, workplaces and attributes. In doubt a check returns "no"."""

from __future__ import annotations

import re

from memories.english.text import any_of, compiled, lists, phrases, slug, word_set
from memories.english.times import MONTHS, WEEKDAYS

LONGEST_THING = 3
_LONGEST_NAME = 4
# pointing: a value that begins with one of these names nothing.
# single: attributes with one value, so "my X is Y" states Y whatever Y looks like.
_WORDS = lists(
    """
links = de da do del della di la le les los las el am an der den upon of on the by und y sur sous saint
no_places = fear hope peace sin denial poverty luxury hiding exile retirement town country sales marketing engineering
    finance support management production hr it design operations bed school college university there here abroad tears
    love style harmony chaos silence person private public danger pain shock trouble debt doubt linux windows python
    java slack teams
no_names = later back tomorrow today tonight maybe crazy anytime asap when if at on in after before a an the my your
    not now again soon whenever old lucky stupid mad sir boss
professions = accountant actor actress analyst architect artist baker barber barista biologist builder carpenter chef
    chemist cleaner coach consultant cook designer developer director doctor driver economist editor electrician
    engineer farmer firefighter gardener hairdresser journalist judge lawyer lecturer librarian manager mechanic
    midwife musician nurse officer optician painter paramedic pharmacist photographer physicist physiotherapist pilot
    plumber producer professor programmer psychologist researcher scientist secretary singer solicitor student surgeon
    teacher technician therapist translator vet waiter waitress welder writer assistant clerk supervisor planner
    trainer nanny butcher courier cashier receptionist bartender administrator soldier postman composer author florist
    freelancer contractor lead postdoc intern apprentice trainee
people = wife husband spouse partner girlfriend boyfriend fiance fiancee sister brother mother father mum mom dad son
    daughter aunt uncle cousin grandmother grandfather grandma grandpa nephew niece boss manager colleague friend
    best_friend neighbour neighbor flatmate roommate landlord landlady doctor dentist gp vet therapist coach tutor
single = age birthday birth_date date_of_birth anniversary wedding_anniversary email phone_number address postcode
    blood_type shoe_size ring_size height weight occupation employer nationality religion hometown country timezone
    native_language mother_tongue first_language pronouns nickname username hobby diet car number_plate bank school
    university degree gym last_name first_name middle_name maiden_name star_sign surgery
same_keys = occupation/job/job_title/profession employer/company timezone/time_zone postcode/zip_code
    email/email_address phone_number/phone/mobile/mobile_number date_of_birth/birth_date address/home_address
    last_name/surname boss/manager/line_manager/supervisor fiance/fiancé/fiancée/fiancee
    number_plate/licence_plate/license_plate
no_things = point question guess problem issue opinion understanding plan fault idea concern hope wish dream feeling
    turn head back bad mistake answer advice fear thought impression view belief goal aim feedback old previous former
    ex late future ideal favourite favorite suggestion comment first last next other only own biggest main request
    message stomach heart day week life mind mood brain
pointing = it this that these those how when what you your him her them the to my our being having where who if seeing
    a an all both every myself ourselves everything something nothing
states_of_mind = know care think feel want understand remember believe see trust get need mind recall hear
"""
)
_PHRASES = lists(
    """
asking = who, whom, whose, what, what's, where, where's, why, how, which, do, does, did, is, are, am, was, were, can,
    could, should, would, will, has, have i, have you, tell me, show me, list, any idea
doubt = if, unless, maybe, perhaps, might, would, could, should, wish, suppose, imagine, hypothetically, pretend, i'd,
    let's say, think of, think about, think i, think we, thinking of, thinking about, consider, considering, planning,
    plan to, hope to, hoping to, i hope, want to, wanna, going to, gonna, about to, probably, almost, nearly, not sure,
    supposed to, used to, as if, like i, i may, we may, doubt, not true, joking, kidding, said, says, told, asked,
    thinks, claims, heard, wrote, dream, dreams, dreamt, dreamed, according to, story, novel, character, game,
    temporarily, for now, this week, this weekend, on holiday, on vacation, visiting, next week, next month, next year,
    next summer, tomorrow
after_value = now, today, yesterday, again, since, because, for, with, last, this, on, at, from, recently, and, as,
    where, so, after, these days, nowadays, originally, permanently, together, though, to be
no_workplaces = home, night, nights, weekends, noon, it, that, this, all, least, most, time, times, my, free, fun,
    myself, money, a living, the moment, the same, day, both, him, her, them, you, as
transient = been, got, gotten, had, just, not, n't, no, too, very, so, really, quite, pretty, gone, here, there, broken,
    dead, down, off, late, tired, sick, ill, fine, ok, okay, good, bad, great, terrible, awful, nice, full, empty, lost,
    missing, wrong, right, ready, done, over, about, that, to, what, how, why, who, where, when, whether, because,
    unknown, private, secret, none, your, yours, it, this, these, those, still, always, never, almost, up, out, all,
    better, worse, the best, the worst, the same, the reason, the problem, the one, the most
opinions = mess, joke, nightmare, disaster, problem, pain, secret, bit, lot, little, long, good, bad, great, big, huge,
    real, total, complete, mystery, issue, idiot, few, monster, menace, angel, genius, star, treasure, legend, hero
irony_first = oh great, oh sure, oh joy, oh yes because, oh yeah because, ah yes, yeah right, yeah sure, lol, haha,
    sure because, right because, wow thanks, great just what, how lovely another, as if
irony = obviously, just what i needed, living the dream, lucky me, yay me, just love, simply love, so love, lol,
    kidding, joking, jk, april fool, april fools
given = translate, draft, proofread, rewrite, rephrase, paraphrase, summarise, summarize, shorten, polish, correct,
    write, compose, example, for example, e.g., for my novel, for my story, for my essay, fix the grammar, let's play,
    imagine, pretend, roleplay, role-play, scenario, test, quote, lyrics
"""
)
PROFESSIONS, PEOPLE = word_set(_WORDS["professions"]), word_set(_WORDS["people"])
POINTING = word_set(_WORDS["pointing"])
STATES_OF_MIND = word_set(_WORDS["states_of_mind"])
_LINKS, _NO_PLACES = word_set(_WORDS["links"]), word_set(_WORDS["no_places"]).union(MONTHS, WEEKDAYS)
_NO_NAMES = _NO_PLACES | word_set(_WORDS["no_names"])
_SINGLE, _NO_THINGS = word_set(_WORDS["single"]), word_set(_WORDS["no_things"])
_SAME_KEYS = {same: names.split("/")[0] for names in _WORDS["same_keys"].split() for same in names.split("/")[1:]}

_ASKS = (
    rf"^(?:{phrases(_PHRASES['asking'])}|remind me (?:what|when|where|who|how|of)"
    r"|when (?:do|does|did|is|are|am|was|were|will|would|should|can|could|has|have))\b"
)
QUESTION = compiled(rf"\?\s*$|{_ASKS}")
# A sentence that asks from its beginning, and the words after which a question states something as well.
ASKING = compiled(_ASKS)
_US = r"(?:i|i'm|i've|we|we're|we've|my|our)\b"
STATES_TOO = compiled(
    rf"\b(?:now that|since|because|given that|although|though|but|after|before|while|if|as) {_US}"
    rf"|[,;:–—-]\s+(?:and )?{_US}"
    r"|\b(?:tell|told|know|knew|mention|mentioned|say|said|hear|heard|remember|guess|believe)(?: (?:you|that|the))*"
    rf" (?:{_US}|(?:he|she|they)\b)"
)
_DOUBT = any_of(_PHRASES["doubt"])
# "This week" marks a state as temporary, but with one of these verbs it only dates a change.
_THIS_WEEK = any_of("this week, this weekend")
_CHANGES = any_of("started, moved, relocated, bought, sold, left, quit, adopted, stopped, joined, gave up")
_MEANT = compiled(r"^i said\b(?=.*\bbut (?:i )?meant\b)")
DATE = compiled(rf"\d|\b(?:{'|'.join(MONTHS)})\b")
# The end of a value within a sentence.
_VALUE_ENDS = compiled(
    rf"\s*(?:[.!;(]|\s[-–—]|\s(?:{phrases(_PHRASES['after_value'])}|in (?:19|20)\d\d|in (?:{'|'.join(MONTHS)})"
    r"|\w+ (?:days?|weeks?|months?|years?) ago)\b).*$"
)
_BUT = any_of("but, until, till, except, moved, left, not, no longer, then")
_TAIL = compiled(
    r"(?:,\s+(?:by the way|btw|so|which|who|because|but|and|though|he|she|it|they|i|we|my|our|not|that|as|since|mostly"
    r"|just|the|there|at least)\b"
    r"|\s+(?:and|but|so|because|though|which)\s+(?:it|he|she|they|i|we|my|our|that|this|the)\b"
    r"|[;!(]|(?<!\bProf)(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bSt)\.(?=\s|$)|\s[-–—]\s"
    r"|\s+(?:now|nowadays|these\s+days|at\s+the\s+moment|currently|any\s?more|since|anyway|again)\b(?!\s+\w+ing)).*$"
)
_LETTER = r"[^\W\d_][\w'.-]*"
_PLACE = re.compile(rf"{_LETTER}(?: {_LETTER}){{0,4}}(?:, {_LETTER}(?: {_LETTER}){{0,2}})?")
_CAPITALS = re.compile(
    r"(?:(?:Mr|Mrs|Ms|Miss|Dr|Prof)\.? )?[^\W\d_a-z][\w'-]*(?: (?:de|da|van|von|del|la|al|bin)(?= ))*"
    r"(?: [^\W\d_a-z][\w'-]*)*"
)
_NAME_ENDS = re.compile(r"[.!,;(]|\s(?:and|but|from|at|as|because|since|now|please|instead|for)\b")
_WORKPLACE_ENDS = re.compile(
    r"[.!;(]|,\s|\s(?:now|since|because|but|these days|nowadays|until|today|again|last|this|as|and|so|next)\b"
)
_NO_WORKPLACES = compiled(rf"(?:\d|(?:{phrases(_PHRASES['no_workplaces'])})\b)")
TRANSIENT = compiled(rf"(?:{phrases(_PHRASES['transient'])}|\w+ing|an? (?:{phrases(_PHRASES['opinions'])}))\b")
# Typical markers of irony; a message with one of them is ignored.
SARCASM = compiled(
    rf"^(?:{phrases(_PHRASES['irony_first'])})\b|\b(?:{phrases(_PHRASES['irony'])}|haha\w*)\b|/s\s*$|\bnot!|[.!]\s+not[.!]*\s*$"
)
# The text of a task ("Translate: …") says nothing about its writer.
_GIVEN_TEXT = compiled(rf"^(?:(?:please|can you|could you|now)\s+)*(?:{phrases(_PHRASES['given'])})\b(?!ing\b)")
_DIALLED = re.compile(r"[+(]?\d[\d ()/.-]*$")
_ARTICLE = compiled(r"(?:an?|the)\s+\w")


def doubtful(sentence: str) -> bool:
    """True if a sentence supposes, plans, wishes, reports, or describes something temporary."""
    told = _THIS_WEEK.sub("", sentence) if _CHANGES.search(sentence) else sentence
    return bool(_DOUBT.search(_MEANT.sub("", told)))


def unmeant(message: str) -> bool:
    """True if a message is ironic, or a text to be worked on."""
    return bool(SARCASM.search(message) or _GIVEN_TEXT.match(message))


def place_in(text: str) -> str:
    """Return the place at the start of `text`, or "".

    A lower-case name counts only if the user writes everything in lower case.
    """
    text = text.strip()
    head = _VALUE_ENDS.sub("", text).strip().rstrip(",")
    match = _PLACE.match(head)
    if match is None or _BUT.search(text[len(head) :]) or head[match.end() :][:1] not in ("", ","):
        return ""
    city, _, region = match[0].rstrip(".,' ").partition(", ")
    words = city.split()
    if words[0].casefold() in _NO_PLACES:
        return ""
    if _is_name(words) or words == ["the", "Hague"]:
        return f"{city}, {region}" if region and all(word[0].isupper() for word in region.split()) else city
    lowered = text == text.lower() and len(words) == 1 and not words[0].endswith("ing")
    return city.title() if lowered and words[0] not in _LINKS | _NO_NAMES else ""


def _is_name(words: list[str]) -> bool:
    return words[0][0].isupper() and all(word[0].isupper() or word in _LINKS for word in words)


def person_in(text: str, *, any_case: bool = False) -> str:
    """Return the person's name at the start of `text`, or ""."""
    name = _NAME_ENDS.split(text.strip(), maxsplit=1)[0].strip()
    words = name.split()
    if not words or len(words) > _LONGEST_NAME or words[0].casefold() in _NO_NAMES or re.search(r"[\d@/:]", name):
        return ""
    if _is_name(words):
        return name
    return name.title() if any_case and name == name.lower() and not TRANSIENT.match(name) else ""


def name_at(text: str) -> str:
    """Return the name formed by capitalized words at the start of `text`: "Tom" in "Tom works at the council"."""
    match = _CAPITALS.match(text.strip())
    return person_in(match[0]) if match else ""


def workplace_in(text: str) -> str:
    """Return the employer at the start of `text`, or ""."""
    head = _WORKPLACE_ENDS.split(text.strip(), maxsplit=1)[0].strip()
    return "" if not head or _NO_WORKPLACES.match(head) or _BUT.search(text[len(head) :]) else head


def attribute_key(thing: str, value: str) -> str:
    """Return the key under which "my <thing> is <value>" is stored, or "" if it states nothing lasting."""
    key = slug(thing)
    parts = key.split("_")
    vague = not key or len(parts) > LONGEST_THING or parts[0] in _NO_THINGS or parts[-1] in _NO_THINGS
    located = value.casefold().startswith(("in ", "on ", "at ")) and "birth" not in key and "anniversary" not in key
    if vague or located or not value or TRANSIENT.match(value):
        return ""
    if key in ("phone", "mobile") and not _DIALLED.match(value):
        return "phone"
    if key in _SINGLE or key in _SAME_KEYS:
        return _SAME_KEYS.get(key, key)
    return key if _ARTICLE.match(value) or value[0].isupper() or value[0].isdigit() else ""


def relation_key(relation: str) -> str:
    """Return the key of a relation that is unique per user: boss for "my manager"."""
    key = slug(relation.replace("é", "e"))
    return _SAME_KEYS.get(key, key)


def same_things(thing: str) -> tuple[str, ...]:
    """Return the names of a thing, its own first: "phone number" and "mobile" for "phone"."""
    key = _SAME_KEYS.get(slug(thing), slug(thing))
    others = (key, *(each for each, one in _SAME_KEYS.items() if one == key))
    return tuple(dict.fromkeys((thing, *(each.replace("_", " ") for each in others))))


def without_tail(text: str) -> str:
    """Cut off the part of a sentence that follows a value."""
    return _TAIL.sub("", text).strip().rstrip(".!;,: ").strip()


def third_person(phrase: str) -> str:
    """Put a verb phrase in the third person: "work at Acme" becomes "works at Acme"."""
    verb, _, rest = phrase.partition(" ")
    regular = re.sub(r"(?<![aeiou])y$", "ie", re.sub(r"(s|sh|ch|x|z)$", r"\1e", verb))
    said = {"have": "has", "am": "is", "do": "does", "go": "goes", "are": "is"}.get(verb.casefold(), f"{regular}s")
    return f"{said} {rest}".strip()
