"""Detecting every sensitive value in a text, by kind. Pure; libraries are loaded at the first text, or by `load`.

A text that `judged` masked contains nothing that another scan finds: each found value becomes one BLANK, the rest is
read again until nothing is found, and labels in a text are read as the same BLANK.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from memories.errors import MemoriesError
from memories.hygiene.sensitivity import contacts, credentials, numbers
from memories.hygiene.sensitivity.contacts import street_addresses
from memories.hygiene.sensitivity.context import BLANK, fold
from memories.hygiene.sensitivity.credentials import named_tokens, private_keys, suspicious, vendor_tokens
from memories.hygiene.sensitivity.findings import USUAL_HANDLING, Finding, apart, judged, repeated
from memories.hygiene.sensitivity.numbers import payment_cards
from memories.hygiene.sensitivity.passwords import passwords
from memories.types import HIGH_SEVERITY

Detector = Callable[[str], Iterator[Finding]]

_FORMS: tuple[Detector, ...] = (
    private_keys,
    credentials.credentials,
    vendor_tokens,
    numbers.bank_accounts,
    payment_cards,
    numbers.national_ids,
)
_LOW: tuple[Detector, ...] = (contacts.emails, contacts.phones, street_addresses, suspicious)
# Characters: a name in another field says what a text begins with.
_NAMED = 256
_SPACE = re.compile(r"\s")
# "door_code" is read as the code of a door, but "password_hint" as one name.
_CODE_OF = re.compile(r"_(?=(?:code|combo|combination)s?$)")
# What people write shows all that it holds in two or three readings. A text that shows one more value at each was made
# to be read for minutes.
_READINGS = 8
# Where a value may have been wrapped: one end of line between two characters of it.
_WRAP = re.compile(r"(?<=[A-Za-z0-9+/=_.-])\n(?=[A-Za-z0-9+/=_-])")


class DetectorFailed(MemoriesError):
    """A detector failed on a text, so the text must not be stored. The message quotes nothing of it."""


def scan(text: str) -> tuple[Finding, ...]:
    """What is sensitive in `text`, from left to right, none overlapping. Raises DetectorFailed."""
    found: list[Finding] = []
    folded = fold(text)
    readings = 0
    while new := _high(folded.text) or _low(folded.text):
        readings += 1
        if readings == _READINGS:
            new = _all_of(folded.text, new)
        found += [folded.original(each) for each in new]
        folded = folded.without((each.start, each.end) for each in new)
    return apart(found)


def scan_named(text: str, names: Iterable[str]) -> tuple[Finding, ...]:
    """Sensitive values in `text`, also those that only `names` identify. Raises DetectorFailed."""
    return apart([*scan(text), *(each for name in names for each in named(name, text))]) if text else ()


def named(name: str, text: str) -> tuple[Finding, ...]:
    """Secrets at the beginning of `text` that only the name of its field or title (`name`) identifies.

    A login is a name as often as a password, so it identifies nothing.
    """
    if not name or not text or name.lower().endswith("login"):
        return ()
    told = f"{_CODE_OF.sub(' ', name)}: "
    cut = _SPACE.search(text, _NAMED)
    begins = text[: cut.start()] if cut else text
    return tuple(
        replace(each, start=each.start - len(told), end=each.end - len(told))
        for each in scan(told + begins)
        if each.kind in HIGH_SEVERITY and 0 <= each.start - len(told) <= 1
    )


def holds_secrets(words: str) -> bool:
    """True if optional words, such as a request id, hold a blocked value, or if the scan fails."""
    try:
        return any(each.kind in HIGH_SEVERITY for each in scan(words))
    except DetectorFailed:
        return True


def without_secrets(words: str) -> str:
    """Words echoed to their sender, with labels in place of blocked values."""
    return judged(words, scan(words), USUAL_HANDLING).text


def load() -> None:
    """Load the libraries now, so that the first text does not wait for them: about a second."""
    for part in (credentials, numbers, contacts):
        part.load()
    scan("Ready?")


def _all_of(text: str, new: Iterable[Finding]) -> tuple[Finding, ...]:
    """The whole text as one finding, of the gravest kind in it: nothing is left to read."""
    gravest = min(new, key=lambda each: each.kind not in HIGH_SEVERITY)
    return (replace(gravest, start=0, end=len(text), rule=f"{gravest.rule}, without end"),)


def _high(text: str) -> tuple[Finding, ...]:
    """What is blocked; values that were wrapped at an end of line once no other is left."""
    found = _read(text, (*_FORMS, passwords, named_tokens)) or _wrapped(text)
    return apart((*found, *repeated(text, found))) if found else ()


def _low(text: str) -> tuple[Finding, ...]:
    """Values that the tenant decides on, in all their places, extended to whole words."""
    found = apart(_whole(text, each) for each in _read(text, _LOW))
    return apart((*found, *repeated(text, found))) if found else ()


def _whole(text: str, finding: Finding) -> Finding:
    start, end = finding.start, finding.end
    while start > 0 and text[start].isalnum() and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    return replace(finding, start=start, end=end)


def _read(text: str, detectors: Iterable[Detector]) -> tuple[Finding, ...]:
    found: list[Finding] = []
    for detector in detectors:
        try:
            found += detector(text)
        except Exception as error:  # noqa: BLE001 - whatever a library raises may quote what it read
            raise DetectorFailed(f"{detector.__name__} failed with {type(error).__name__}") from None
    return apart(each for each in found if BLANK not in text[each.start : each.end])


def _wrapped(text: str) -> tuple[Finding, ...]:
    """The values that show once the ends of lines inside them are taken out."""
    wraps = [found.start() for found in _WRAP.finditer(text)]
    if not wraps:
        return ()
    out = set(wraps)
    places = [place for place in range(len(text)) if place not in out]
    found = _read("".join(text[place] for place in places), _FORMS)
    whole = (Finding(each.kind, places[each.start], places[each.end - 1] + 1, each.rule) for each in found)
    return tuple(each for each in whole if "\n" in text[each.start : each.end])
