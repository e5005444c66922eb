"""Detects bank accounts, payment cards and personal identity numbers by form and check digits (python-stdnum).

An IBAN counts anywhere; a national account only near words that name it. A payment card needs a number in an issuer's
range and length, grouped like a card number. An identity number counts by itself if its form is distinctive, and as
bare digits only near words that name it.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import islice
from typing import Any

from memories.hygiene.sensitivity.context import LETTERS, alone, decoded, in_uuid, mentions, near
from memories.hygiene.sensitivity.findings import Finding
from memories.types import SensitiveKind

# Not IGNORECASE, which would also match letters outside A to Z.
_IBAN = re.compile(rf"(?<![{LETTERS}])[A-Za-z]{{2}}[ -]?\d{{2}}(?:[ .\n-]{{0,2}}[A-Za-z0-9]){{11,32}}")
_SEPARATORS = dict.fromkeys(map(ord, " .\n-"))
# Letters as the numbers that the check digits count: A is 10.
_AS_NUMBERS = {ord(letter): str(int(letter, 36)) for letter in string.ascii_letters}
# Modules of python-stdnum, the forms they validate, and words that must be near a match.
_NATIONAL = (
    ("es.ccc", r"\d{4}[ -]?\d{4}[ -]?\d{2}[ -]?\d{10}", r"ccc|cuenta|account"),
    ("ar.cbu", r"\d{8} ?\d{14}", r"cbu|cuenta|account"),
    ("no.kontonr", r"\d{4}[. ]?\d{2}[. ]?\d{5}", r"konto(?:nr|nummer)?\.?|account"),
    ("nz.bankaccount", r"\d{2}-\d{4}-\d{7}-\d{2,3}", r"account|acc|acct|bank|anz|bnz|asb|westpac|kiwibank"),
    ("cz.bankaccount", r"(?:\d{1,6}-)?\d{2,10}/\d{4}", r"[uú][cč]e?t\w*|[cč]\. ?[uú]\.?|account"),
)
_ROUTING = re.compile(r"(?<![\w-])\d{9}(?![\w-])")
_ACCOUNT = re.compile(r"(?<![\w-])\d{6,17}(?![\w-])")
_ACCOUNT_WORD = r"acc(?:oun)?t\.?(?: (?:number|no\.?|#))?|a/c|checking|savings"
_SORT_CODE = re.compile(r"(?<![\w-])\d{2}[- ]?\d{2}[- ]?\d{2}(?![\w-])")
_EIGHT = re.compile(r"(?<![\w-])\d{4} ?\d{4}(?![\w-])")
# Maximum distance in characters between a sort code or routing number and its account number.
_PAIR = 80


def bank_accounts(text: str) -> Iterator[Finding]:
    """Yield the bank accounts in a folded text."""
    place = 0
    while found := _IBAN.search(text, place):
        end = _iban_end(found)
        place = end or found.start() + 1  # "at 12 DE89 ..." begins like an IBAN and would hide the one inside
        if end and not in_uuid(text, found.start(), end):
            yield Finding(SensitiveKind.BANK_ACCOUNT, found.start(), end, "IBAN")
    for module, form, words in _NATIONAL:
        for found in alone(form, text):
            if near(text, *found.span(), words) and _module(module).is_valid(found.group()):
                yield Finding(SensitiveKind.BANK_ACCOUNT, *found.span(), module)
    yield from _american(text)
    yield from _british(text)


def load() -> None:
    """Import the modules of python-stdnum now."""
    for name in ("iban", "us.rtn", *(name for name, _, _ in _NATIONAL), *(number.module for number in _NUMBERS)):
        _module(name)


@cache
def _iban_length(country: str) -> int:
    """Return the characters of an IBAN of `country` by python-stdnum's table; 0 if the country has none."""
    ((_, found), *_) = _module("numdb").get("iban").info(country)
    return 4 + sum(map(int, re.findall(r"(\d+)!", found["bban"]))) if "bban" in found else 0


