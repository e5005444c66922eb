"""Sentences of the responder: facts in the second person, days in words, small talk, and what it says of itself."""

# ruff: noqa: E501  # a pattern that is broken into pieces is harder to read than a long line

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from memories.english.people import SOMEBODY, TABLES, pattern
from memories.english.text import phrases, word_set

UNKNOWN = "I don't know that yet."
ANSWERS: dict[str, str] = TABLES["answers"]

_YOURS = re.compile(
    rf"(?:(?:favou?rite|home|work|email|e-mail|phone|mobile|postal|street|shoe|blood|star|native|first|last|middle|maiden"
    rf"|full|step|half|best|former|new|old|local|next-door|younger|older|elder|twin)\b.*?|{SOMEBODY}|[\w-]+ (?:number|name|address|size|type|code)"
    r"|name|age|birthday|car|bike|job|boss|employer|rent|address|postcode|commute|kids?|child(?:ren)?|parents?|family|team|diet|hobby"
    r"|email|phone|salary|desk|office|house|flat|doctor|gp|school|hometown|nickname|pronouns|height|weight|anniversary)"
    r"(?:'s\b.*?|\b)\s*(?:is|are|was|were|has|have|lives?|works?|drives?|plays?|loves?|likes?|hates?|studies|speaks|supports|moved)?\b",
    re.IGNORECASE,
)
_BE = re.compile(
    r"(?:allergic|married|engaged|born|based|vegan|vegetarian|pescatarian|diabetic|retired|divorced|single|from|originally)\b",
    re.IGNORECASE,
)
# "Ines lives in Faro" is about Ines.
_THEIRS = re.compile(
    r"(?!(?:Also|Now|Currently|Always|Usually|Often|Still)\b)[A-Z][\w'-]*(?: [A-Z][\w'-]*)* (?:is|are|was|were|has|lives|works|plays|loves|likes|hates|studies|speaks|drives|supports|moved|turned)\b"
)
_AUXILIARY = {
    "is": "are",
    "has": "have",
    "does": "do",
    "was": "were",
    "isn't": "aren't",
    "doesn't": "don't",
    "hasn't": "haven't",
}
_MODAL = word_set("can cannot can't could must mustn't should will won't would had did never")
_SAME_FORM = word_set(
    "lived worked moved used drove had got bought started joined left studied grew came met owned played went did"
)
_ADVERB = word_set("currently now also really no usually always often still sometimes never only")
_NO_VERB = word_set(
    "news this his its address business always boss class bus glass less yes thus status focus series gas"
)
_IRREGULAR = {
    "goes": "go",
    "has": "have",
    "is": "are",
    "does": "do",
    "tries": "try",
    "studies": "study",
    "carries": "carry",
    "flies": "fly",
    "watches": "watch",
    "teaches": "teach",
}


def second_person(text: str) -> str:
    """A fact, which is stored without a subject, as said to its owner: "Lives in Leeds" becomes "you live in Leeds".

    A fact about somebody who goes by a name stays as it is; one in another form is quoted.
    """
    text = text.strip().rstrip(".")
    first, _, rest = text.partition(" ")
    word = first.casefold()
    if word == "no" and rest.casefold().startswith("longer "):
        return f"you {'are ' if _BE.match(rest[7:]) else ''}no longer {_base(rest[7:])}"
    if word == "to" and rest.startswith("do: "):
        return f"you wanted to {rest[4:]}"
    if first.endswith(("'s", "s'")) or _YOURS.match(text):
        named = (
            first[:1].isupper() and first.endswith("'s") and not re.fullmatch(rf"{SOMEBODY}'s", first, re.IGNORECASE)
        )
        return text if named else f"your {_lowered(_own(text))}"
    if _THEIRS.match(text):
        return text
    if _BE.match(text):
        return f"you {'were' if word == 'born' else 'are'} {_lowered(text)}"
    if word in _AUXILIARY or word in _MODAL or word in _SAME_FORM or word in _ADVERB:
        return f"you {_base(text)}"
    if word.endswith("s") and word not in _NO_VERB and rest and not rest.startswith(("is ", "are ", "has ", "was ")):
        return f"you {_base(text)}"
    return f"you told me “{text}”"


def _base(words: str) -> str:
    """A verb phrase of the third person as said to "you", behind its adverbs; both halves of "works and lives"."""
    first, _, rest = words.partition(" ")
    word = first.casefold()
    if word in _ADVERB and rest:
        return f"{word} {_base(rest)}"
    return f"{_plain(word)} {_own(rest)}".strip()


def _plain(verb: str) -> str:
    if verb in _AUXILIARY:
        return _AUXILIARY[verb]
    if verb in _MODAL or verb in _SAME_FORM or not verb.endswith("s"):
        return verb
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("ies") and len(verb) > len("ties"):
        return f"{verb[:-3]}y"
    return verb[:-2] if verb.endswith(("sses", "shes", "ches", "xes", "zes")) else verb[:-1]


