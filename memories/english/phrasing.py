"""Wording of the responder: facts in the second person, dates in words, small talk, and answers about itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.utils.translation import gettext as _

from memories.english.grammar import base_form
from memories.english.slots import SOMEBODY, TABLES, P, pattern
from memories.english.text import compiled, phrases, word_set

UNKNOWN = "I don't know that yet."
_ANSWERS: dict[str, str] = TABLES["answers"]
_LABEL = re.compile(r"<([^<>]+)>")
_SAME_FORM, _ADVERBS, _ACTS, _ENGLISH = (
    word_set(TABLES["words"][name]) for name in ("same_form", "adverbs", "acts", "english")
)
# With these a fact about its owner begins; any other word is more often a noun, as in "Punctures come from glass".
_VERBS = _ACTS | _SAME_FORM | {"is", "was"}
_NEGATED = {"doesn't": "don't", "isn't": "aren't", "hasn't": "haven't"}
_PAST = {"live": "lived", "work": "worked", "are": "were", "have": "had", "drive": "drove", "ride": "rode", "do": "did"}
_ITSELF = tuple((pattern(row["asks"]), str(row["answer"])) for row in TABLES["itself"])
# Patterns that must match the whole message.
_SMALL_TALK = tuple(
    (pattern(TABLES["words"]["talk"].format(said=phrases(row["said"]))), str(row["answer"]))
    for row in TABLES["small_talk"]
)
_LANGUAGES = tuple((str(row["answer"]), word_set(row["words"])) for row in TABLES["languages"])
# Characters; a longer message is no small talk, and its beginning is in the language of the rest.
_LONGEST = 600
_WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
# Pronouns that may mean the owner or somebody else.
_OTHERS = compiled(r"\b(?:he|she|him|her|hers|his|herself|himself)\b")
# A fact that names its owner so, and a pronoun that may mean them.
_USER = compiled(rf"(?:the )?user (?=(?:{'|'.join(sorted(_VERBS | _ADVERBS))})\b)")
_THEY = compiled(r"\b(?:they|them|their|theirs|themselves)\b")
_SOMEBODYS = compiled(rf"{SOMEBODY}'s")


def reply(name: str) -> str:
    """Return a fixed answer, with its <labels> as the reader's page shows them."""
    return _LABEL.sub(lambda match: label(match[1]), _ANSWERS[name])


def label(text: str) -> str:
    """Name a button or a page as it is shown in the language of the page, in that language's quotation marks."""
    return _("“%(text)s”") % {"text": _(text)}


def second_person(text: str) -> str:
    """A fact inside a sentence to its owner: "you live in Leeds"; in quotation marks if `to_owner` is not certain."""
    told = to_owner(text) or f"“{text.strip().rstrip('.')}”"
    return _lowered(told) if told.startswith(("You ", "Your ")) else told


def to_owner(text: str) -> str:
    """A fact as a sentence for its owner: "Lives in Leeds" becomes "You live in Leeds".

    "" if it is not certain that the owner is the subject. A fact about a named person stays as it is.
    """
    text = re.sub(r"^(?:Her|His|Their|The user's|User's) (?=[a-z])", "Your ", text.strip().rstrip("."))
    user = _USER.match(text)
    if _OTHERS.search(text) or (user and _THEY.search(text)):
        return ""
    text = text[user.end() :] if user else text
    first, _, rest = text.partition(" ")
    word = first.casefold()
    if word == "your":
        return text
    if word == "no" and rest.casefold().startswith("longer "):
        return f"You {'are ' if P['being'].match(rest[7:]) else ''}no longer {_base(rest[7:])}"
    if word == "to" and rest.startswith("do: "):
        return f"You wanted to {rest[4:]}"
    if first.endswith("'s") or P["yours"].match(text):
        named = first[:1].isupper() and first.endswith("'s") and not _SOMEBODYS.fullmatch(first)
        return text if named else f"Your {_lowered(_own(text))}"
    if P["theirs"].match(text):
        return text
    if P["being"].match(text):
        return f"You {'were' if word == 'born' else 'are'} {_lowered(text)}"
    verb = next((each for each in text.casefold().split() if each not in _ADVERBS), "")
    # A noun may look like a verb: "Drinks are in the fridge".
    sure = verb in _VERBS and not P["noun_first"].match(text)
    return f"You {_base(text)}" if sure else ""


