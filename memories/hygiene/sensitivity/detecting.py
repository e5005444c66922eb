"""Detecting: every sensitive value in a text, by kind. Pure; the libraries are loaded at the first text, or by `load`.

Invariant: what `judged` returns with everything masked holds nothing that is found again. It is so by construction: a
found value becomes one BLANK and what is left is read again until nothing is found, and a label that stands in a text
is read as that same BLANK.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from memories.hygiene.sensitivity.bank_accounts import bank_accounts
from memories.hygiene.sensitivity.contacts import emails, phones
from memories.hygiene.sensitivity.credentials import credentials
from memories.hygiene.sensitivity.findings import Finding, apart
from memories.hygiene.sensitivity.folding import BLANK, fold
from memories.hygiene.sensitivity.national_ids import national_ids
from memories.hygiene.sensitivity.passwords import passwords
from memories.hygiene.sensitivity.payment_cards import payment_cards
from memories.hygiene.sensitivity.private_keys import private_keys
from memories.hygiene.sensitivity.street_addresses import street_addresses
from memories.hygiene.sensitivity.suspicious import suspicious
from memories.hygiene.sensitivity.vendor_tokens import vendor_tokens

Detector = Callable[[str], Iterator[Finding]]

_FORMS: tuple[Detector, ...] = (
    private_keys,
    credentials,
    vendor_tokens,
    bank_accounts,
    payment_cards,
    national_ids,
)
_LOW: tuple[Detector, ...] = (emails, phones, street_addresses, suspicious)
# Where a value may have been wrapped: one end of line between two characters of it.
_WRAP = re.compile(r"(?<=[A-Za-z0-9+/=_.-])\n(?=[A-Za-z0-9+/=_-])")


def scan(text: str) -> tuple[Finding, ...]:
    """What is sensitive in `text`, from left to right, none overlapping."""
    found: list[Finding] = []
    folded = fold(text)
    for read in (_high, _low):
        while new := read(folded.text):
            found += [folded.original(each) for each in new]
            folded = folded.without((each.start, each.end) for each in new)
    return apart(found)


def load() -> None:
    """Load the libraries now, so that the first text does not wait for them: about a second."""
    scan("Call +44 20 7946 0958 about the SSN 000-00-0000, IBAN GB00 0000 0000 0000 0000 00, card 4000 0000 0000 0000.")


def _high(text: str) -> tuple[Finding, ...]:
    """What is blocked; values that were wrapped at an end of line once no other is left."""
    return _read(text, (*_FORMS, passwords)) or _wrapped(text)


def _low(text: str) -> tuple[Finding, ...]:
    return _read(text, _LOW)


def _read(text: str, detectors: Iterable[Detector]) -> tuple[Finding, ...]:
    found = (each for detector in detectors for each in detector(text))
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
