"""The vocabulary of the offline grammar: what can be a place, a person, a workplace or an attribute, and what cannot.

Invariant: each check answers the empty string (or does not match) when in doubt.
"""

from __future__ import annotations

import re

from memories.consolidation.grammar.text import phrases, slug, word_set
from memoryhub.regexes import lazy_regex

_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"

QUESTION = lazy_regex(
    r"\?\s*$|^(?:"
    + phrases(
        """
        who, whom, whose, what, what's, where, where's, why, how, which, do, does, did, is, are, am, was, were, can,
        could, should, would, will, has, have i, have you, tell me, show me, list, any idea, remind me what,
        remind me when, remind me where, remind me who, remind me how, remind me of
        """
    )
    + r"|when (?:do|does|did|is|are|am|was|were|will|would|should|can|could|has|have))\b",
    re.IGNORECASE,
)
# Words that make a sentence a supposition, a plan, a wish, a past or passing state, or somebody else's words.
DOUBT = lazy_regex(
    r"\b(?:"
    + phrases(
        """
        if, unless, maybe, perhaps, might, would, could, should, wish, suppose, imagine, hypothetically, pretend,
        let's say, what if, think of, think about, think i, think we, thinking of, thinking about, consider,
        considering, planning, plan to, hope to, hoping to, i hope, want to, wanna, going to, gonna, about to,
        probably, almost, nearly, not sure, supposed to, used to, as if, like i, i may, we may, doubt, not true,
        joking, kidding, said, says, told, asked, thinks, claims, heard, wrote, writes, dream, dreams, dreamt, dreamed,
        joked,
        according to, story, novel, character, game, temporarily, for now, this week, this weekend, on holiday,
        on vacation, visiting, next week, next month, next year, next summer, tomorrow
        """
    )
    + r")\b",
    re.IGNORECASE,
)
# "This week" makes a state pass and only dates what begins or ends.
_THIS_WEEK = lazy_regex(r"\bthis (?:week|weekend)\b", re.IGNORECASE)
_CHANGES = lazy_regex(
    r"\b(?:started|moved|relocated|bought|sold|left|quit|adopted|stopped|joined|gave up)\b", re.IGNORECASE
)

_MEANT = lazy_regex(r"^i said\b(?=.*\bbut (?:i )?meant\b)", re.IGNORECASE)


def doubtful(sentence: str) -> bool:
    """Whether a sentence supposes, plans, wishes, reports, or tells of what passes."""
    told = _THIS_WEEK.sub("", sentence) if _CHANGES.search(sentence) else sentence
    told = _MEANT.sub("", told)
    return bool(DOUBT.search(told))


DATE = lazy_regex(rf"\d|\b(?:{_MONTHS})\b", re.IGNORECASE)
# Where a value ends and the sentence goes on.
VALUE_ENDS = lazy_regex(
    r"\s*(?:[.!;(]|\s[-–—]|\s(?:"
    + phrases(
        """
        now, today, yesterday, again, since, because, for, with, last, this, on, at, from, recently, and, as, where,
        so, after, these days, nowadays, permanently, together, though, to be
        """
    )
    + rf"|in (?:19|20)\d\d|in (?:{_MONTHS})|\w+ (?:days?|weeks?|months?|years?) ago)\b).*$",
    re.IGNORECASE,
)
_BUT = lazy_regex(r"\b(?:but|until|till|except|moved|left|not|no longer|then)\b", re.IGNORECASE)

_WORD = r"[^\W\d_][\w'.-]*"
_PLACE = lazy_regex(rf"{_WORD}(?: {_WORD}){{0,4}}(?:, {_WORD}(?: {_WORD}){{0,2}})?")
_LINKS = word_set(
    """
    de da do del della di la le les los las el am an der den upon of on the by und y sur sous saint
    """
)
_NO_PLACES = word_set(
    """
    fear hope peace sin denial poverty luxury hiding exile retirement town country sales marketing engineering
    finance support management production hr it design operations bed school college university there here abroad
    tears love style comfort limbo harmony chaos silence person private public danger pain agony shock trouble
    debt doubt favour favor linux windows mac macos ubuntu debian python postgres postgresql mysql sqlite vim
    neovim emacs android ios chrome firefox safari github gitlab aws azure gcp kubernetes docker typescript
    javascript rust java slack teams notion spotify netflix signal whatsapp telegram gmail outlook excel vscode
    monday tuesday wednesday thursday friday saturday sunday january february march april june july august
    september october november december
    """
)
_NO_NAMES = _NO_PLACES | word_set(
    """
    later back tomorrow today tonight maybe crazy anytime asap when if at on in after before a an the my your not
    now again soon whenever old lucky stupid mad sir boss
    """
)
_NO_WORKPLACES = lazy_regex(
    r"(?:\d|(?:"
    + phrases(
        """
        home, night, nights, weekends, noon, it, that, this, all, least, most, time, times, my, free, fun, myself,
        money, peanuts, a living, the moment, the same, day, both, him, her, them, you, as
        """
    )
    + r")\b)",
    re.IGNORECASE,
)
_LONGEST_NAME = 4
LONGEST_THING = 3

