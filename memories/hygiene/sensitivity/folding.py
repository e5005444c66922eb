"""Folding: a text as the detectors read it, whatever disguise its characters wear, and the way back.

Full-width and other digits become 0 to 9, odd spaces and dashes plain ones, what has no width disappears. What was
masked before is one BLANK, which is part of no value. Invariant: every range of a folded text maps back to the range
of the original that it was made from.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from memories.hygiene.sensitivity.findings import Finding, label
from memories.types import SensitiveKind

# Stands where a label stands or a value was found; no detector's pattern takes it.
BLANK = "\ufffc"
_LABEL = re.compile("|".join(re.escape(label(kind)) for kind in SensitiveKind))
# Drawn as nothing although Unicode calls them letters or marks: Hangul fillers, the joiner, variation selectors.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180e\u3164\uffa0\ufe00-\ufe0f]")
# Plain characters that one may stand for: "(20)" has four. The nineteen with more are Arabic phrases and units written
# in one sign ("rad/s"): none says a number or a letter of a secret, and the longest would make a text 18 times as long.
_LONGEST = 4
_QUOTES = {"‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'}


@dataclass(frozen=True, slots=True)
class Folded:
    """`text[i]` was made from the characters `starts[i]` to `ends[i]` of the original. Never shown."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def __repr__(self) -> str:
        return f"<Folded: {len(self.text)} characters>"

    def original(self, finding: Finding) -> Finding:
        """The finding in the folded text as one in the original."""
        return replace(finding, start=self.starts[finding.start], end=self.ends[finding.end - 1])

    def without(self, ranges: Iterable[tuple[int, int]]) -> Folded:
        """The text with each range (in order, apart) as one BLANK."""
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
    """`text` with disguises undone and labels blanked."""
    if text.isascii():
        folded = Folded(text, range(len(text)), range(1, len(text) + 1))
    else:
        pieces = [_plain(character) for character in text]
        places = [place for place, piece in enumerate(pieces) for _ in piece]
        folded = Folded("".join(pieces), places, [place + 1 for place in places])
    labels = [found.span() for found in _LABEL.finditer(folded.text)]
    return folded.without(labels) if labels else folded


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    """What a character says: nothing, itself, or up to a few plain ones."""
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
    return plain.replace(BLANK, " ") if len(plain) <= _LONGEST else character
