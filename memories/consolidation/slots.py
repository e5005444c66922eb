"""Slots: what a fact says, so that it is known which facts exclude each other and which hang on which.

Invariant: in doubt a fact has no slot; then it excludes nothing and hangs on nothing.
"""

# ruff: noqa: E501  # a pattern that is broken into pieces is harder to read than a long line

from __future__ import annotations

import re
from collections.abc import Mapping

from memories.consolidation.grammar.text import word_set
from memories.consolidation.grammar.vocabulary import PEOPLE
from memories.consolidation.grammar.words import content_words
from memoryhub.regexes import lazy_regex

HOME, ADDRESS, EMPLOYER, OCCUPATION = "home_city", "address", "employer", "occupation"

_SAME: Mapping[str, str] = {
    key: slot
    for slot, keys in {
        HOME: "home_city city current_city residence home_town location home place_of_residence lives_in",
        ADDRESS: "address home_address street street_address flat apartment",
        "neighbourhood": "neighbourhood neighborhood district area quarter borough",
        "postcode": "postcode zip_code postal_code zip",
        "landlord": "landlord landlady landlord_name landlady_name",
        "rent": "rent monthly_rent",
        "commute": "commute way_to_work",
        EMPLOYER: "employer company workplace works_at",
        OCCUPATION: "occupation job job_title profession role position",
        "boss": "boss manager line_manager supervisor boss_name manager_name",
        "office": "office desk desk_number office_address work_address",
        "work_email": "work_email work_phone work_phone_number",
        "neighbour": "neighbour neighbor next_door_neighbour",
        "local": "local_pub local_shop local_cafe bin_day parking_zone parking_permit",
        "salary": "salary wage pay",
        "team": "team department",
        "spouse": "spouse husband wife",
        "fiance": "fiance fiancee",
    }.items()
    for key in keys.split()
}

# Which slots become false with another: those of a home when it moves to another town or within it, those of a job.
DEPENDENTS: Mapping[str, frozenset[str]] = {
    HOME: word_set("address neighbourhood postcode landlord rent commute neighbour local"),
    ADDRESS: word_set("postcode landlord rent"),
    EMPLOYER: word_set("boss office work_email salary team"),
}
# Who is married is not engaged any more, nor anybody's girlfriend.
UNTIL_MARRIED = word_set("fiance girlfriend boyfriend")