PROFESSIONS = word_set(
    """
    accountant actor actress analyst architect artist baker barber barista biologist builder carpenter chef
    chemist cleaner coach consultant cook dancer dentist designer developer director doctor driver economist
    editor electrician engineer farmer filmmaker firefighter gardener geologist hairdresser historian illustrator
    journalist judge lawyer lecturer librarian manager mathematician mechanic midwife musician nurse optician
    painter paramedic pharmacist photographer physicist physiotherapist pilot plumber podcaster politician
    producer professor programmer psychologist researcher sailor scientist secretary shepherd singer solicitor
    statistician student surgeon surveyor tailor teacher technician therapist translator vet waiter waitress
    welder writer operator assistant officer agent clerk supervisor planner adviser advisor trainer guide nanny
    butcher bricklayer roofer courier cashier receptionist bartender steward specialist administrator instructor
    headteacher undertaker priest pastor vicar imam rabbi soldier detective postman conductor composer author poet
    florist jeweller optometrist paediatrician pediatrician radiologist cardiologist anaesthetist psychiatrist
    veterinarian barrister paralegal notary banker broker auditor actuary entrepreneur freelancer contractor
    lead leader postdoc intern apprentice trainee
    """
)
VAGUE = word_set("thing things part way one bit moment memory aspect")
NO_ALLERGENS = word_set(
    """
    mornings mondays work meetings drama stupidity nonsense effort it that this you him her them people cardio
    bullshit
    """
)
STATES_OF_MIND = word_set(
    """
    know care think feel want understand remember believe see trust get need mind recall hear doubt wonder even
    """
)
LASTING_STATE = lazy_regex(
    r"(?:(?:at|with|in)\s[A-Z]|(?:"
    + phrases(
        """
        a, an, vegan, vegetarian, pescatarian, married, single, engaged, allergic to, employed, unemployed, living in,
        based in, working at, working for, working as, studying, pregnant, diabetic, retired
        """
    )
    + r")\b)"
)