def _own(text: str) -> str:
    for mine, yours in (("myself", "yourself"), ("my|our", "your"), ("with us", "with you"), ("me", "you")):
        text = re.sub(rf"\b(?:{mine})\b", yours, text)
    return text


def past(told: str) -> str:
    """What was so: "you live in Leeds" as "you lived in Leeds"."""
    forms = {
        "live": "lived",
        "work": "worked",
        "are": "were",
        "have": "had",
        "drive": "drove",
        "ride": "rode",
        "start": "were to start",
        "do": "did",
        "love": "loved",
        "like": "liked",
    }
    told = re.sub(r"^you (\w+)\b", lambda match: f"you {forms.get(match[1], match[1])}", told)
    return re.sub(r"^(your [\w' -]+?) is\b", r"\1 was", told)


def _lowered(text: str) -> str:
    """Without the capital of a sentence, unless the word is an abbreviation."""
    return text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?', ':', '”')) else '.'}"


def listed(words: Sequence[str]) -> str:
    """One, two and three as a sentence has them: "A", "A and B", "A, B and C"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def joined(facts: Iterable[str]) -> str:
    """Several facts of the owner as one sentence: "you live in Leeds; your wife is Ana"."""
    return "; ".join(dict.fromkeys(facts))


def day(moment: datetime, now: datetime) -> str:
    """The day in words: "today", "yesterday", "on 5 June 2025"."""
    days = (now.date() - moment.date()).days
    return {0: "today", 1: "yesterday"}.get(days, f"on {date(moment)}")


def date(moment: datetime) -> str:
    """A date in words."""
    return f"{moment.day} {moment:%B %Y}"


_ITSELF = tuple((pattern(row["asks"]), str(row["answer"])) for row in TABLES["itself"])
REMIND = pattern(r"\b(?:remind me|set a reminder|set an alarm|wake me up|notify me|send me a reminder)\b")
_FILLER = r"(?:[\s,.!:;)(👍🙂😊❤️-]|\b(?:there|everyone|again|you|so much|a lot|very much|memoryhub|mate|for (?:that|your help|the help|now|everything)|then|all|today|all good|really|that's|was|it|is|this|that|helpful|great|perfect|good|nice|cool|super|appreciated?|very)\b)*"
# The whole message has to be one of these.
_SMALL_TALK = tuple(
    (
        re.compile(
            rf"\s*(?:(?:oh|ok|okay|well|ah|great|cool|perfect|and|hi|hey|hello)\s+)?(?:{phrases(row['said'])}){_FILLER}[.!?]*\s*$",
            re.IGNORECASE,
        ),
        str(row["answer"]),
    )
    for row in TABLES["small_talk"]
)

_LANGUAGES = tuple((str(row["answer"]), word_set(row["words"])) for row in TABLES["languages"])
_ENGLISH = word_set(
    "the i my is are am was do does did what where who when why how you your to and of a in it that this have has for not no "
    "me we our i'm can live work like love with on at an or but so there be will please remember forget tell name as"
)
_WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_CERTAIN = re.compile(
    r"[¿¡ßãõ]|\b(?:hola|bonjour|ciao|buongiorno|obrigad[oa]|gracias|merci|danke|hallo|grazie|guten|bonsoir|olá|goedemorgen|bedankt)\b",
    re.IGNORECASE,
)


def foreign(message: str) -> str:
    """A sentence in the language of `message` that says that it cannot be read; empty if it is English."""
    letters = [each for each in message if each.isalpha()]
    if letters and sum(each > "\u024f" for each in letters) * 2 > len(letters):
        return ANSWERS["other_script"]
    words = [word.casefold().replace("’", "'") for word in _WORDS.findall(message)]
    english = sum(word in _ENGLISH for word in words)
    others = [word for word in words if word not in _ENGLISH]
    hits, answer = max(
        ((sum(word in known for word in others), answer) for answer, known in _LANGUAGES), key=lambda each: each[0]
    )
    certain = bool(_CERTAIN.search(message))
    share = 1 / 4 if certain else 1 / 3
    return answer if hits > english and (hits > 1 or certain) and hits >= share * len(words) else ""


def small_talk(message: str) -> str:
    """The answer to a greeting, thanks and the like; empty if the message says more."""
    parts = [part for part in re.split(r"[.,!?;]+|\s-\s", " ".join(message.replace("’", "'").split())) if part.strip()]
    meant = [next((place for place, (said, _) in enumerate(_SMALL_TALK) if said.match(part)), None) for part in parts]
    known = [place for place in meant if place is not None]
    return _SMALL_TALK[min(known)][1] if known and len(known) == len(parts) else ""


def of_itself(question: str, now: datetime) -> str:
    """The answer to a question about the assistant, or to what it cannot do without a model; empty for another one."""
    text = question.strip().rstrip("?.! ")
    named = next((answer for asks, answer in _ITSELF if asks.fullmatch(text)), "")
    return ANSWERS[named].format(today=f"{now:%A}, {date(now)}") if named else ""
