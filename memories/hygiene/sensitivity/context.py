"""Shared parts of the detectors: folded text, words near a value, and the entropy of a token.

Folding removes disguises: full-width and other digits become 0 to 9, unusual spaces and dashes become plain ones,
invisible characters are dropped, and a label from an earlier masking becomes one BLANK, which is part of no value.
Every range of a folded text maps back to the original range.
"""

from __future__ import annotations

import math
import re
import unicodedata
from base64 import urlsafe_b64decode
from binascii import Error as NotBase64
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memories.hygiene.sensitivity.findings import Finding, label
from memories.types import SensitiveKind

# Replaces labels and values already found; no detector's pattern matches it.
BLANK = "\ufffc"
UUID_FORM = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
UUID = re.compile(rf"(?<![\w-]){UUID_FORM}(?![\w-])")
_UUID_LENGTH = 36
_LABEL = re.compile("|".join(re.escape(label(kind)) for kind in SensitiveKind))
# Invisible although Unicode classifies them as letters or marks: Hangul fillers, the joiner, variation selectors.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180e\u3164\uffa0\ufe00-\ufe0f]")
# The longest expansion of a character into plain ones. Of a longer one with digits, "(20)" or "20日", the digits count;
# the others are Arabic phrases, fractions of a second and compound units, and the longest would make a text 18 times as
# long.
_LONGEST = 2
_QUOTES = {"‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'}


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text; `text[i]` comes from the characters `starts[i]` to `ends[i]` of the original.

    Its repr hides the text.
    """

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def __repr__(self) -> str:
        return f"<Folded: {len(self.text)} characters>"

    def original(self, finding: Finding) -> Finding:
        """Map a finding in the folded text to the original."""
        return finding.moved(self.starts[finding.start], self.ends[finding.end - 1])

    def without(self, ranges: Iterable[tuple[int, int]]) -> Folded:
        """Replace each range with one BLANK; the ranges must be sorted and must not overlap."""
        text: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        done = 0
        for start, end in ranges:
            text += [self.text[done:start], BLANK]
            starts += [*self.starts[done:start], self.starts[start]]
            ends += [*self.ends[done:start], self.ends[end - 1]]
            done = end
        return Folded("".join([*text, self.text[done:]]), [*starts, *self.starts[done:]], [*ends, *self.ends[done:]])


def fold(text: str) -> Folded:
    """Remove disguises from `text` and replace labels with BLANK."""
    if text.isascii():
        folded = Folded(text, range(len(text)), range(1, len(text) + 1))
    else:
        pieces = [*_pieces(text)]
        places = [place for place, piece in enumerate(pieces) for _ in piece]
        folded = Folded("".join(pieces), places, [place + 1 for place in places])
    labels = [found.span() for found in _LABEL.finditer(folded.text)]
    return folded.without(labels) if labels else folded


def _pieces(text: str) -> Iterator[str]:
    """Yield the plain characters of each character; a mark drawn over a digit is dropped."""
    after_digit = False
    for character in text:
        piece = "" if after_digit and unicodedata.combining(character) else _plain(character)
        after_digit = piece[-1:].isdigit() if piece else after_digit
        yield piece


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    """Return the plain characters that a character represents, possibly none."""
    if character.isascii():
        return character
    if character in _QUOTES:
        return _QUOTES[character]
    category = unicodedata.category(character)
    if category in {"Cf", "Me"} or _INVISIBLE.match(character):
        return ""
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category in {"Zl", "Zp"} or character == "\x85":
        return "\n"
    if category == "Zs":
        return " "
    if category == "Pd" or character == "−":
        return "-"
    plain = unicodedata.normalize("NFKC", character)
    if len(plain) > _LONGEST:
        plain = "".join(filter(str.isdecimal, plain))[:_LONGEST] or character
    return plain.replace(BLANK, " ")


# Letters and digits of scripts that separate words with spaces. In Chinese or Japanese a number directly follows its
# name.
LETTERS = r"A-Za-z0-9\u00aa-\u024f\u0370-\u05ff"
# Characters before and after a value in which its name is searched: about a clause.
BEFORE = 48
AFTER = 28


def near(text: str, start: int, end: int, words: str, *, before: int = BEFORE, after: int = AFTER) -> bool:
    """True if one of `words` (a pattern) occurs as a whole word near `start` to `end`, ignoring case."""
    pattern = _pattern(words)
    left = text[max(0, start - before) : start]
    return bool(pattern.search(left) or pattern.search(text, end, min(len(text), end + after)))


def mentions(text: str, words: str) -> bool:
    """True if one of `words` (a pattern) occurs as a whole word anywhere, ignoring case."""
    return _pattern(words).search(text) is not None


def in_uuid(text: str, start: int, end: int) -> bool:
    """True if `start` to `end` is a part of a UUID. The digits of one in 24,000 random ones would pass for a card."""
    around = UUID.finditer(text, max(0, start - _UUID_LENGTH), end + _UUID_LENGTH + 1)
    return any(found.start() <= start and end <= found.end() for found in around)


def alone(form: str, text: str, start: int = 0, end: int | None = None, *, flags: int = 0) -> Iterator[re.Match[str]]:
    """Yield matches of `form` (a pattern) between `start` and `end` that are not part of a word, number or path.

    Several matches may be separated by slashes, or follow an earlier finding: "536-90-4399/…".
    """
    first, next_one = _alone(form, flags)
    end = len(text) if end is None else end
    for begins in first.finditer(text, start, end):
        found: re.Match[str] | None = begins
        while found:
            yield found
            found = next_one.match(text, found.end() + 1, end) if text.startswith("/", found.end(), end) else None


@lru_cache(maxsize=256)
def _alone(form: str, flags: int) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile `form` for a match that starts a value, and for one that follows a slash."""
    word, fraction = rf"[{LETTERS}_-]", r"[.,]\d"
    whole = rf"(?:{form})(?:(?!/|{word}|{fraction})|(?=/(?:{BLANK}|(?:{form})(?!{word}|{fraction}))))"
    return re.compile(rf"(?:(?<![{LETTERS}_.,/-])|(?<={BLANK}/)){whole}", flags), re.compile(whole, flags)


@lru_cache(maxsize=256)
def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![{LETTERS}])(?:{words})(?![{LETTERS}])", re.IGNORECASE)


