"""Findings: positions of sensitive values, their handling, the masked text, and sentences about them. Pure.

A finding never contains the value. Masking a masked text again changes nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memories.errors import Blocked, Spot
from memories.types import HIGH_SEVERITY, Handling, SensitiveKind
from memoryhub.languages import number

# The handling in a tenant without a policy: values of low severity are only flagged.
USUAL_HANDLING: Mapping[SensitiveKind, Handling] = {
    kind: Handling.BLOCK if kind in HIGH_SEVERITY else Handling.ALLOW for kind in SensitiveKind
}
# A shorter value may be a word of the sentence, or part of one.
LEAST_REPEATED = 6
# Shorter values with a digit or sign are not words; they count if separate from other text.
LEAST_ALONE = 4
_JOINS = frozenset(".,:/-")
# The kinds that a tenant's policy decides on.
DECIDABLE = tuple(kind for kind in SensitiveKind if kind not in HIGH_SEVERITY)


@dataclass(frozen=True, slots=True)
class Finding:
    """Characters `start` to `end` of a text are of `kind`; `rule` names the rule, such as "AWS Client ID"."""

    kind: SensitiveKind
    start: int
    end: int
    rule: str = ""

    def moved(self, start: int, end: int) -> Finding:
        """The finding at another place; ten times as fast as `dataclasses.replace`."""
        return self if (start, end) == (self.start, self.end) else Finding(self.kind, start, end, self.rule)


@dataclass(frozen=True, slots=True)
class Judged:
    """A text after its findings were handled.

    `marks` maps each kind found to its handling, as stored in `sensitivity`. A memory with `blocked` findings is
    refused; in `text` they are masked like the others.
    """

    text: str
    marks: Mapping[str, str]
    blocked: tuple[Finding, ...]
    masked: bool


def label(kind: SensitiveKind) -> str:
    """Return the text that replaces a masked value."""
    return f"[{kind.value.replace('_', ' ')} removed]"


def apart(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort the findings and merge overlapping ones: the more severe kind covers the whole range."""
    merged: list[Finding] = []
    for finding in sorted(findings, key=lambda each: (each.start, -each.end)):
        last = merged[-1] if merged else None
        if last is None or finding.start >= last.end:
            merged.append(finding)
            continue
        graver = min((last, finding), key=lambda each: (each.kind not in HIGH_SEVERITY, each.start - each.end))
        merged[-1] = graver.moved(last.start, max(last.end, finding.end))
    return tuple(merged)


