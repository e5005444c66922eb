"""Which words and phrases say the same in a statement: the one vocabulary by which two wordings may count as equal.

Invariant: whatever is not listed here stands only for itself, so that an unknown word keeps two statements apart. A
past tense is never listed with its present: what was is not what is.
"""

from __future__ import annotations

from memoryhub.regexes import lazy_regex

# In this order, on small letters and plain quotes. What has another form in another order is not listed.
_PHRASES: tuple[tuple[str, str], ...] = (
    (r"\bcan't stand\b|\bcannot stand\b", "hate"),
    (r"\bcan't\b|\bcannot\b", "can not"),
    (r"\bwon't\b", "will not"),
    (r"\bshan't\b", "shall not"),
    (r"\bain't\b", "is not"),
    (r"n't\b", " not"),
    (r"\bi'm\b", "i am"),
    (r"\b(we|you|they)'re\b", r"\1 are"),
    (r"\b(i|we|you|they)'ve\b", r"\1 have"),
    (r"\b(i|we|you|he|she|they|it)'ll\b", r"\1 will"),
    (r"\b(he|she|it|there|that|what|here)'s\b", r"\1 is"),
    (r"\b(i|we|you|he|she|they)'d (like|love|prefer|rather)\b", r"\1 would \2"),
    (r"^(?:please,? |by the way,? |please note that |note that |remember that |just so you know,? |fyi,? )+", ""),
    (r",? please$", ""),
    (r"\bthe user's\b|\b(?:my|our|mine|ours)\b", "my"),
    (r"\bthe user\b|\b(?:i|me)\b", "self"),
    (r"\bus\b", "we"),
    (r"\b(\w+)'s name is\b", r"\1 is"),
    (r"\b(?:is|am|are) (?:called|named)\b", "is"),
    (r"\bnamed\b", "called"),
    (r"\bhave got\b|\bhas got\b", "have"),
    (r"\b(?:have|has) no\b", "not have"),
    (r"\bnot have any\b|\bdo not have any\b|\bdoes not have any\b", "not have"),
    (r"\b(?:do|does) not\b", "not"),
    (r"\bno longer\b", "not longer"),
    (r"\banymore\b|\bany (?:more|longer)$", "longer"),
    (r"\bnot ever\b", "never"),
    (r"\bdislikes?\b", "not like"),
    (r"\bforbids?\b", "not allow"),
    (r"\bwould like\b", "want"),
    (r"\b(want|like|love|hate|prefer)(s?) to\b", r"\1\2"),
    (r"\bprefer(s?) (\S+) over\b", r"prefer\1 \2 to"),
    (r"\b(?:a lot|very much)$", ""),
    (r"\bat the moment\b|\bright now\b|\bcurrently\b|\bpresently\b|\bthese days\b|\bnowadays\b", ""),
    (r" now$", ""),
    (r"\b(?:am|is|are) (?:located|situated|based)\b", "is"),
    (r"\b(?:am|are) employed (?:at|by)\b|\bwork for\b", "work at"),
    (r"\bis employed (?:at|by)\b|\bworks for\b", "works at"),
    (r"\bworking for\b", "working at"),
    (r"\bworks? as\b|\bworking as\b", "is"),
    (r"\bwill take place\b|\bwill be held\b", "will be held"),
    (r"\btakes? place\b", "is"),
    (r"\b(?:have|has) an allergy to\b", "is allergic to"),
    (r"\bsuffer from\b", "have"),
    (r"\bsuffers from\b", "has"),
    (r"\b(?:have|has) diabetes\b", "is diabetic"),
    (r"\btake(s?) care of\b", r"look\1 after"),
    (r"\b(?:am|is|are) (?:scared|afraid|frightened) of\b", "is afraid of"),
    (r"\b(?:is|am|are) (?:a )?(?:big|huge|great) fan of\b", "is a big fan of"),
    (r"\bdriver'?s licen[cs]e\b|\bdriving licen[cs]e\b", "driving licence"),
    (r"\b(?:mum|mom|mother) and (?:dad|father)\b", "parents"),
    (r"\bgive(s?) up\b", r"stop\1"),
    (r"\bgave up\b|\bstopped\b", "quitted"),
    (r"\bquit\b", "quitted"),
    (r"\bcomes? from\b", "is from"),
    (r"\b(?:get|wake)(s?) up\b", r"wake\1"),
    (r"\bgo(?:es)? (?:running|for a run)\b", "go running"),
    (r"\bgoing for a swim\b", "swimming"),
    (r"\b(?:is|are) not allowed\b", "not allowed"),
    (r"\bhas been (paid|sent|fixed|signed|approved|rejected|repaired|sold|delivered|booked)\b", r"was \1"),
    (r"\bnext to\b", "beside"),
    (r"\btwice\b", "2 times"),
    (r"\bonce\b", "1 times"),
    (r" o'clock\b", ""),
    (r"\btime zone\b", "timezone"),
    (r"\bdata ?cent(?:re|er)\b", "datacentre"),
    (r"\bper (second|minute|hour|day|week|month|year|person|night|kilo|litre)\b", r"a \1"),
    (r"\bhold (an?|my) (\w+ )?(passport|degree|licence|visa)\b", r"have \1 \2 \3"),
    (r"\bholds (an?|my|his|her) (\w+ )?(passport|degree|licence|visa)\b", r"has \1 \2 \3"),
    (r"\b(?:around|roughly|approximately|about) (?=\d)", "about "),
    (r"\bmonthly rent is (.+)$", r"rent is \1 a month"),
)
PHRASES = tuple((lazy_regex(pattern), form) for pattern, form in _PHRASES)

