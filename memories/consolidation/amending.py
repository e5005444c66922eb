"""A known fact in other words: "it's an Ultegra, not a 105", "climbing is on Thursdays now".

Invariant: only what the user corrected changes; every other word of the fact stays as it was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memories.consolidation.grammar.statement import Correction, Shift
from memories.consolidation.grammar.text import slug
from memories.consolidation.grammar.vocabulary import relation_key
from memories.consolidation.grammar.words import content_words
from memories.consolidation.slots import of_others, slot_of
from memories.consolidation.standing import Held

_DAY = re.compile(
    r"\b(?P<before>(?:every|each|on)\s+)?(?P<day>(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?)\b", re.IGNORECASE
)
_HOUR = re.compile(r"\b(?P<before>at\s+)?(?:\d{1,2}(?::\d\d)?\s*(?:am|pm)|half past \w+)\b", re.IGNORECASE)
_FORMER = re.compile(r"(?:former|previous|old|ex|late)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)


def corrected(correction: Correction, known: Sequence[Held]) -> tuple[Held, str] | None:
    """The fact that is meant and its text put right; None if none, or not clearly one, is meant."""
    wrong = re.compile(rf"(?P<article>\b(?:an?|the)\s+)?(?<!\w){re.escape(correction.wrong)}(?!\w)", re.IGNORECASE)
    candidates = [held for held in known if wrong.search(held.text) and _is_about(held, correction.about)]
    if len(candidates) > 1 and candidates[-1].learned_at == candidates[-2].learned_at:
        return None
    if not candidates:
        return None
    held = candidates[-1]
    text = wrong.sub(lambda match: _in_its_place(match["article"] or "", correction.right), held.text, count=1)
    return None if text == held.text else (held, text)


def same_mistake(held: Held, correction: Correction, known: Sequence[Held]) -> list[Held]:
    """`held` with the other facts of its slot that say the same wrong value."""
    wrong = re.compile(rf"(?<!\w){re.escape(correction.wrong)}(?!\w)", re.IGNORECASE)
    return [
        other
        for other in known
        if other is held or (held.slot and other.slot == held.slot and wrong.search(other.text))
    ]


def corrected_key(held: Held, correction: Correction) -> str:
    """The key of the corrected fact: the same, unless it names the value ("allergy_peanut")."""
    singular = slug(correction.wrong).removesuffix("s")
    if singular and held.key.endswith(f"_{singular}"):
        right = slug(_ARTICLE.sub("", correction.right)).removesuffix("s")
        return f"{held.key.removesuffix(singular)}{right}"
    return held.key


def shifted(shift: Shift, known: Sequence[Held]) -> tuple[Held, str] | None:
    """The one fact about it that names a day (or an hour), with the new one."""
    pattern = _DAY if _DAY.fullmatch(shift.to) else _HOUR
    words = content_words(shift.about)
    named = [held for held in known if words and words <= held.words and len(list(pattern.finditer(held.text))) == 1]
    if len(named) != 1:
        return None
    (held,) = named
    text = pattern.sub(lambda match: _then(match["before"] or "", shift.to), held.text)
    return None if text.casefold() == held.text.casefold() else (held, text)


def _is_about(held: Held, about: str) -> bool:
    if not about:
        return True
    key = relation_key(about)
    slots = {held.slot, held.key} - {""}
    if (of_others(held.text) or _FORMER.match(held.text)) and not held.text.casefold().startswith(about.casefold()):
        return False
    return bool(slots & {key, slug(about), slot_of("", key)}) or content_words(about) <= held.words


def _in_its_place(article: str, right: str) -> str:
    """The right value with an article, if the wrong one had one."""
    if not article or right[0].isupper():
        return f"{article}{right}" if not article else f"{_article(article, right)}{right}"
    bare = _ARTICLE.sub("", right)
    own = right[: len(right) - len(bare)]
    return f"{own or _article(article, bare)}{bare}"


def _article(article: str, word: str) -> str:
    if article.strip().casefold() == "the":
        return article
    return "an " if word[0].casefold() in "aeiou" else "a "


def _then(before: str, when: str) -> str:
    """The new day or hour in the user's own form: "every Tuesday" becomes "on Thursdays"."""
    if not before:
        return when
    return f"at {when}" if before.casefold().startswith("at") else f"on {when}"
