"""National identity, social security and personal tax numbers: of a country's form, with valid check digits.

What is written in a form that is hardly anything else's is taken as it is; a bare number only near words that name it.
The forms and check digits are python-stdnum's. Numbers without check digits in a list of their own: only in the written
form of the country or near its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from memories.hygiene.sensitivity.context import alone, near
from memories.hygiene.sensitivity.findings import Finding
from memories.types import SensitiveKind

# Said of a number of any country.
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
    """A match of `form` counts by itself; a match of `bare` needs one of `words` (or of any country's words) near."""

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
# No check digit: two letters of the few that are given out, six digits, A to D.
_NINO = re.compile(
    r"(?<![\w-])(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D](?![\w-])",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d{2,}")
# Characters: no number of this list is longer than 24.
_AROUND = 26
_NINO_WORDS = r"national insurance|nino|ni (?:number|no\.?)|n\.i\."


def national_ids(text: str) -> Iterator[Finding]:
    """The identity numbers of persons in a folded text."""
    for start, end in _regions(text):
        for number in _NUMBERS:
            for form, needs_words in ((number.form, False), (number.bare, True)):
                for found in alone(form, text, start, end, flags=re.IGNORECASE) if form else ():
                    words = f"{number.words}|{_ANY}" if needs_words else ""
                    if _said(text, found, words) and _valid(number.module, found.group()):
                        yield Finding(SensitiveKind.NATIONAL_ID, *found.span(), number.module)
        for found in _NINO.finditer(text, start, end):
            spaced = " " in found.group() and found.group().isupper()
            if spaced or near(text, *found.span(), f"{_NINO_WORDS}|{_ANY}"):
                yield Finding(SensitiveKind.NATIONAL_ID, *found.span(), "gb.nino")


def _regions(text: str) -> Iterator[tuple[int, int]]:
    """The parts of a text that have digits, with as much around them as a number may have: the patterns are many."""
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
    """True if one of `words` is near or, for a form that needs none, no other name is."""
    if words:
        return near(text, *found.span(), words)
    return not near(text, *found.span(), _NOT_AN_ID, before=16, after=0)


def load() -> None:
    """Import the number modules now."""
    for number in _NUMBERS:
        _module(number.module)


def _valid(module: str, value: str) -> bool:
    plain = value.upper()
    if not plain.replace("Ñ", "N").isascii():
        return False
    return bool(_module(module).is_valid(plain) or _module(module).is_valid(re.sub(r"[\s.]", "", plain)))


@cache
def _module(name: str) -> Any:
    return import_module(f"stdnum.{name}")