PEOPLE = word_set(
    """
    wife husband spouse partner girlfriend boyfriend fiance fiancee sister brother mother father mum mom dad son
    daughter aunt uncle cousin grandmother grandfather grandma grandpa nephew niece boss manager colleague friend
    best_friend neighbour neighbor flatmate roommate landlord landlady doctor dentist gp vet therapist coach tutor
    """
)
# Who goes by the name of another of them takes nobody's place: "brother is Tom", "brother is Alex".
SEVERAL_KIN = word_set("sister brother son daughter aunt uncle cousin nephew niece")
# What one can have one of, so that "my X is Y" says Y of it whatever Y looks like; some are known under another key.
_ATTRIBUTES = word_set(
    """
    age birthday birth_date date_of_birth anniversary wedding_anniversary email email_address phone phone_number
    mobile mobile_number address home_address postcode zip_code blood_type shoe_size ring_size height weight job
    job_title occupation profession employer company role nationality religion hometown country timezone time_zone
    native_language mother_tongue first_language pronouns nickname username handle website star_sign zodiac_sign
    hobby diet car licence_plate license_plate number_plate bank school university major degree gym locker_number
    seat_preference flight_number room_number desk_number customer_number account_number order_number
    policy_number membership_number passport_number surname last_name first_name middle_name maiden_name
    surgery
    """
)
_SAME_KEYS = {
    "job": "occupation",
    "job_title": "occupation",
    "profession": "occupation",
    "company": "employer",
    "time_zone": "timezone",
    "zip_code": "postcode",
    "email_address": "email",
    "phone": "phone_number",
    "mobile": "phone_number",
    "mobile_number": "phone_number",
    "birth_date": "date_of_birth",
    "home_address": "address",
    "surname": "last_name",
    "manager": "boss",
    "line_manager": "boss",
    "supervisor": "boss",
    "fiancé": "fiance",
    "fiancée": "fiance",
    "fiancee": "fiance",
    "licence_plate": "number_plate",
    "license_plate": "number_plate",
}
_DIALLED = lazy_regex(r"[+(]?\d[\d ()/.-]*$")
_DATED = word_set("birthday birth_date date_of_birth anniversary wedding_anniversary")
_NO_THINGS = word_set(
    """
    point question guess problem issue opinion understanding plan fault idea concern hope wish dream feeling turn
    head back bad mistake answer advice job_here worry fear thought impression view belief goal aim feedback
    old previous former ex late future dream ideal favourite favorite
    suggestion comment first last next other only own biggest main request message stomach heart day week life
    mind mood brain
    """
)
TRANSIENT = lazy_regex(
    r"(?:"
    + phrases(
        """
        been, got, gotten, had, just,
        not, n't, no, too, very, so, really, quite, pretty, gone, here, there, broken, dead, down, off, late, tired,
        sick, ill, fine, ok, okay, good, bad, great, terrible, awful, nice, full, empty, lost, missing, wrong, right,
        ready, done, over, about, that, to, what, how, why, who, where, when, whether, because, unknown, private,
        secret, none, your, yours, it, this, these, those, still, always, never, almost, up, out, all, better, worse,
        the best, the worst, the same, the reason, the problem, the one, the most
        """
    )
    + r"|\w+ing|an? (?:"
    + phrases(
        """
        mess, joke, nightmare, disaster, problem, pain, secret, bit, lot, little, long, good, bad, great, big, huge,
        real, total, complete, mystery, issue, idiot, while, few, monster, menace, angel, darling, genius, star,
        sweetheart, treasure, legend, hero, saint, terror, devil, handful
        """
    )
    + r"))\b",
    re.IGNORECASE,
)
# What a "like" or "love" that names nothing begins with.
POINTING = word_set(
    """
    it this that these those how when what you your him her them the to my our being having where who if seeing
    a an all both every myself ourselves everything something nothing
    """
)
# Words by which people say that they mean the opposite; nothing in such a message is believed.
SARCASM = lazy_regex(
    r"^(?:"
    + phrases(
        """
        oh great, oh sure, oh joy, oh yes because, oh yeah because, ah yes, yeah right, yeah sure, lol, haha, sure
        because, right because, wow thanks, great just what, how lovely another, as if
        """
    )
    + r")\b|\b(?:"
    + phrases(
        "obviously, not!, just what i needed, living the dream, lucky me, yay me, just love, simply love, so love"
    )
    + r")(?!\w)|/s\s*$|\b(?:lol|haha\w*|kidding|joking|jk|april fools?)\b|[.!]\s+not[.!]*\s*$",
    re.IGNORECASE,
)
# A text that is to be worked on is not what its writer says of themselves.
GIVEN_TEXT = lazy_regex(
    r"^(?:(?:please|can you|could you|now)\s+)*(?:"
    + phrases(
        """
        translate, draft, proofread, proof-read, rewrite, rephrase, paraphrase, summarise, summarize, shorten, polish,
        correct, spellcheck, write, compose, example, for example, e.g., for my novel, for my story, for my essay,
        fix the grammar, let's play, imagine, pretend, roleplay, role-play, scenario, test, quote, lyrics
        """
    )
    + r")\b(?!ing\b)",
    re.IGNORECASE,
)
_CAPITALS = lazy_regex(
    r"(?:(?:Mr|Mrs|Ms|Miss|Dr|Prof)\.? )?[^\W\d_a-z][\w'-]*(?: (?:de|da|van|von|del|la|al|bin)(?= ))*"
    r"(?: [^\W\d_a-z][\w'-]*)*"
)
_TAIL = lazy_regex(
    r"(?:,\s+(?:by the way|btw|so|which|who|because|but|and|though|he|she|it|they|i|we|my|our|not|that|as|since|mostly"
    r"|just|the|there|at least)\b"
    r"|\s+(?:and|but|so|because|though|which)\s+(?:it|he|she|they|i|we|my|our|that|this|the)\b"
    r"|[;!(]|(?<!\bProf)(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bSt)\.(?=\s|$)|\s[-–—]\s"
    r"|\s+(?:now|nowadays|these\s+days|at\s+the\s+moment|currently|any\s?more|since|anyway|again)\b(?!\s+\w+ing)).*$",
    re.IGNORECASE,
)
_ARTICLE = lazy_regex(r"(?:an?|the)\s+\w", re.IGNORECASE)


