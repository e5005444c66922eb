"""Private keys: a whole PEM block is one finding, also without its end, on one line, or quoted in a program."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memories.hygiene.sensitivity.findings import Finding
from memories.types import SensitiveKind

_BEGIN = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
# What stands in a block whose end is missing: base64 in lines or as a quoted string, and the headers of old formats.
_BODY = re.compile(
    r"(?:[\s\"'+,]|\\n|\\r)*(?:(?:Proc-Type|DEK-Info|Version|Comment):[^\n]{0,80}|[A-Za-z0-9+/=]{6,}|\\n)"
)
_PUTTY = re.compile(r"PuTTY-User-Key-File-\d: [a-z0-9-]{3,40}")
# The secret member of a JSON web key.
_WEB_KEY = re.compile(r"[\"'](?:d|k)[\"']\s{0,3}:\s{0,3}[\"'](?P<value>[A-Za-z0-9_-]{20,4000}={0,2})[\"']")
# Characters of one block at most: an RSA key of 16384 bits has 12,600.
_LONGEST = 20_000


def private_keys(text: str) -> Iterator[Finding]:
    """The private keys in a folded text."""
    place = 0
    while begin := _BEGIN.search(text, place):
        end = _END.search(text, begin.end(), begin.end() + _LONGEST)
        place = end.end() if end else _body_end(text, begin.end())
        yield Finding(SensitiveKind.PRIVATE_KEY, begin.start(), place, "PEM private key")
    for found in _PUTTY.finditer(text):
        mac = text.find("Private-MAC:", found.end(), found.end() + _LONGEST)
        line_end = text.find("\n", mac) if mac >= 0 else found.end()
        yield Finding(SensitiveKind.PRIVATE_KEY, found.start(), line_end if line_end >= 0 else len(text), "PuTTY key")

    if re.search(r"[\"']kty[\"']", text):
        for found in _WEB_KEY.finditer(text):
            yield Finding(SensitiveKind.PRIVATE_KEY, *found.span("value"), "JSON web key")


def _body_end(text: str, place: int) -> int:
    while body := _BODY.match(text, place):
        place = body.end()
    return place
