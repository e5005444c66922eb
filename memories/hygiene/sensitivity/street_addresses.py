"""Street addresses, by the forms in which several countries write them. Conservative: a street's name and a number."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memories.hygiene.sensitivity.findings import Finding
from memories.types import SensitiveKind

_CAP = r"[A-ZÀ-ÖØ-ÞĀ-Ž][\w'’.-]{0,24}"
_NUMBER = r"\d{1,5}[A-Za-z]?(?:[-/]\d{1,4}[A-Za-z]?)?"
_TAIL = r"(?:,? (?:Apt|Apartment|Unit|Suite|Ste|Flat|Floor|#)\.? ?[\w-]{1,6})?"
_TOWN = rf"(?:,? (?:[A-Z]-)?\d{{4,5}}(?:-\d{{3}})?(?: [A-Z]{{2}})? {_CAP}(?: {_CAP})?|, {_CAP}(?: (?![A-Z]{{1,2}}\d){_CAP}){{0,2}})?"
_US_STATE = r"(?:,? [A-Z]{2},? \d{5}(?:-\d{4})?)?"
_UK_CODE = r"(?:,? [A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2})?"
_ENGLISH_SURE = (
    r"Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Boulevard|Blvd|Crescent|Terrace|Parkway|Pkwy|Highway|Hwy|Mews|Gardens"
)
# Also words of other things: "Court", "Way" and "Hill" count with a town or a unit after them.
_ENGLISH_UNSURE = r"Dr|Court|Ct|Way|Place|Pl|Square|Sq|Close|Row|Hill|Grove|Walk|Park|Circle|Trail|Quay|Green|Rise|View"
_FORMS = (
    rf"(?:Flat|Unit|Apt|Apartment) ?\w{{1,5}},? ?{_NUMBER} (?:{_CAP} ){{1,3}}(?:{_ENGLISH_SURE})\b\.?{_TOWN}{_US_STATE}{_UK_CODE}",
    rf"{_NUMBER} (?:[NSEW]\.? )?(?:(?:{_CAP}|\d{{1,3}}(?:st|nd|rd|th)) ){{1,3}}(?:{_ENGLISH_SURE})\b\.?{_TAIL}{_TOWN}{_US_STATE}{_UK_CODE}",
    rf"{_NUMBER} (?:{_CAP} ){{1,3}}(?:{_ENGLISH_UNSURE})\b\.?(?:,? (?:Apt|Apartment|Unit|Suite|Ste|Flat|#)\.? ?[\w-]{{1,6}}{_TOWN}|, {_CAP}(?: {_CAP}){{0,2}}){_US_STATE}{_UK_CODE}",
    rf"(?i:P\.? ?O\.? ?Box|Postfach|Apartado(?: de Correos)?|Casilla|Caixa Postal|Boîte Postale|Postbus) \d{{1,6}}{_TOWN}",
    rf"(?:Rua|R\.|Avenida|Av\.|Travessa|Largo|Praça|Alameda|Estrada|Calle|C/|Paseo|Plaza|Carrer|Ronda|Camino|Via|Viale|Piazza|Corso|Vicolo)"
    rf" ?(?:(?:d[aeo]s?|del|della|dei|la|las|los|el|l'|degli|y|e) ?){{0,3}}{_CAP}(?: (?:(?:d[aeo]s?|del|della|la|y|e) )?{_CAP}){{0,4}},? ?(?:n[.ºo°]{{1,2}} ?|núm\.? ?)?{_NUMBER}(?!\d|[.,:]\d){_TOWN}",
    rf"{_NUMBER}(?: bis| ter)?,? (?:rue|avenue|av\.|boulevard|bd|place|chemin|allée|impasse|quai|route|cours|square|passage)"
    rf" (?:(?:de|du|des|la|le|les|l'|d'|aux?) ?){{0,3}}{_CAP}(?:[ -](?:(?:de|du|des|la|le) )?{_CAP}){{0,3}}{_TOWN}",
    rf"(?:{_CAP} )?[A-ZÄÖÜÅØÆ][a-zäöüßåøæéè-]{{2,24}}(?:stra(?:ß|ss)e|str\.|weg|platz|allee|gasse|ring|damm|ufer|straat|laan|gracht|plein|kade|singel|dijk|gatan|vägen|gränd|gade|vej|allé|veien|gata|katu|tie) {_NUMBER}(?!\d|[.,:]\d){_TOWN}",
    rf"{_CAP}[ -](?:Straße|Strasse|Str\.|Weg|Platz|Allee|Gasse|Ring|Damm|Ufer|Straat|Laan) {_NUMBER}(?!\d|[.,:]\d){_TOWN}",
    rf"(?:ul\.|ulica|al\.|pl\.|os\.|ulice|ul) {_CAP}(?: {_CAP}){{0,2}} {_NUMBER}(?:/\d{{1,4}}|(?: m\. ?\d{{1,4}}))?(?!\d|[.,:]\d){_TOWN}",
)
_ADDRESS = re.compile("|".join(rf"(?<![\w.])(?:{form})" for form in _FORMS))


def street_addresses(text: str) -> Iterator[Finding]:
    """The street addresses in a folded text."""
    for found in _ADDRESS.finditer(text):
        yield Finding(SensitiveKind.ADDRESS, *found.span(), "street address")