def place_in(text: str) -> str:
    """The place at the start of `text`, or nothing. Small letters are taken only where the user writes nothing else."""
    text = text.strip()
    head = VALUE_ENDS.sub("", text).strip().rstrip(",")
    if _BUT.search(text[len(head) :]):
        return ""
    match = _PLACE.match(head)
    if match is None or (match.end() < len(head) and not head[match.end() :].startswith(",")):
        return ""
    place = match[0].rstrip(".,' ")
    city, _, region = place.partition(", ")
    if region and not all(word[0].isupper() for word in region.split()):
        place = city
    words = city.split()
    if words[0].casefold() in _NO_PLACES:
        return ""
    if _is_name(words) or [*words][:2] in (["the", "Hague"], ["The", "Hague"]):
        return place
    if text == text.lower() and len(words) == 1 and not words[0].endswith("ing") and words[0] not in _LINKS | _NO_NAMES:
        return place.title()
    return ""


def _is_name(words: list[str]) -> bool:
    return words[0][0].isupper() and all(word[0].isupper() or word in _LINKS for word in words)


def person_in(text: str, *, any_case: bool = False) -> str:
    """The name at the start of `text`, or nothing."""
    name = re.split(
        r"[.!,;(]|\s(?:and|but|from|at|as|because|since|now|please|instead|for)\b", text.strip(), maxsplit=1
    )[0].strip()
    words = name.split()
    if not words or len(words) > _LONGEST_NAME or words[0].casefold() in _NO_NAMES or re.search(r"[\d@/:]", name):
        return ""
    if _is_name(words):
        return name
    return name.title() if any_case and name == name.lower() and not TRANSIENT.match(name) else ""


def workplace_in(text: str) -> str:
    """The employer at the start of `text`, or nothing."""
    head = re.split(
        r"[.!;(]|,\s|\s(?:now|since|because|but|these days|nowadays|until|today|again|last|this|as|and|where|so)\b",
        text.strip(),
        maxsplit=1,
    )[0]
    head = head.strip()
    if not head or _NO_WORKPLACES.match(head) or _BUT.search(text[len(head) :]):
        return ""
    return head


def attribute_key(thing: str, value: str) -> str:
    """The key under which "my <thing> is <value>" is kept, or nothing if it says nothing lasting."""
    key = slug(thing)
    parts = key.split("_")
    if not key or len(parts) > LONGEST_THING or parts[0] in _NO_THINGS or parts[-1] in _NO_THINGS:
        return ""
    if TRANSIENT.match(value) or not value:
        return ""
    in_time = value.casefold().startswith(("in ", "on ", "at "))
    if in_time and key not in _DATED:
        return ""
    if key in ("phone", "mobile") and not _DIALLED.match(value):
        return "phone"
    if key in _ATTRIBUTES or key in _SAME_KEYS:
        return _SAME_KEYS.get(key, key)
    telling = _ARTICLE.match(value) or value[0].isupper() or value[0].isdigit()
    return key if telling else ""


def relation_key(relation: str) -> str:
    """The key of somebody one has one of: boss for "my manager"."""
    key = slug(relation.replace("é", "e"))
    return _SAME_KEYS.get(key, key)


def name_at(text: str) -> str:
    """The words with capital letters at the start of `text`: "Tom works at the council" begins with Tom."""
    match = _CAPITALS.match(text.strip())
    return match[0] if match else ""


def without_tail(text: str) -> str:
    """A value without what the sentence goes on to say after it."""
    return _TAIL.sub("", text).strip().rstrip(".!;,: ").strip()


def third_person(phrase: str) -> str:
    """A verb phrase of "I" as said of a person: work at Acme, works at Acme."""
    verb, _, rest = phrase.partition(" ")
    irregular = {"have": "has", "am": "is", "do": "does", "go": "goes", "are": "is"}
    if verb.casefold() in irregular:
        verb = irregular[verb.casefold()]
    elif verb.endswith(("s", "sh", "ch", "x", "z")):
        verb += "es"
    elif verb.endswith("y") and verb[-2:-1] not in "aeiou":
        verb = f"{verb[:-1]}ies"
    else:
        verb += "s"
    return f"{verb} {rest}".strip()