def _iban_end(found: re.Match[str]) -> int | None:
    """Return the end of the IBAN at the start of a match, or None; the match may include words that follow it."""
    length = _iban_length(found.group()[:2].upper())
    plain = found.group().translate(_SEPARATORS)[:length]
    if not length or len(plain) < length or int((plain[4:] + plain[:4]).translate(_AS_NUMBERS)) % 97 != 1:
        return None
    left = length
    for place, character in enumerate(found.group(), found.start() + 1):
        left -= character.isalnum()
        if not left:
            alone = not found.string[place : place + 1].isalnum()
            return place if alone and _module("iban").is_valid(plain, check_country=False) else None
    return None


def _american(text: str) -> Iterator[Finding]:
    """Yield valid routing numbers, each with the account number named near it."""
    for routing in _ROUTING.finditer(text):
        if not near(text, *routing.span(), r"routing|aba|rtn|transit") or not _module("us.rtn").is_valid(
            routing.group()
        ):
            continue
        for account in _ACCOUNT.finditer(text, max(0, routing.start() - _PAIR), routing.end() + _PAIR):
            if account.span() != routing.span() and near(text, *account.span(), _ACCOUNT_WORD, after=8):
                yield Finding(SensitiveKind.BANK_ACCOUNT, *routing.span(), "us.rtn")
                yield Finding(SensitiveKind.BANK_ACCOUNT, *account.span(), "us.account")


def _british(text: str) -> Iterator[Finding]:
    """Yield sort codes, each with the eight-digit account number near it."""
    for code in _SORT_CODE.finditer(text):
        if not near(text, *code.span(), r"sort[ -]?code|s/c"):
            continue
        for account in _EIGHT.finditer(text, max(0, code.start() - _PAIR), code.end() + _PAIR):
            if account.end() <= code.start() or account.start() >= code.end():
                yield Finding(SensitiveKind.BANK_ACCOUNT, *code.span(), "gb.sort_code")
                yield Finding(SensitiveKind.BANK_ACCOUNT, *account.span(), "gb.account")


@cache
def _module(name: str) -> Any:
    return import_module(f"stdnum.{name}")


# Words for identity numbers of any country.
_ANY = (
    r"national (?:id|identity|insurance)|identity (?:card|number|no)|id (?:number|card|no\.?)|social security|"
    r"tax(?:payer)? (?:id|identification|number|no\.?)|personal (?:id|number|code)|citizen(?:ship)? (?:id|number|card)|"
    r"identification number"
)
_NOT_AN_ID = (
    r"order|invoice|ticket|tracking|parcel|shipment|model|part|serial|sku|ref|reference|booking|case|"
    r"version|build|isbn|issn"
)


@dataclass(frozen=True, slots=True)
class _Number:
    """A match of `form` counts by itself; a match of `bare` needs one of `words` or a word of `_ANY` near it."""

    module: str
    words: str
    bare: str = ""
    form: str = ""


