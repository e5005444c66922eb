"""Phones, by phonenumbers, and e-mail addresses.

A number with a country code, or of the American or British form, counts alone; another only near words of phoning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memories.hygiene.sensitivity.context import near
from memories.hygiene.sensitivity.findings import Finding
from memories.types import SensitiveKind
from memoryhub.regexes import lazy_regex

_EMAIL = lazy_regex(r"(?<![\w.+%-])[\w.+%'-]{1,64}@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,24}(?![\w@-])")
_INTERNATIONAL = lazy_regex(r"(?<![\w+])(?:\+|00)[1-9](?:[ ()./\n-]{0,2}\d){6,14}(?!\w)")
_AMERICAN = lazy_regex(
    r"(?<![\w.-])(?:(?:(?<!\d )1[ .-]?)?\([2-9]\d{2}\) ?|(?<!\d )(?:1[ .-]?)?[2-9]\d{2}[-. ])"
    r"[2-9]\d{2}[-. ]\d{4}(?![\w-]| ?\d|\.\d)"
)
_BRITISH = lazy_regex(
    r"(?<![\w.-])0(?:7\d{3} ?\d{3} ?\d{3}|2\d ?\d{4} ?\d{4}|1\d{3} \d{6}|1\d{2} \d{3} \d{4})(?![\w-]|\.\d)"
)
_NATIONAL = lazy_regex(r"(?<![\w.,:/-])\(?0?\d(?:[ ()./-]{0,2}\d){6,13}(?![\w-]|[.,:]\d)")
_WORDS = (
    r"phone|tel|tel\.|telephone|telefon\w*|tel[eé]fono|t[eé]l[eé]phone|telefone|cell|cellphone|mobile?|"
    r"mobil|m[oó]vil|celular|"
    r"m[oó]bil\w*|telem[oó]vel|handy(?:nummer)?|whatsapp|signal|telegram|sms|text me|call|calls|calling|"
    r"called|ring|dial|reach|fax|"
    r"hotline|landline|portable|num[eé]ro|n[uú]mero|number is|my number|her number|his number|anrufen|"
    r"ruf\w*|appelle\w*|ll[aá]ma\w*|"
    r"liga\w*|bel|gsm|komórk\w*|numer|contact"
)
_NOT_WORDS = (
    r"order|invoice|ticket|tracking|parcel|isbn|issn|serial|model|part|sku|version|build|imei|account|ref|booking|"
    r"(?:policy|patient|flyer|registration|meter|member(?:ship)?|student|claim|case|contract|card|badge|employee|"
    r"customer|reference) (?:numbers?|no\.?)"
)
# Characters: "registration number is " fits.
_CLOSE = 24
# Where a number near a word of phoning may be at home: the languages of the interface's users first.
_REGIONS = (
    "US",
    "GB",
    "DE",
    "FR",
    "ES",
    "IT",
    "PT",
    "BR",
    "NL",
    "PL",
    "IN",
    "SE",
    "CH",
    "AT",
    "BE",
    "IE",
    "AU",
    "MX",
    "JP",
    "CN",
)


def emails(text: str) -> Iterator[Finding]:
    """The e-mail addresses in a folded text."""
    if "@" in text:
        for found in _EMAIL.finditer(text):
            yield Finding(SensitiveKind.EMAIL, *found.span(), "e-mail address")


def phones(text: str) -> Iterator[Finding]:
    """The telephone numbers in a folded text."""
    taken: set[int] = set()
    for pattern, regions, named in (
        (_INTERNATIONAL, (None,), False),
        (_AMERICAN, ("US",), False),
        (_BRITISH, ("GB",), False),
        (_NATIONAL, _REGIONS, True),
    ):
        for found in pattern.finditer(text):
            start, end = found.span()
            if taken.intersection(range(start, end)) or near(text, start, end, _NOT_WORDS, before=_CLOSE, after=0):
                continue
            if named and not near(text, start, end, _WORDS):
                continue
            if any(_valid(found.group(), region) for region in regions):
                taken.update(range(start, end))
                yield Finding(SensitiveKind.PHONE, start, end, "phone number")


def load() -> None:
    """Read the metadata of the regions now."""
    for region in _REGIONS:
        _valid("020 7946 0958", region)


def _valid(number: str, region: str | None) -> bool:
    import phonenumbers  # noqa: PLC0415 - loaded at the first text, see detecting.py

    number = re.sub(r"^00", "+", number) if region is None else number
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(number.replace("\n", " "), region))
    except phonenumbers.NumberParseException:
        return False