# Words of one line count as the first of it.
_GROUPS = """
    favourite favorite
    colour color
    film movie
    films movies
    children kids
    child kid
    mother mum mom mummy
    father dad daddy
    grandmother grandma granny gran
    grandfather grandpa grandad
    manager boss
    flat apartment
    bike bicycle
    bikes bicycles
    car automobile
    phone telephone
    company firm
    begin start
    close shut
    leave depart
    like enjoy
    hate detest
    own possess
    live reside
    use utilise utilize
    often frequently
    usually normally generally mostly
    rarely seldom
    short brief
    every each
    learn study
    renovated refurbished
    maths math mathematics
    metre meter
    metres meters
    centre center
    organise organize
    neighbour neighbor
    grey gray
    licence license
    km kilometre kilometres kilometer kilometers kms
    kg kilogram kilograms kilo kilos
    g gram grams
    mg milligram milligrams
    cm centimetre centimetres centimeter centimeters
    litres liters litre liter
    minutes minute mins min
    hours hour hrs hr
    euros euro eur
    dollars dollar usd
    pounds pound gbp
    percent %
    am a.m. a.m
    pm p.m. p.m
    ok okay
    email e-mail
    tv television
    holiday vacation
    job occupation profession
    surname last-name
    big large
    ill sick
    called named
    beside next-to
    but however
    monday mon
    tuesday tue tues
    wednesday wed
    thursday thu thurs
    friday fri
    saturday sat
    january jan
    february feb
    april apr
    august aug
    september sept sep
    october oct
    november nov
    december dec
"""
SYNONYMS = {word: line.split()[0] for line in _GROUPS.strip().splitlines() for word in line.split()}

_VERBS = """
    allow answer ask avoid bake bank begin belong bike book break bring build buy call carry celebrate climb close
    collect come commute contain cook cost cover cycle dance deploy depart do draw dream drink drive eat email encrypt
    enjoy expire fail fear feel fish fly follow fund garden get give go hate have help hike hold include introduce jog
    keep know last lead learn leave lend like listen live look love make manage mean measure meet miss move need open
    owe own paint pay plan play prefer quit read rent report reside ride rise rotate run sail sell send serve share
    ship show shut sing sit ski sleep smoke speak spend start stay stop store study suffer support swim take talk teach
    tell thank travel trust use visit wait wake walk want watch water wear weigh work worry write
"""


def _forms(verb: str) -> list[str]:
    """The third person and the -ing form. Pasts are left out on purpose."""
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        third = f"{verb}es"
    elif verb.endswith("y") and verb[-2] not in "aeiou":
        third = f"{verb[:-1]}ies"
    else:
        third = f"{verb}s"
    doubled = len(verb) <= 4 and verb[-1] in "bdgmnprt" and verb[-2] in "aeiou" and verb[-3] not in "aeiou"  # noqa: PLR2004
    if doubled or verb in ("begin", "quit"):
        going = f"{verb}{verb[-1]}ing"
    elif verb.endswith("e") and not verb.endswith("ee"):
        going = f"{verb[:-1]}ing"
    else:
        going = f"{verb}ing"
    return [third, going]


VERBS = frozenset(_VERBS.split())
THIRD = {_forms(verb)[0]: verb for verb in VERBS} | {"has": "have", "does": "do"}
GOING = {_forms(verb)[1]: verb for verb in VERBS}
# "I am living" is "I live"; "I am having a child" is not "I have a child".
LASTING = frozenset("live work study learn use rent plan wear own teach share reside".split())
PARTICIPLES = {f"{verb}d" if verb.endswith("e") else f"{verb}ed": verb for verb in VERBS} | {
    "taught": "teach", "built": "build", "led": "lead", "run": "run", "kept": "keep", "paid": "pay", "driven": "drive",
    "written": "write", "sent": "send", "sold": "sell", "made": "make", "given": "give", "taken": "take",
}  # fmt: skip