_NUMBERS: tuple[_Number, ...] = (
    _Number("us.ssn", r"ssn|social|soc\.? ?sec\.?", bare=r"\d{3}[ .]?\d{2}[ .]?\d{4}", form=r"\d{3}-\d{2}-\d{4}"),
    _Number("us.itin", r"itin", bare=r"9\d{2} ?\d{2} ?\d{4}", form=r"9\d{2}-\d{2}-\d{4}"),
    _Number("ca.sin", r"sin|nas|social insurance", bare=r"\d{3}[ -]?\d{3}[ -]?\d{3}"),
    _Number("mx.curp", r"curp", form=r"[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z\d]\d"),
    _Number("mx.rfc", r"rfc", bare=r"[A-ZÑ&]{4}-?\d{6}-?[A-Z\d]{3}"),
    _Number("br.cpf", r"cpf", bare=r"\d{11}|\d{9}-\d{2}", form=r"\d{3}\.\d{3}\.\d{3}-\d{2}"),
    _Number("ar.cuit", r"cui[tl]", bare=r"2[0347]\d{9}", form=r"2[0347]-\d{8}-\d"),
    _Number("cl.rut", r"rut|run", bare=r"\d{7,8}-?[\dkK]", form=r"\d{1,2}\.\d{3}\.\d{3}-[\dkK]"),
    _Number("ec.ci", r"c[eé]dula", bare=r"\d{9}-?\d"),
    _Number("do.cedula", r"c[eé]dula", bare=r"\d{11}", form=r"\d{3}-\d{7}-\d"),
    _Number("co.nit", r"nit|c[eé]dula", bare=r"\d{3}\.?\d{3}\.?\d{3}-\d"),
    _Number("es.dni", r"dni|nif", form=r"\d{8}[ -]?[A-HJ-NP-TV-Z]|\d{2}\.\d{3}\.\d{3}[ -]?[A-HJ-NP-TV-Z]"),
    _Number("es.nie", r"nie", form=r"[XYZ]-?\d{7}-?[A-HJ-NP-TV-Z]"),
    _Number("pt.nif", r"nif|contribuinte", bare=r"[123]\d{2} ?\d{3} ?\d{3}"),
    _Number("pt.cc", r"cc|cart[aã]o de cidad[aã]o", form=r"\d{8} ?\d ?[A-Z]{2}\d"),
    _Number("it.codicefiscale", r"codice fiscale", form=r"[A-Z]{6} ?\d{2}[A-EHLMPRST]\d{2} ?[A-Z]\d{3}[A-Z]"),
    _Number(
        "fr.nir",
        r"nir|s[eé]curit[eé] sociale|num[eé]ro de s[eé]cu|carte vitale",
        form=r"[12] ?\d{2} ?(?:0[1-9]|1[0-2]|[2-4]\d) ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}",
    ),
    _Number("fr.nif", r"fiscal|spi|imp[oô]ts", bare=r"[0-3]\d(?: ?\d{2}){0,1}(?: ?\d{3}){3}"),
    _Number(
        "de.idnr",
        r"steuer(?:liche)?[ -]?(?:id|identifikationsnummer|nummer|nr\.?)|idnr\.?|identifikationsnummer|tax id",
        bare=r"\d{2} ?\d{3} ?\d{3} ?\d{3}",
    ),
    _Number(
        "nl.bsn",
        r"bsn|burgerservicenummer|sofi(?:nummer)?",
        bare=r"\d{3}[ .]?\d{2}[ .]?\d{4}|\d{4}[ .]\d{2}[ .]\d{3}|\d{8}",
    ),
    _Number(
        "be.nn",
        r"rijksregister(?:nummer)?|registre national|national register|niss|insz",
        bare=r"\d{11}",
        form=r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}",
    ),
    _Number("ch.ssn", r"ahv|avs|oasi", form=r"756\.?\d{4}\.?\d{4}\.?\d{2}"),
    _Number("at.vnr", r"sozialversicherungsnummer|sv-?n(?:umme)?r\.?|svnr\.?", bare=r"\d{4} ?\d{6}"),
    _Number("pl.pesel", r"pesel", bare=r"\d{11}"),
    _Number("pl.nip", r"nip", bare=r"\d{3}-?\d{3}-?\d{2}-?\d{2}"),
    _Number("cz.rc", r"rodn[eé] [cč][ií]slo|r\.? ?[cč]\.?", bare=r"\d{9,10}", form=r"\d{6}/\d{3,4}"),
    _Number("ro.cnp", r"cnp", form=r"[1-8]\d{2}(?:0[1-9]|1[0-2])\d{8}"),
    _Number("bg.egn", r"egn|егн", bare=r"\d{10}"),
    _Number("hr.oib", r"oib", bare=r"\d{11}"),
    _Number("si.emso", r"em[sš]o|jmbg", form=r"[0-3]\d[01]\d[09]\d{2}\d{6}"),
    _Number("gr.amka", r"amka|αμκα", bare=r"\d{11}"),
    _Number("lt.asmens", r"asmens koda[si]", bare=r"[3-6]\d{10}"),
    _Number("ee.ik", r"isikukood", bare=r"[1-6]\d{10}"),
    _Number("fi.hetu", r"hetu|henkil[oö]tunnus", form=r"\d{6}[-+A-FU-Y]\d{3}[0-9A-FHJ-NPR-Y]"),
    _Number(
        "se.personnummer", r"personnummer|personal number", bare=r"(?:19|20)?\d{10}", form=r"(?:19|20)?\d{6}[-+]\d{4}"
    ),
    _Number("no.fodselsnummer", r"f[oø]dselsnummer|personnummer", form=r"\d{6} ?\d{5}"),
    _Number("dk.cpr", r"cpr(?:-?nummer)?", bare=r"\d{6}[ -]?\d{4}"),
    _Number("is_.kennitala", r"kennitala", bare=r"\d{6}-?\d{4}"),
    _Number("ie.pps", r"ppsn?|pps number", bare=r"\d{7}[A-W][A-IW]?"),
    _Number("gb.nhs", r"nhs", bare=r"\d{3}[ -]?\d{3}[ -]?\d{4}"),
    _Number("gb.utr", r"utr|unique taxpayer", bare=r"\d{5} ?\d{5}"),
    _Number("tr.tckimlik", r"t\.?c\.? kimlik(?: no)?|tckn|kimlik", bare=r"[1-9]\d{10}"),
    _Number("il.idnr", r"teudat zehut|ת\.?ז|israeli id", bare=r"\d{8}-?\d"),
    _Number("in_.aadhaar", r"a{1,2}dha{1,2}r|uidai|आधार", bare=r"[2-9]\d{3}[ -]?\d{4}[ -]?\d{4}"),
    _Number("in_.pan", r"pan", bare=r"[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]"),
    _Number("cn.ric", r"身份证|resident id", form=r"[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])[0-3]\d{4}[\dXx]"),
    _Number("kr.rrn", r"rrn|주민등록번호", bare=r"\d{13}", form=r"\d{6}-\d{7}"),
    _Number("jp.in_", r"my ?number|マイナンバー|個人番号", bare=r"\d{4}[ -]?\d{4}[ -]?\d{4}"),
    _Number("th.pin", r"thai id|บัตรประชาชน", bare=r"\d{13}", form=r"[1-8]-\d{4}-\d{5}-\d{2}-\d"),
    _Number("my.nric", r"nric|mykad|ic", bare=r"\d{6}-?\d{2}-?\d{4}"),
    _Number("id.nik", r"nik|ktp", bare=r"\d{16}"),
    _Number("pk.cnic", r"cnic|nadra", bare=r"\d{13}", form=r"[1-7]\d{4}-\d{7}-\d"),
    _Number("za.idnr", r"south african id|rsa id|sa id", bare=r"\d{6} ?\d{4} ?\d{3}"),
    _Number("au.tfn", r"tfn|tax file", bare=r"\d{3}[ -]?\d{3}[ -]?\d{2,3}"),
    _Number("nz.ird", r"ird", bare=r"\d{2,3}[ -]?\d{3}[ -]?\d{3}"),
    _Number("ru.inn", r"inn|инн", bare=r"\d{12}"),
    _Number("ua.rntrc", r"rntrc|рнокпп|іпн|ипн", bare=r"\d{10}"),
)
# It has no check digit: two letters from a limited set, six digits, and A to D.
_NINO = re.compile(
    r"(?<![\w-])(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D](?![\w-])",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d{2,}")
# Characters; no number of this list is longer than 24.
_AROUND = 26
_NINO_WORDS = r"national insurance|nino|ni (?:number|no\.?)|n\.i\."


def national_ids(text: str) -> Iterator[Finding]:
    """Yield the personal identity numbers in a folded text."""
    regions = tuple(_regions(text))
    valid = cache(_valid)  # of this text alone
    any_named = bool(regions) and mentions(text, _ANY)
    for number in _NUMBERS if regions else ():
        named = any_named or (number.bare and mentions(text, number.words))
        for form, words in ((number.form, ""), (number.bare if named else "", f"{number.words}|{_ANY}")):
            for start, end in regions if form else ():
                for found in alone(form, text, start, end, flags=re.IGNORECASE):
                    if _said(text, found, words) and valid(number.module, found.group()):
                        yield Finding(SensitiveKind.NATIONAL_ID, *found.span(), number.module)
    for start, end in regions:
        for found in _NINO.finditer(text, start, end):
            spaced = " " in found.group() and found.group().isupper()
            if spaced or near(text, *found.span(), f"{_NINO_WORDS}|{_ANY}"):
                yield Finding(SensitiveKind.NATIONAL_ID, *found.span(), "gb.nino")


def _regions(text: str) -> Iterator[tuple[int, int]]:
    """Yield the regions of a text with digits, extended by the length of a number, because there are many patterns."""
    start, end = 0, -1
    for digits in _DIGITS.finditer(text):
        if digits.start() - _AROUND > end >= 0:
            yield start, end
            end = -1
        if end < 0:
            start = max(0, digits.start() - _AROUND)
        if digits.end() + _AROUND <= end:
            continue
        end = digits.end() + _AROUND
        while end < len(text) and text[end].isalnum():
            end += 1
    if end >= 0:
        yield start, end


def _said(text: str, found: re.Match[str], words: str) -> bool:
    """True if one of `words` is near; without `words`, true unless a word for another number precedes the match."""
    if words:
        return near(text, *found.span(), words)
    return not near(text, *found.span(), _NOT_AN_ID, before=16, after=0)


def _valid(module: str, value: str) -> bool:
    plain = value.upper()
    if not plain.replace("Ñ", "N").isascii():
        return False
    return bool(_module(module).is_valid(plain) or _module(module).is_valid(re.sub(r"[\s.]", "", plain)))


# Digits with at most three separators between them.
_RUN = re.compile(rf"(?<![{LETTERS}])\d(?:[ \t\n.,/_*|-]{{0,3}}\d){{12,}}(?![{LETTERS}])")
_GROUP = re.compile(r"\d+")
# First digits and lengths (ISO/IEC 7812 ranges as published by the schemes). Both ends of a range have equal length.
_ISSUERS: Sequence[tuple[str, str, frozenset[int]]] = (
    ("34", "34", frozenset({15})),  # American Express
    ("37", "37", frozenset({15})),
    ("300", "305", frozenset({14, 16})),  # Diners Club
    ("36", "36", frozenset({14, 16})),
    ("38", "39", frozenset({14, 16})),
    ("3528", "3589", frozenset({16})),  # JCB
    ("4", "4", frozenset({13, 16, 19})),  # Visa
    ("50", "50", frozenset({16, 18, 19})),  # Maestro, Verve, Elo
    ("51", "55", frozenset({16})),  # Mastercard
    ("2221", "2720", frozenset({16})),
    ("56", "58", frozenset({16, 18, 19})),  # Maestro
    ("6011", "6011", frozenset({16, 19})),  # Discover
    ("60", "65", frozenset({16, 17, 18, 19})),  # Discover, UnionPay, RuPay, Maestro, Elo
    ("67", "67", frozenset({16, 18, 19})),  # Maestro
    ("81", "82", frozenset({16})),  # RuPay, UnionPay
    ("2200", "2204", frozenset({16})),  # Mir
    ("9792", "9792", frozenset({16})),  # Troy
)
_NO_FIRST = frozenset("017")
# Group lengths of cards whose groups are neither equal nor multiples of four: American Express, Diners Club, long
# Maestro.
_SHAPES = frozenset({(4, 6, 5), (4, 6, 4), (6, 13), (6, 10), (4, 11), (10, 5), (4, 10), (10, 4)})
# Each digit as its double, less nine where that has two digits.
_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")
_BEGINNINGS = frozenset(shape[:count] for shape in _SHAPES for count in range(1, len(shape) + 1))
# Unbroken numbers of these lengths are often something else, so they need a card word near them.
_RARE = frozenset({13, 14, 17, 18, 19})
_CARD_WORD = re.compile(
    r"(?i)\b(?:card|visa|master ?card|maestro|amex|american express|diners|discover|union ?pay|jcb|credit|debit|cc|"
    r"kreditkarte|karte|tarjeta|cart[aãe]o?|carte|carta|kaart|kort|karta|cvv|cvc|expir|exp)"
)
_NEAR = 60


def payment_cards(text: str) -> Iterator[Finding]:
    """Yield the payment card numbers in a folded text."""
    for run in _RUN.finditer(text):
        groups = [found.span() for found in _GROUP.finditer(text, run.start(), run.end())]
        first = 0
        while first < len(groups):
            last = _card_from(text, groups, first)
            if last is None or in_uuid(text, groups[first][0], groups[last][1]):
                first += 1
                continue
            yield Finding(SensitiveKind.PAYMENT_CARD, groups[first][0], groups[last][1], "payment card")
            first = last + 1


# Base64 of a text with a card or an account: digits begin with M to O, and a name of the value may come before.
_ENCODED = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{18,200}+={0,2}(?![\w+/=-])", re.ASCII)
_FEWEST_DIGITS = 12


def encoded_numbers(text: str) -> Iterator[Finding]:
    """Yield base64 of cards and bank accounts in a folded text."""
    for found in _ENCODED.finditer(text):
        plain = decoded(found.group())
        if plain.isascii() and len(plain) - len(plain.translate(None, b"0123456789")) >= _FEWEST_DIGITS:
            words = plain.decode()
            for inside in islice((*payment_cards(words), *bank_accounts(words)), 1):
                yield Finding(inside.kind, *found.span(), f"{inside.rule} in base64")


def _card_from(text: str, groups: Sequence[tuple[int, int]], first: int) -> int | None:
    """Return the last group of the card number that starts with group `first`, or None."""
    if text[groups[first][0]] in _NO_FIRST:
        return None
    digits = ""
    shape: tuple[int, ...] = ()
    equal = fours = True
    found = None
    for last in range(first, min(first + 19, len(groups))):
        start, end = groups[last]
        equal = equal and (not shape or end - start == shape[0])
        fours = fours and (not shape or shape[-1] % 4 == 0)
        digits += text[start:end]
        shape += (end - start,)
        written = equal or fours or shape in _BEGINNINGS
        if len(digits) > 19 or not written:
            break
        if (
            len(digits) >= 13
            and (equal or fours or shape in _SHAPES)
            and _is_card(digits)
            and _fits(text, groups[first][0], end, shape)
        ):
            found = last
    return found


def _is_card(digits: str) -> bool:
    return (
        any(low <= digits[: len(low)] <= high and len(digits) in lengths for low, high, lengths in _ISSUERS)
        and _checks(digits)
        and len(set(digits)) > 1
    )


def _checks(digits: str) -> bool:
    """True if the last digit is Luhn's; python-stdnum takes a hundred times as long, and a text may hold thousands."""
    backwards = digits.encode()[::-1]
    return (sum(backwards[::2]) + sum(backwards[1::2].translate(_DOUBLED)) - ord("0") * len(digits)) % 10 == 0


def _fits(text: str, start: int, end: int, shape: tuple[int, ...]) -> bool:
    if len(shape) > 1 or end - start not in _RARE:
        return True
    return bool(_CARD_WORD.search(text, max(0, start - _NEAR), end + _NEAR))