def _joined_verb(match: re.Match[str]) -> str:
    """Change a verb after "and" to "you", unless it may be that of a clause about something else."""
    if P["of_another"].search(match.string[: match.start()]):
        return match[0]
    return f"{match['and']} {_of_you(match['verb'].casefold())}"


def _of_you(verb: str) -> str:
    return _NEGATED.get(verb) or base_form(verb)


def _base(words: str) -> str:
    """Change the verb of a phrase from the third person to "you", skipping leading adverbs."""
    adverbs: list[str] = []
    first, _, rest = words.partition(" ")
    while first.casefold() in _ADVERBS and rest:
        adverbs.append(first.casefold())
        first, _, rest = rest.partition(" ")
    rest = P["joined_verb"].sub(_joined_verb, rest)
    return " ".join((*adverbs, f"{_of_you(first.casefold())} {_own(rest)}".strip()))


def _own(text: str) -> str:
    for mine, yours in (("myself", "yourself"), ("my|our", "your"), ("with us", "with you"), ("me", "you")):
        text = re.sub(rf"\b(?:{mine})\b", yours, text)
    return text


def past(told: str) -> str:
    """Put a rephrased fact in the past tense: "you live in Leeds" becomes "you lived in Leeds"."""
    told = re.sub(r"^you (\w+)\b", lambda match: f"you {_PAST.get(match[1], match[1])}", told)
    return re.sub(r"^(your [\w' -]+?) is\b", r"\1 was", told)


def _lowered(text: str) -> str:
    """Lower the first letter, unless the word is an abbreviation."""
    return text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"


def sentence(text: str) -> str:
    """Add a capital letter and a full stop."""
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?', ':', '”')) else '.'}"


def listed(words: Sequence[str]) -> str:
    """Join words as in a sentence: "A", "A and B", "A, B and C"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def joined(facts: Iterable[str]) -> str:
    """Join facts to one sentence: "you live in Leeds; your wife is Ana"."""
    return "; ".join(dict.fromkeys(facts))


def day(moment: datetime, now: datetime) -> str:
    """Return a day in words: "today", "yesterday", "on 5 June 2025"."""
    days = (now.date() - moment.date()).days
    return {0: "today", 1: "yesterday"}.get(days, f"on {date(moment)}")


def date(moment: datetime) -> str:
    """Return a date in words: "5 June 2025"."""
    return f"{moment.day} {moment:%B %Y}"


def short_answer(text: str, question: str, now: datetime) -> str:
    """Answer small talk, other languages, questions about the responder, and unsupported requests; else return ""."""
    if len(text) > _LONGEST:
        return _foreign(text[:_LONGEST])
    if talk := _foreign(text) or small_talk(text):
        return talk
    named = next((answer for asks, answer in _ITSELF if asks.fullmatch(question)), "")
    return reply(named).format(today=f"{now:%A}, {date(now)}") if named else ""


def _foreign(message: str) -> str:
    """Return a sentence in the language of `message` saying that it cannot be understood; "" if it is English."""
    letters = [each for each in message if each.isalpha()]
    if letters and sum(each > "\u024f" for each in letters) * 2 > len(letters):
        return reply("other_script")
    words = [word.casefold().replace("’", "'") for word in _WORDS.findall(message)]
    others = [word for word in words if word not in _ENGLISH]
    hits, answer = max((sum(word in known for word in others), answer) for answer, known in _LANGUAGES)
    certain = bool(P["foreign"].search(message))
    enough = hits >= (1 / 4 if certain else 1 / 3) * len(words) and (hits > 1 or certain)
    return answer if enough and hits > len(words) - len(others) else ""


def small_talk(message: str) -> str:
    """Return the answer to a greeting, thanks and the like; "" if the message says more."""
    parts = [part for part in re.split(r"[.,!?;]+|\s-\s", " ".join(message.replace("’", "'").split())) if part.strip()]
    meant = [next((place for place, (said, _) in enumerate(_SMALL_TALK) if said.match(part)), None) for part in parts]
    known = [place for place in meant if place is not None]
    return _SMALL_TALK[min(known)][1] if known and len(known) == len(parts) else ""
