"""Detects all sensitive values in a text, by kind. Pure; libraries are loaded with the first text, or by `load`.

A second scan of a text masked by `judged` finds nothing. Each value found becomes one BLANK, the rest is scanned again
until nothing is found, and labels in a text are read as BLANK.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from memories.errors import MemoriesError
from memories.hygiene.sensitivity import contacts, numbers
from memories.hygiene.sensitivity.contacts import street_addresses
from memories.hygiene.sensitivity.context import BLANK, Folded, fold
from memories.hygiene.sensitivity.credentials import (
    encoded_tokens,
    named_tokens,
    private_keys,
    sent_passwords,
    suspicious,
    vendor_tokens,
)
from memories.hygiene.sensitivity.findings import USUAL_HANDLING, Finding, apart, judged, repeated
from memories.hygiene.sensitivity.numbers import payment_cards
from memories.hygiene.sensitivity.passwords import passwords
from memories.types import HIGH_SEVERITY

Detector = Callable[[str], Iterator[Finding]]

_FORMS: tuple[Detector, ...] = (
    private_keys,
    encoded_tokens,
    vendor_tokens,
    sent_passwords,
    numbers.bank_accounts,
    payment_cards,
    numbers.encoded_numbers,
    numbers.national_ids,
)
_NAMED_VALUES: tuple[Detector, ...] = (passwords, named_tokens)
_LOW: tuple[Detector, ...] = (contacts.emails, contacts.phones, street_addresses, suspicious)
DETECTORS = (*_FORMS, *_NAMED_VALUES, *_LOW)
# Characters; the name of a field only describes the beginning of its text.
_NAMED = 256
# Characters; a longer word is cut.
_LONGEST_WORD = 512
_SPACE = re.compile(r"\s")
# "door_code" is read as the code of a door, but "password_hint" as one name.
_CODE_OF = re.compile(r"_(?=(?:code|combo|combination)s?$)")
# Texts written by people need two or three scans. A text that reveals one more value in every scan was crafted to take
# minutes.
_READINGS = 8
# A line break inside a value, between two of its characters.
_WRAP = re.compile(r"(?<=[A-Za-z0-9+/=_.-])\n(?=[A-Za-z0-9+/=_-])")


class DetectorFailed(MemoriesError):
    """A detector failed on a text, so the text must not be stored. The message quotes nothing of it."""


def scan(text: str) -> tuple[Finding, ...]:
    """Return the sensitive values in `text`, from left to right, without overlaps. Raises DetectorFailed."""
    folded = fold(text)
    plain = Folded(folded.text, range(len(folded.text)), range(1, len(folded.text) + 1))
    found: list[Finding] = []
    readings = 0
    while new := _next(plain, found):
        readings += 1
        found += new if readings < _READINGS else _all_of(plain.text, new)
    return apart(folded.original(each) for each in found)


def scan_named(text: str, names: Iterable[str]) -> tuple[Finding, ...]:
    """Return the sensitive values in `text`, including those identified only by `names`. Raises DetectorFailed."""
    return apart([*scan(text), *(each for name in names for each in named(name, text))]) if text else ()


def named(name: str, text: str) -> tuple[Finding, ...]:
    """Return secrets at the beginning of `text` identified only by the name of its field or title (`name`).

    The name "login" is ignored, because it denotes a user name as often as a password.
    """
    if not name or not text or name.lower().endswith("login"):
        return ()
    told = f"{_CODE_OF.sub(' ', name)}: "
    cut = _SPACE.search(text, _NAMED, _NAMED + _LONGEST_WORD)
    begins = text[: cut.start() if cut else _NAMED + _LONGEST_WORD]
    return tuple(
        each.moved(each.start - len(told), each.end - len(told))
        for each in scan(told + begins)
        if each.kind in HIGH_SEVERITY and 0 <= each.start - len(told) <= 1
    )


def holds_secrets(words: str) -> bool:
    """True if an optional text, such as a request id, contains a blocked value, or if the scan fails."""
    try:
        return any(each.kind in HIGH_SEVERITY for each in scan(words))
    except DetectorFailed:
        return True


def without_secrets(words: str) -> str:
    """Replace blocked values with labels, in text echoed to its sender. Raises DetectorFailed."""
    return judged(words, scan(words), USUAL_HANDLING).text


def load() -> None:
    """Load the libraries and compile the patterns now, so that the first text does not have to wait 0.2 s."""
    for part in (numbers, contacts):
        part.load()
    scan("Ready? The id number, account and phone 1234567 are patterns to compile.")


def _next(plain: Folded, found: Sequence[Finding]) -> list[Finding]:
    """Return what shows once the values found are taken out: the blocked values, else those of the tenant's policy.

    A blocked value may show only where the others are kept, because a word that names it comes nearer.
    """
    rest = _without(plain, found)
    new = [rest.original(each) for each in _high(rest.text)]
    if not new and found and found[-1].kind in HIGH_SEVERITY:
        high = [each for each in found if each.kind in HIGH_SEVERITY]
        if len(high) < len(found):
            kept = _without(plain, high)
            new = [kept.original(each) for each in _high(kept.text)]
    return new or [rest.original(each) for each in _low(rest.text)]


def _without(folded: Folded, found: Iterable[Finding]) -> Folded:
    return folded.without((each.start, each.end) for each in apart(found))


def _all_of(text: str, new: Iterable[Finding]) -> tuple[Finding, ...]:
    """Turn the whole text into one finding of the most severe kind, so that no further scan is needed."""
    gravest = min(new, key=lambda each: each.kind not in HIGH_SEVERITY)
    return (replace(gravest, start=0, end=len(text), rule=f"{gravest.rule}, without end"),)


def _high(text: str) -> tuple[Finding, ...]:
    """Return the blocked values; values broken across lines are searched only when no other is left."""
    found = _read(text, (*_FORMS, *_NAMED_VALUES)) or _wrapped(text)
    return apart((*found, *repeated(text, found))) if found else ()


def _low(text: str) -> tuple[Finding, ...]:
    """Return the values subject to the tenant's policy, with repetitions, extended to whole words."""
    found = apart(_whole(text, each) for each in _read(text, _LOW))
    return apart((*found, *repeated(text, found))) if found else ()


def _whole(text: str, finding: Finding) -> Finding:
    start, end = finding.start, finding.end
    while start > 0 and text[start].isalnum() and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    return finding.moved(start, end)


def _read(text: str, detectors: Iterable[Detector]) -> tuple[Finding, ...]:
    found: list[Finding] = []
    for detector in detectors:
        try:
            found += detector(text)
        except Exception as error:  # noqa: BLE001 - a library's exception may quote the text
            raise DetectorFailed(f"{detector.__name__} failed with {type(error).__name__}") from None
    return apart(each for each in found if BLANK not in text[each.start : each.end])


def _wrapped(text: str) -> tuple[Finding, ...]:
    """Return the values that appear once line breaks inside them are removed."""
    wraps = [found.start() for found in _WRAP.finditer(text)]
    if not wraps:
        return ()
    out = set(wraps)
    places = [place for place in range(len(text)) if place not in out]
    found = _read("".join(text[place] for place in places), _FORMS)
    whole = (Finding(each.kind, places[each.start], places[each.end - 1] + 1, each.rule) for each in found)
    return tuple(each for each in whole if "\n" in text[each.start : each.end])
