"""Tokens of no known form that a machine drew: secrets near a word that says so, suspicious elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memories.hygiene.sensitivity.context import bits, classes, looks_random, near
from memories.hygiene.sensitivity.findings import Finding
from memories.types import SensitiveKind

_TOKEN = re.compile(r"(?<![\w/+=.@-])[A-Za-z0-9][A-Za-z0-9_+/=-]{19,511}(?![\w/+@-])")
_KNOWN = re.compile(
    (
        r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:0x)?[0-9a-fA-F]+|[0-9a-f-]+|\d[\d_/+=-]*|(?:sha\d+|md5)[-:].*|"
        r"iVBOR.*|/9j/.*|R0lGOD.*|UklGR.*|PHN2Z.*|JVBER.*|AAAA[BCE]3N.*"
    ),
)
# Words of other things that are as random: digests, ids, and the data of images.
_HARMLESS = (
    r"page|cursor|next|public|cache|fingerprint|signature|primary|foreign|partition|row|url|link|"
    r"sha|sha-?\d+|md5|hash|digest|checksum|commit|integrity|etag|uuid|guid|base64|image|png|jpe?g|video|"
    r"watch|isbn|sku|serial|tracking|order|parcel|build|id"
)
_OPENS = (
    r"keys?|(?:secret|access|private|auth|signing|encryption|master|licen[cs]e)[-_ ]?keys?|tokens?|"
    r"secrets?|credentials?|creds|bearer|passwords?|authorization|x-auth\w*|auth|login"
)
_BITS = 3.6


def named_tokens(text: str) -> Iterator[Finding]:
    """The tokens in a folded text that are near a word for what opens something: those are secrets."""
    for found in _drawn(text):
        if near(text, *found.span(), _OPENS, after=0):
            yield Finding(SensitiveKind.SECRET, *found.span(), "random token near its name")


def suspicious(text: str) -> Iterator[Finding]:
    """The suspicious tokens in a folded text."""
    for found in _drawn(text):
        yield Finding(SensitiveKind.SUSPICIOUS, *found.span(), "random token")


def _drawn(text: str) -> Iterator[re.Match[str]]:
    for found in _TOKEN.finditer(text):
        value = found.group()
        if (
            classes(value.rstrip("=")) >= 3
            and bits(value) >= _BITS
            and looks_random(value)
            and value.count("/") <= 2
            and not _KNOWN.fullmatch(value)
            and not near(text, *found.span(), _HARMLESS, before=24, after=0)
        ):
            yield found
