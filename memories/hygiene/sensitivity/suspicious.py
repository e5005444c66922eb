"""Suspicious tokens: long runs that a machine drew, of no known form and with no word that says what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memories.hygiene.sensitivity.context import near
from memories.hygiene.sensitivity.entropy import bits, classes, looks_random
from memories.hygiene.sensitivity.findings import Finding
from memories.types import SensitiveKind

_TOKEN = re.compile(r"(?<![\w/+=.@-])[A-Za-z0-9][A-Za-z0-9_+/=-]{19,511}(?![\w/+@-])")
_KNOWN = re.compile(
    (
        r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]+|[0-9A-F]+|\d[\d_/+=-]*|(?:sha\d+|md5)[-:].*|"
        r"iVBOR.*|/9j/.*|R0lGOD.*|UklGR.*|PHN2Z.*|JVBER.*|AAAA[BCE]3N.*"
    ),
)
# Words of other things that are as random: digests, ids, and the data of images.
_HARMLESS = (
    r"sha|sha-?\d+|md5|hash|digest|checksum|commit|integrity|etag|uuid|guid|base64|image|png|jpe?g|video|"
    r"watch|isbn|sku|serial|tracking|order|parcel|build|id"
)
_BITS = 3.6


def suspicious(text: str) -> Iterator[Finding]:
    """The suspicious tokens in a folded text."""
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
            yield Finding(SensitiveKind.SUSPICIOUS, *found.span(), "random token")
