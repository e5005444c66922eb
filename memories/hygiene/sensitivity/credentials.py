"""Detects credentials: vendors' tokens, web tokens, private keys, passwords in URLs, and unknown random tokens.

A token with an unmistakable prefix is a secret even if its checksum is wrong, because it may have been shortened or
retyped. A random token of unknown form is a secret near a word that says so, else suspicious. All patterns run in
linear time: each reads a bounded number of characters, and possessive repetition never goes back over them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from memories.hygiene.sensitivity.context import bits, classes, decoded, is_placeholder, looks_random, near
from memories.hygiene.sensitivity.findings import Finding
from memories.hygiene.sensitivity.vendors import MOST, PREFIXED, SHAPED
from memories.types import SensitiveKind

# Not inside a word, but after an escaped character: "%20", "\n".
_STARTS = r"(?:(?<![A-Za-z0-9_])|(?<=%[0-9A-Fa-f]{2})|(?<=\\[nrt]))"
# The empty group at the end of a branch names it. A group round the branch would hide its first character from the
# search, which skips branches by it.
_TOKEN = re.compile(
    _STARTS
    + "(?:"
    + "|".join(
        f"(?:{prefix})"
        + (rest if isinstance(rest, str) else rf"[A-Za-z0-9_.~-]{{{rest},{MOST}}}+=*")
        + f"(?P<v{place}>)"
        for place, (_, prefix, rest) in enumerate(PREFIXED)
    )
    + ")"
)
_PREFIX = tuple(re.compile(prefix) for _, prefix, _ in PREFIXED)
_SHAPED = tuple((name, literal, re.compile(form)) for name, literal, form in SHAPED)
# Tokens that begin with a number in base64, for others look like them.
_NUMBERED = frozenset({"Discord bot", "Atlassian"})
_NUMBER = re.compile(rb"\d{6,}(?:[:]|$)")
_REST = re.compile(r"[A-Za-z0-9_~-]*+")
# An AWS key id: a four-letter prefix and sixteen capitals or digits, as one word or in groups.
_AMAZON = re.compile(
    r"(?<![A-Za-z0-9])(?:A3T[0-9A-Z]|A(?:BI|CC|GP|ID|IP|KI|NP|NV|RO|PK|SC|SI)A)(?:[A-Z0-9]{16,17}+|(?: ?[A-Z0-9]){16})"
    r"(?![A-Za-z0-9])"
)
_URL_PASSWORD = re.compile(
    r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}+://[^\s/:@\"'<>]{0,64}+:(?P<value>[^\s/@\"'<>{}$]{3,128}+)@(?=[\w\[])",
    re.IGNORECASE,
)
_BASIC = re.compile(r"\bbasic\s{1,4}(?P<value>[0-9A-Za-z_/+-]{8,400}+={0,2})", re.IGNORECASE)
_BEARER = re.compile(r"\b(?:bearer|ntlm)\s{1,4}(?P<value>[.0-9A-Za-z_/+-]{32,400}+=*)", re.IGNORECASE)
_CURL = re.compile(
    r"(?<!\S)(?:-u|--(?:proxy-)?user)[ =]{0,2}[\"']?[^\s\"':]{1,64}+:(?P<value>[^\s\"']{4,64}+)", re.IGNORECASE
)
# Characters between "curl" and its option.
_COMMAND = 400


def vendor_tokens(text: str) -> Iterator[Finding]:
    """Yield tokens by prefix or form in a folded text."""
    for found in _TOKEN.finditer(text):
        place = int(str(found.lastgroup)[1:])
        value = found.group().rstrip(".~-")
        prefix = _PREFIX[place].match(text, found.start(), found.end())
        body = value[prefix.end() - found.start() :] if prefix else value
        if looks_random(body, may_be_words=isinstance(PREFIXED[place][2], str)):
            end = found.start() + len(value)
            if len(value) >= MOST and (rest := _REST.match(text, end)):
                end = rest.end()
            yield Finding(SensitiveKind.SECRET, found.start(), end, f"{PREFIXED[place][0]} token")
    for name, literal, form in _SHAPED:
        for found in form.finditer(text) if literal in text else ():
            span = found.span("value" if form.groups else 0)
            value = text[span[0] : span[1]]
            if name in _NUMBERED and not _NUMBER.match(decoded(value.partition(".")[0])):
                continue
            if looks_random(value):
                yield Finding(SensitiveKind.SECRET, *span, f"{name} token")
    for found in _AMAZON.finditer(text):
        if " " not in found.group() or _in_groups(found.group().split(" ")):
            yield Finding(SensitiveKind.SECRET, *found.span(), "AWS key id")


def _in_groups(groups: list[str]) -> bool:
    """True if a spaced value is hardly words: a group mixes letters and digits, or each is one character."""
    return any(not each.isalpha() and not each.isdigit() for each in groups[1:]) or all(len(g) == 1 for g in groups[1:])


def sent_passwords(text: str) -> Iterator[Finding]:
    """Yield passwords in URLs, in headers and in commands in a folded text."""
    for found in _URL_PASSWORD.finditer(text) if "://" in text else ():
        if not is_placeholder(found["value"]):
            yield Finding(SensitiveKind.SECRET, *found.span("value"), "password in a URL")
    for found in _BASIC.finditer(text):
        name, colon, word = decoded(found["value"]).partition(b":")
        if name and colon and len(word) >= 4 and word.isascii():
            yield Finding(SensitiveKind.SECRET, *found.span("value"), "password in a header")
    for found in _BEARER.finditer(text):
        if looks_random(found["value"]):
            yield Finding(SensitiveKind.SECRET, *found.span("value"), "token in a header")
    for found in _CURL.finditer(text) if "curl" in text else ():
        if "curl" in text[max(0, found.start() - _COMMAND) : found.start()] and not is_placeholder(found["value"]):
            yield Finding(SensitiveKind.SECRET, *found.span("value"), "password of a command")


# Base64 of '{"', '{ "' or '[{"', up to the end of its run; a dot separates the parts of a web token.
_ENCODED = re.compile(r"(?<![\w/+=-])(?:eyJ|eyAi|ewo|W3si|WyJ)[\w/+=-]{12,}+(?:\.[\w/+=-]*+){0,16}", re.ASCII)
_MEMBER = re.compile(rb'"([\w#]{1,12})"\s{0,4}:')
# Characters; the members that decide are at the beginning, the others follow a key's numbers.
_DECODED = 8_000
_SHORTEST_PART = 8


def encoded_tokens(text: str) -> Iterator[Finding]:
    """Yield web tokens, web keys and tokens of Grafana in a folded text: all are base64 of JSON."""
    for found in _ENCODED.finditer(text):
        head, *rest = found.group().rstrip(".").split(".")
        names = {each.decode() for each in _MEMBER.findall(decoded(head[:_DECODED]))}
        whole, first = found.start() + len(".".join((head, *rest))), found.start() + len(head)
        open_parts = len(rest) > 0 and len(rest[0]) > _SHORTEST_PART and rest[0].startswith("eyJ")
        if open_parts or (len(rest) > 1 and names & {"alg", "enc", "typ", "kid"}):
            yield Finding(SensitiveKind.SECRET, found.start(), whole, "web token")
        elif "kty" in names and names & {"d", "k"}:
            yield Finding(SensitiveKind.PRIVATE_KEY, found.start(), first, "encoded JSON web key")
        elif {"k", "n", "id"} <= names:
            yield Finding(SensitiveKind.SECRET, found.start(), first, "Grafana token")


_BEGIN = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
# The content of a block without an end: base64 in lines or as a quoted string, and the headers of old formats.
_BODY = re.compile(
    r"(?:[\s\"'+,]|\\n|\\r)*+(?:(?:Proc-Type|DEK-Info|Version|Comment):[^\n]{0,80}|[A-Za-z0-9+/=]{6,}+|\\n)"
)
_PUTTY = re.compile(r"PuTTY-User-Key-File-\d: [a-z0-9-]{3,40}+")
# The secret member of a JSON web key.
_WEB_KEY = re.compile(r"[\"'](?:d|k)[\"']\s{0,3}:\s{0,3}[\"'](?P<value>[A-Za-z0-9_-]{20,4000}+={0,2})[\"']")
# Maximum characters of one block; an RSA key of 16384 bits has 12,600.
_LONGEST = 20_000
# The words "PRIVATE KEY" in base64, at each of the three places in a group of four characters.
_ENCODED_NAME = ("UFJJVkFURSBLRVkt", "QUklWQVRFIEtFWS0t", "FBSSVZBVEUgS0VZ")
_BASE64_RUN = re.compile(r"[\w/+=-]{64,}+", re.ASCII)
# A private key without its armour: an ASN.1 sequence (of a length in one to three bytes) that begins with version 0 or
# 1, then a number, the algorithm or the key (PKCS #1, PKCS #8, SEC 1).
_BARE = re.compile(r"(?<![A-Za-z0-9+/])M[A-Za-z0-9+/]{15}(?:[A-Za-z0-9+/]|\\?[\s\"',]|\\[nr]){24,}+={0,2}")
_VERSION = re.compile(rb"\x30(?:[\x10-\x7f]|\x81.|\x82..)\x02\x01[\x00\x01][\x02\x04\x30]", re.DOTALL)


def private_keys(text: str) -> Iterator[Finding]:
    """Yield the private keys in a folded text."""
    yield from _armoured(text)
    for found in _PUTTY.finditer(text):
        mac = text.find("Private-MAC:", found.end(), found.end() + _LONGEST)
        line_end = text.find("\n", mac) if mac >= 0 else found.end()
        yield Finding(SensitiveKind.PRIVATE_KEY, found.start(), line_end if line_end >= 0 else len(text), "PuTTY key")
    if re.search(r"[\"']kty[\"']", text):
        for found in _WEB_KEY.finditer(text):
            yield Finding(SensitiveKind.PRIVATE_KEY, *found.span("value"), "JSON web key")
    if any(name in text for name in _ENCODED_NAME):
        for found in _BASE64_RUN.finditer(text):
            if any(name in found.group() for name in _ENCODED_NAME):
                yield Finding(SensitiveKind.PRIVATE_KEY, *found.span(), "encoded private key")
    for found in _BARE.finditer(text):
        if _VERSION.match(decoded(found.group()[:16])):
            yield Finding(SensitiveKind.PRIVATE_KEY, found.start(), _bare_end(found), "private key")


def _armoured(text: str) -> Iterator[Finding]:
    """Yield the PEM blocks; the ends are searched once, because a text may be full of beginnings."""
    ends: list[int] | None = None
    place = 0
    while begin := _BEGIN.search(text, place):
        if ends is None:
            ends = [found.end() for found in _END.finditer(text)]
        after = bisect_right(ends, begin.end())
        ended = after < len(ends) and ends[after] <= begin.end() + _LONGEST
        place = ends[after] if ended else _body_end(text, begin.end())
        yield Finding(SensitiveKind.PRIVATE_KEY, begin.start(), place, "PEM private key")


def _body_end(text: str, place: int) -> int:
    while body := _BODY.match(text, place):
        place = body.end()
    return place


def _bare_end(found: re.Match[str]) -> int:
    """Return the end of a bare key by its length; words may follow it."""
    head = decoded(found.group()[:16])
    size = head[1] + 2 if head[1] < 0x80 else head[2] + 3 if head[1] == 0x81 else head[2] * 256 + head[3] + 4
    left = -(-size * 4 // 3)
    for part in re.finditer(r"\\[nr]|[A-Za-z0-9+/]", found.group()):
        left -= len(part.group()) == 1
        if not left:
            return found.start() + part.end()
    return found.end()


_RANDOM_TOKEN = re.compile(r"(?<![\w/+=.@-])[A-Za-z0-9][A-Za-z0-9_+/=-]{19,511}(?![\w/+@-])")
_KNOWN = re.compile(
    (
        r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:0x)?[0-9a-fA-F]+|[0-9a-f-]+|\d[\d_/+=-]*|(?:sha\d+|md5)[-:].*|"
        r"iVBOR.*|/9j/.*|R0lGOD.*|UklGR.*|PHN2Z.*|JVBER.*|AAAA[BCE]3N.*"
    ),
)
# Words near other random values: digests, ids, and image data.
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
    """Yield random tokens in a folded text near a word such as "key" or "token", as secrets."""
    for found in _drawn(text):
        if near(text, *found.span(), _OPENS, after=0):
            yield Finding(SensitiveKind.SECRET, *found.span(), "random token near its name")


def suspicious(text: str) -> Iterator[Finding]:
    """Yield the suspicious tokens in a folded text."""
    for found in _drawn(text):
        yield Finding(SensitiveKind.SUSPICIOUS, *found.span(), "random token")


def _drawn(text: str) -> Iterator[re.Match[str]]:
    for found in _RANDOM_TOKEN.finditer(text):
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
