"""Detects phone numbers (with phonenumbers), e-mail addresses, and street addresses in the forms of several countries.

A phone number with a country code, or in American or British form, counts by itself; any other only near a telephone
word. A street address needs a street name and a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from memories.hygiene.sensitivity.context import near
from memories.hygiene.sensitivity.findings import Finding
from memories.types import SensitiveKind

_EMAIL = re.compile(r"(?<![\w.+%-])[\w.+%'-]{1,64}@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,24}(?![\w@-])")
_INTERNATIONAL = re.compile(r"(?<![\w+])(?:\+|00)[1-9](?:[ ()./\n-]{0,2}\d){6,14}(?!\w)")
_AMERICAN = re.compile(
    r"(?<![\w.-])(?:(?:(?<!\d )1[ .-]?)?\([2-9]\d{2}\) ?|(?<!\d )(?:1[ .-]?)?[2-9]\d{2}[-. ])"
    r"[2-9]\d{2}[-. ]\d{4}(?![\w-]| ?\d|\.\d)"
)
_BRITISH = re.compile(
    r"(?<![\w.-])0(?:7\d{3} ?\d{3} ?\d{3}|2\d ?\d{4} ?\d{4}|1\d{3} \d{6}|1\d{2} \d{3} \d{4})(?![\w-]|\.\d)"
)
_NATIONAL = re.compile(r"(?<![\w.,:/-])\(?0?\d(?:[ ()./-]{0,2}\d){6,13}(?![\w-]|[.,:]\d)")
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
# Characters; long enough for "registration number is ".
_CLOSE = 24
# Regions in which a number near a telephone word is validated, in this order.
_REGIONS = ("US", "GB", "DE", "FR", "ES", "IT", "PT", "BR", "NL", "PL",
            "IN", "SE", "CH", "AT", "BE", "IE", "AU", "MX", "JP", "CN")  # fmt: skip


def emails(text: str) -> Iterator[Finding]:
    """Yield the e-mail addresses in a folded text."""
    if "@" in text:
        for found in _EMAIL.finditer(text):
            yield Finding(SensitiveKind.EMAIL, *found.span(), "e-mail address")


def phones(text: str) -> Iterator[Finding]:
    """Yield the phone numbers in a folded text."""
    taken: set[int] = set()
    valid = cache(_valid)  # of this text alone
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
            if any(valid(found.group(), region) for region in regions):
                taken.update(range(start, end))
                yield Finding(SensitiveKind.PHONE, start, end, "phone number")


def load() -> None:
    """Load the metadata of the regions now."""
    for region in _REGIONS:
        _valid("020 7946 0958", region)


def _valid(number: str, region: str | None) -> bool:
    import phonenumbers  # noqa: PLC0415 - loaded at the first text, see detecting.py

    number = re.sub(r"^00", "+", number) if region is None else number
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(number.replace("\n", " "), region))
    except phonenumbers.NumberParseException:
        return False


_CAP = r"[A-ZÀ-ÖØ-ÞĀ-Ž][\w'’.-]{0,24}"
_NUMBER = r"\d{1,5}[A-Za-z]?(?:[-/]\d{1,4}[A-Za-z]?)?"
_NUMBER_ENDS = rf"{_NUMBER}(?!\d|[.,:]\d)"
_UNIT = r",? (?:Apt|Apartment|Unit|Suite|Ste|Flat|Floor|#)\.? ?[\w-]{1,6}"
# Optional town after a street, with its postal code before or after it, or without one.
_TOWN = (
    rf"(?:,? (?:[A-Z]-)?\d{{4,5}}(?:-\d{{3}})?(?: [A-Z]{{2}})? {_CAP}(?: {_CAP})?"
    rf"|, {_CAP}(?: (?![A-Z]{{1,2}}\d){_CAP}){{0,2}})?"
)
_CODE = r"(?:,? [A-Z]{2},? \d{5}(?:-\d{4})?)?(?:,? [A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2})?"
_SURE = (
    r"(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Boulevard|Blvd|Crescent|Terrace|Parkway|Pkwy|Highway|Hwy|Mews|"
    r"Gardens)\b\.?"
)
# These words have other meanings too, so they count only with a town or a unit after them.
_UNSURE = (
    r"(?:Dr|Court|Ct|Way|Place|Pl|Square|Sq|Close|Row|Hill|Grove|Walk|Park|Circle|Trail|Quay|Green|Rise|View)\b\.?"
)
_ROMANCE = (
    r"(?:Rua|R\.|Avenida|Av\.|Travessa|Largo|Praça|Alameda|Estrada|Calle|C/|Paseo|Plaza|Carrer|Ronda|Camino|Via|"
    r"Viale|Piazza|Corso|Vicolo)"
)
_FRENCH = r"(?:rue|avenue|av\.|boulevard|bd|place|chemin|allée|impasse|quai|route|cours|square|passage)"
_OF = r"(?:(?:d[aeo]s?|du|des|del|della|dei|degli|las?|los|les?|el|l'|d'|aux?|y|e) ?)"
_ENDING = (
    r"(?:stra(?:ß|ss)e|str\.|weg|platz|allee|gasse|ring|damm|ufer|straat|laan|gracht|plein|kade|singel|dijk|gatan|"
    r"vägen|gränd|gade|vej|allé|veien|gata|katu|tie)"
)
_HOUSE_POLISH = rf"{_NUMBER}(?: m\. ?\d{{1,4}})?(?!\d|[.,:]\d)"
_HOUSE_ROMANCE = rf"(?:n[.ºo°]{{1,2}} ?|núm\.? ?)?{_NUMBER_ENDS}"
_FORMS = (
    # English
    rf"(?:Flat|Unit|Apt|Apartment) ?\w{{1,5}},? ?{_NUMBER} (?:{_CAP} ){{1,3}}{_SURE}{_TOWN}{_CODE}",
    rf"{_NUMBER} (?:[NSEW]\.? )?(?:(?:{_CAP}|\d{{1,3}}(?:st|nd|rd|th)) ){{1,3}}{_SURE}(?:{_UNIT})?{_TOWN}{_CODE}",
    rf"{_NUMBER} (?:{_CAP} ){{1,3}}{_UNSURE}(?:{_UNIT}{_TOWN}|, {_CAP}(?: {_CAP}){{0,2}}){_CODE}",
    r"(?i:P\.? ?O\.? ?Box|Postfach|Apartado(?: de Correos)?|Casilla|Caixa Postal|Postbus) \d{1,6}",
    # Portuguese, Spanish, Italian
    rf"{_ROMANCE} ?{_OF}{{0,3}}{_CAP}(?: {_OF}{{0,2}}{_CAP}){{0,4}},? ?{_HOUSE_ROMANCE}{_TOWN}",
    # French
    rf"{_NUMBER}(?: bis| ter)?,? {_FRENCH} {_OF}{{0,3}}{_CAP}(?:[ -]{_OF}{{0,2}}{_CAP}){{0,3}}{_TOWN}",
    # German, Dutch and the Nordic languages: one word, or two
    rf"(?:{_CAP} )?[A-ZÄÖÜÅØÆ][a-zäöüßåøæéè-]{{2,24}}{_ENDING} {_NUMBER_ENDS}{_TOWN}",
    rf"{_CAP}[ -](?:Straße|Strasse|Str\.|Weg|Platz|Allee|Gasse|Ring|Damm|Ufer|Straat|Laan) {_NUMBER_ENDS}{_TOWN}",
    # Polish and Czech
    rf"(?:ul\.|ulica|al\.|pl\.|os\.|ulice|ul) {_CAP}(?: {_CAP}){{0,2}} {_HOUSE_POLISH}{_TOWN}",
)
_ADDRESS = re.compile("|".join(rf"(?<![\w.])(?:{form})" for form in _FORMS))


def street_addresses(text: str) -> Iterator[Finding]:
    """Yield the street addresses in a folded text."""
    for found in _ADDRESS.finditer(text):
        yield Finding(SensitiveKind.ADDRESS, *found.span(), "street address")