def decoded(value: str) -> bytes:
    """Decode base64 of either alphabet, padded or not; empty if it is none."""
    plain = value.rstrip("=").replace("+", "-").replace("/", "_")
    try:
        return urlsafe_b64decode(plain[: len(plain) - (len(plain) % 4 == 1)] + "==")
    except (NotBase64, ValueError):
        return b""


_PLACEHOLDER = re.compile(
    r"(?i)x{4,}|\*{3,}|\.{3,}|your[-_ ]?|example|placeholder|redacted|removed|changeme|insert|dummy|"
    r"sample|0{8,}|1234567890abcdef$"
)

_STANDS_FOR = re.compile(
    r"(?i)(?:pass(?:word)?|pwd|secret|token|user(?:name)?|your[_-].*|x{3,}|\*+|\.{3,}|<.*|\[.*|%.*|"
    r"changeme|example|redacted)\d*$"
)


def is_placeholder(value: str) -> bool:
    """True for a placeholder in an example: `password`, `xxxx`, `<token>`."""
    return bool(_STANDS_FOR.match(value))


def bits(value: str) -> float:
    """Return the Shannon entropy per character, in bits."""
    count = len(value)
    return -sum(n / count * math.log2(n / count) for n in Counter(value).values()) if count else 0.0


def classes(value: str) -> int:
    """Count which of lower-case letters, capitals, digits and signs occur."""
    return sum(bool(re.search(pattern, value)) for pattern in (r"[a-z]", r"[A-Z]", r"\d", r"[^A-Za-z0-9]"))


def looks_random(value: str, *, may_be_words: bool = False) -> bool:
    """True if `value`, a token after its prefix, is neither a placeholder nor, unless it may be, made of words."""
    if len(value) < 10 or _PLACEHOLDER.search(value):
        return False
    mixed = bool(re.search(r"\d", value)) or (value != value.lower() and value != value.upper())
    return mixed and bits(value) >= 2.8 and (may_be_words or not _is_words(value))


# Of 40,000 random keys of 24 characters, one in 280 has long enough runs of one case to pass for words without this.
_UNSPEAKABLE = re.compile(r"[b-df-hj-np-tv-xz]{4}|(?<![a-z])[b-df-hj-np-tv-xz]{3}(?![a-z])", re.IGNORECASE)


def _is_words(value: str) -> bool:
    """True for words and small numbers, such as `tokens-for-testing-2` or `TokensForTesting2`."""
    if _UNSPEAKABLE.search(value):
        return False
    parts = [part for part in re.split(r"[-_.=]", value) if part]
    if len(parts) > 1:
        return all(re.fullmatch(r"\d{1,4}|[a-z]{1,12}|[A-Z][a-z]{1,12}|[A-Z]{1,12}", part) for part in parts)
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", value)
    return len(value) - sum(map(len, words)) <= 2 and bool(words) and len(value) / len(words) >= 3.5