_NAME = r"(?P<value>(?:(?:Mr|Mrs|Ms|Miss|Dr)\.?\s+)?[A-Z].*)"
_TEXTS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (slot, lazy_regex(pattern))
    for slot, pattern in (
        (ADDRESS, r"(?i:lives|living|resides|address is|rents an? [\w-]+) (?:(?i:in) an? [\w -]+ )?(?:(?i:on|at) |(?=\d))(?P<value>.+)"),
        (ADDRESS, r"(?i:home address|(?:postal )?address)(?: is|:) (?P<value>.+)"),
        (ADDRESS, r"(?i:rents (?:an?|the) [\w -]*?(?:flat|house|apartment|room|studio|cottage))\b(?P<value>.*)"),
        ("landlord", rf"(?i:rents from) {_NAME}"),
        ("neighbour", rf"(?i:(?:next-door )?neighbou?r(?: is called| is named|'s name is| is)) {_NAME}"),
        ("local", r"(?i:local [\w ]+ is|bin day is|parking (?:zone|permit) is) (?P<value>.+)"),
        ("office", r"(?i:has (?:an? |the )?(?:desk|office)|desk is|office is|office address is|badge number is)\b(?P<value>.*)"),
        ("work_email", r"(?i:work (?:email|phone)(?: address| number)? is) (?P<value>.+)"),
        ("salary", r"(?i:(?:salary|wage) is|earns) (?P<value>.+)"),
        ("team", r"(?i:team is|works (?:in|on) the [\w ]+ team)\b(?P<value>.*)"),
        ("boss", rf"(?i:reports to) {_NAME}"),
        ("neighbourhood", r"(?i:lives in the [\w -]+ (?:area|district|neighbou?rhood))\b(?P<value>.*)"),
        (HOME, r"(?i:(?:currently |now )?(?:lives|living|based|resides|residing|settled|is based|home is|home city is|moved)) (?i:in|to)? ?(?P<value>[A-Z].*|the Hague.*)"),
        (EMPLOYER, r"(?i:(?:currently |now )?(?:works|working|employed|is employed|has a job)) (?i:at|for|with) (?P<value>[A-Z].*|the .*)"),
        (EMPLOYER, r"(?i:employer is|workplace is) (?P<value>.+)"),
        (OCCUPATION, r"(?i:works|working|employed|is employed) as (?P<value>.+)"),
        (OCCUPATION, r"(?i:(?:job title|occupation|profession) is) (?P<value>.+)"),
        ("boss", rf"(?i:(?:line )?(?:boss|manager|supervisor)(?: (?:at|of) [\w ]+)?(?: is called| is named|'s name is| is)?:?) {_NAME}"),
        ("landlord", rf"(?i:(?:landlord|landlady)(?: is called| is named|'s name is| is)?:?) {_NAME}"),
        ("rent", r"(?i:pays .*\brent\b|rent is)(?P<value>.*)"),
        ("commute", r"(?i:commutes\b|commute (?:is|takes))(?P<value>.*)"),
        ("commute", r"(?i:cycles|bikes|walks|drives|commutes|runs|takes|catches|gets)\b.*(?i:\bto work\b)(?P<value>.*)"),
        ("fiance", rf"(?i:engaged to|fianc[eé]e?(?: is)?(?: called)?) {_NAME}"),
        ("partner", rf"(?i:partner(?: is called| is named|'s name is| is)) {_NAME}"),
        ("girlfriend", rf"(?i:girlfriend(?: is called| is named|'s name is| is)) {_NAME}"),
        ("boyfriend", rf"(?i:boyfriend(?: is called| is named|'s name is| is)) {_NAME}"),
        ("spouse", rf"(?i:married to|(?:husband|wife|spouse)(?: is| is called| is named|'s name is)?) {_NAME}"),
    )
)  # fmt: skip
_OTHERS = lazy_regex(
    rf"(?:(?:ex-?|step-?|former )?(?:{'|'.join(sorted(PEOPLE))}|parents?|kids?|children|grandparents?|family|team)s?\b"
    r"(?! (?:is|are)(?: called| named)? (?-i:[A-Z]))|[\w-]+'s\s)",
    re.IGNORECASE,
)
_SAID_OF_SLOTS = content_words(
    "lives living live based resides home city town moved works working work employed employer job occupation boss "
    "manager supervisor landlord landlady address rent flat house married wife husband spouse fiancé engaged title"
)


def slot_of(text: str, key: str) -> str:
    """The slot of a fact by its key, else by its wording; empty if it has none."""
    if key:
        return _SAME.get(key, key)
    return next((slot for slot, pattern in _TEXTS if pattern.match(text)), "")


def keys_of(slot: str) -> frozenset[str]:
    """The keys that name a slot."""
    return frozenset(key for key, named in _SAME.items() if named == slot) | {slot}


def of_others(text: str) -> bool:
    """Whether a fact is about somebody else: "Sister is allergic to nuts", "Tom's car is a Golf"."""
    return bool(_OTHERS.match(text))


def value_words(text: str) -> frozenset[str]:
    """The words of a fact's value, without those that name its slot."""
    return content_words(text) - _SAID_OF_SLOTS


def excludes(new: str, old: str) -> bool:
    """Whether two facts of one slot cannot both hold: neither says what the other says in more words."""
    one, other = value_words(new), value_words(old)
    return not one <= other and not other <= one


def names_value_of(text: str, fact: str) -> bool:
    """Whether `text` names what `fact` says: an address in Edinburgh is not over with a move to Edinburgh."""
    value = value_words(fact)
    return bool(value) and value <= content_words(text)