def repeated(text: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield further occurrences of the found values, including those split by a line break.

    Each distinct value is searched once, because a pasted log may contain one a thousand times.
    """
    first: dict[str, Finding] = {}
    for finding in sorted(findings, key=lambda each: each.kind not in HIGH_SEVERITY):
        if finding.end - finding.start >= LEAST_ALONE:
            first.setdefault(text[finding.start : finding.end], finding)
    for value, finding in first.items():
        for start, end in _places(text, value):
            if start != finding.start:
                yield finding.moved(start, end)
    if first and "\n" in text:
        yield from _wrapped(text, first)


def _wrapped(text: str, values: Mapping[str, Finding]) -> Iterator[Finding]:
    """Yield the occurrences of the values that contain a line break."""
    kept = [place for place, character in enumerate(text) if character != "\n"]
    joined, spaced = text.replace("\n", ""), text.replace("\n", " ")
    for value, finding in values.items():
        if len(value) < LEAST_REPEATED:
            continue
        found = [(kept[start], kept[end - 1] + 1) for start, end in _places(joined, value.replace("\n", ""))]
        if " " in value or "\n" in value:
            found += _places(spaced, value.replace("\n", " "))
        for start, end in found:
            if start != finding.start and "\n" in text[start:end]:
                yield finding.moved(start, end)


def _places(text: str, value: str) -> Iterator[tuple[int, int]]:
    """Yield the occurrences of `value`; a short value must be separate from other text and not a word."""
    if len(value) < LEAST_REPEATED and (len(value) < LEAST_ALONE or value.isalpha()):
        return
    at = text.find(value)
    while at >= 0:
        end = at + len(value)
        if len(value) >= LEAST_REPEATED or _stands_alone(text, at, end):
            yield at, end
        at = text.find(value, end)


def _stands_alone(text: str, start: int, end: int) -> bool:
    """True if the match is not embedded in a longer word or number (4821.50) and not repeated next to itself."""
    value = text[start:end]
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if _is_word(before[-1:]) or _is_word(after[:1]):
        return False
    longer_before = len(before) == 2 and before[0].isdigit() and before[1] in _JOINS
    longer_after = len(after) == 2 and after[0] in _JOINS and after[1].isdigit()
    return (not longer_before or text.endswith(value, 0, start - 1)) and (
        not longer_after or text.startswith(value, end + 1)
    )


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def judged(text: str, findings: Iterable[Finding], handling: Mapping[SensitiveKind, Handling]) -> Judged:
    """Apply `handling` to `text`: every occurrence of a masked or blocked value is replaced by its label.

    An occurrence that shares characters with another such value is none once that is replaced; taken out with it, it
    would bare what is glued to its end, which no scan has seen.
    """
    found = tuple(findings)
    marks: dict[str, str] = {}
    blocked: list[Finding] = []
    parts: list[str] = []
    done = 0
    leaving = apart(finding for finding in found if _wanted(finding.kind, handling) is not Handling.ALLOW)
    for finding in apart([*found, *_beside(leaving, repeated(text, leaving))]):
        wanted = _wanted(finding.kind, handling)
        if wanted is Handling.BLOCK:
            blocked.append(finding)
        if wanted is not Handling.ALLOW:
            parts += [text[done : finding.start], label(finding.kind)]
            done = finding.end
        becomes = Handling.ALLOW if wanted is Handling.ALLOW else Handling.MASK
        if marks.get(finding.kind) != Handling.MASK:
            marks[finding.kind.value] = becomes.value
    return Judged("".join([*parts, text[done:]]), marks, tuple(blocked), masked=done > 0)


def _beside(taken: Sequence[Finding], findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings that share no character with those of `taken`, which are `apart`."""
    starts = [each.start for each in taken]
    for finding in findings:
        before = bisect_left(starts, finding.end) - 1
        if before < 0 or taken[before].end <= finding.start:
            yield finding


def _wanted(kind: SensitiveKind, handling: Mapping[SensitiveKind, Handling]) -> Handling:
    return Handling.BLOCK if kind in HIGH_SEVERITY else handling[kind]


_LABEL = re.compile("|".join(re.escape(label(kind)) for kind in SensitiveKind))


def has_label(text: str) -> bool:
    """True if a value was masked in `text`."""
    return _LABEL.search(text) is not None


def could_have_been(masked: str, words: str) -> bool:
    """True if `masked` is `words` with each label in place of at least one character. Both must be `normalised`."""
    first, *rest = _LABEL.split(masked)
    if not rest:
        return masked == words
    if not words.startswith(first):
        return False
    at = len(first)
    for part in rest[:-1]:
        # A label replaces at least one character.
        at = words.find(part, at + 1)
        if at < 0:
            return False
        at += len(part)
    return words.endswith(rest[-1]) and at + 1 + len(rest[-1]) <= len(words)


_NOUNS = {
    SensitiveKind.SECRET: (gettext_lazy("password, key or token"), gettext_lazy("a password, key or token")),
    SensitiveKind.PRIVATE_KEY: (gettext_lazy("private key"), gettext_lazy("a private key")),
    SensitiveKind.PAYMENT_CARD: (gettext_lazy("payment card number"), gettext_lazy("a payment card number")),
    SensitiveKind.NATIONAL_ID: (gettext_lazy("national id number"), gettext_lazy("a national id number")),
    SensitiveKind.BANK_ACCOUNT: (gettext_lazy("bank account number"), gettext_lazy("a bank account number")),
    SensitiveKind.PHONE: (gettext_lazy("phone number"), gettext_lazy("a phone number")),
    SensitiveKind.EMAIL: (gettext_lazy("e-mail address"), gettext_lazy("an e-mail address")),
    SensitiveKind.ADDRESS: (gettext_lazy("street address"), gettext_lazy("a street address")),
    SensitiveKind.SUSPICIOUS: (
        gettext_lazy("value that looks like a secret"),
        gettext_lazy("a value that looks like a secret"),
    ),
}
# Short forms for badges.
_SHORT = {
    SensitiveKind.SECRET: gettext_lazy("secret"),
    SensitiveKind.PRIVATE_KEY: gettext_lazy("private key"),
    SensitiveKind.PAYMENT_CARD: gettext_lazy("payment card"),
    SensitiveKind.NATIONAL_ID: gettext_lazy("national id"),
    SensitiveKind.BANK_ACCOUNT: gettext_lazy("bank account"),
    SensitiveKind.PHONE: gettext_lazy("phone"),
    SensitiveKind.EMAIL: gettext_lazy("e-mail"),
    SensitiveKind.ADDRESS: gettext_lazy("address"),
    SensitiveKind.SUSPICIOUS: gettext_lazy("maybe a secret"),
}


def noun(kind: SensitiveKind) -> str:
    """Return the noun for a kind, such as "payment card number"."""
    return str(_NOUNS[kind][0])


def with_article(kind: SensitiveKind) -> str:
    """Return the noun with its article, such as "a payment card number"."""
    return str(_NOUNS[kind][1])


def short(kind: SensitiveKind) -> str:
    """Return the kind in one to three words."""
    return str(_SHORT[kind])


def at(spot: Spot) -> str:
    """Describe a position, such as "holds a payment card number at characters 12 to 30", counted from 1."""
    place = {"what": with_article(spot.kind), "first": number(spot.start + 1), "last": number(spot.end)}
    return _("holds %(what)s at characters %(first)s to %(last)s") % place


def refusal(blocked: Blocked, *, to_people: bool = False) -> str:
    """Explain what to take out and where. `to_people` uses the fields' display names."""
    places = whereabouts(blocked) if to_people else "; ".join(f"{spot.field} {at(spot)}" for spot in blocked.spots)
    return _("%(places)s. This is not stored: take it out, or say it without the value.") % {"places": places}


def whereabouts(blocked: Blocked) -> str:
    """List values and positions for people: "The text holds a phone number at characters 3 to 9"."""
    return "; ".join(f"{_called(spot.field)} {at(spot)}" for spot in blocked.spots)


# Those that people fill in on pages.
_FIELDS = {
    "text": gettext_lazy("The text"),
    "title": gettext_lazy("The title"),
    "reason": gettext_lazy("The reason"),
    "note": gettext_lazy("The note"),
    "steps": gettext_lazy("The steps"),
    "message": gettext_lazy("The message"),
    "category": gettext_lazy("The category"),
    "key": gettext_lazy("The key"),
}


def _called(field: str) -> str:
    """Return the display name of a field, such as "Step 2" for steps.1."""
    name, __, place = field.partition(".")
    if place.isdecimal():
        return _("Step %(number)d") % {"number": int(place) + 1}
    return str(_FIELDS.get(name) or f"The {name.replace('_', ' ')}")


def taken_out(kinds: Iterable[str]) -> str:
    """Return a sentence on the masked kinds for the author of a text; empty if there are none."""
    *others, last = [with_article(SensitiveKind(kind)) for kind in dict.fromkeys(kinds)] or [""]
    if not last:
        return ""
    if not others:
        return capfirst(_("%(value)s was taken out before this was stored.") % {"value": last})
    listed = {"values": ", ".join(others), "last": last}
    return capfirst(_("%(values)s and %(last)s were taken out before this was stored.") % listed)
