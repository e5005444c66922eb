"""Finds what a query means literally: quoted strings, versions, error codes, addresses, numbers with units. Pure.

A memory holds a code if it has the code's word pieces one after the other and no longer word in their place. For the
search planes a code is a term of its own, which their tokenizers split as they split the text of a memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memories.recall.late_interaction import Texts
from memories.recall.vocabulary import fold, word_set

MAX_CODES = 8
_MAX_CHARACTERS, _LONGEST = 4_000, 80
_QUOTED = re.compile(
    r"\"([^\"\n]{2,80})\"|“([^”“\n]{2,80})[”“]|„([^“”„\n]{2,80})[“”]|«([^»\n]{2,80})»|(?<!\w)'([^'\n]{2,80})'(?!\w)"
)
_PUNCTUATION = ".,;:!?()[]{}<>\"'“”„«»…¿¡*`|"
_CURRENCIES = "£$€¥₹"
_YEAR = re.compile(r"(?:19|20)\d\d(?:er|s)?")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s|er|ers|o|a|º|ª|x|am|pm|h)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+)")
_UNITS = word_set(
    """
    mg g kg km m cm mm ml cl l gb mb kb tb hz khz mhz ghz w kw kwh v a mah bar psi rpm mph kmh knots inch inches feet ft
    mile miles pound pounds lb lbs oz euro euros dollar dollars percent degrees litre litres liter liters gram grams
    kilo kilos metre metres meter meters watt watts volt volts
    """
)
_SHORTEST_NUMBER = 3


def codes(text: str) -> tuple[str, ...]:
    """Return the distinct codes and quoted strings of a query, in lower case, at most MAX_CODES."""
    text = text[:_MAX_CHARACTERS]
    quoted = [" ".join(next(filter(None, found)).split()) for found in _QUOTED.findall(text)]
    return tuple(dict.fromkeys(each.lower() for each in [*filter(_tells, quoted), *_written(text)]))[:MAX_CODES]


def spellings(code: str) -> tuple[str, ...]:
    """Return the ways to write a code: a version with and without its "v"."""
    version = _VERSION.fullmatch(code)
    return (version[1], f"v{version[1]}") if version else (code,)


def _tells(text: str) -> bool:
    return any(map(str.isalnum, text))


def _written(text: str) -> Iterable[str]:
    """Yield the codes among the words of a text."""
    before = ""
    for word in text.split():
        bare = word.strip(_PUNCTUATION)
        if len(bare) <= _LONGEST:
            if before and fold(bare) in _UNITS:
                yield f"{before} {bare}"
            elif _is_code(bare):
                yield bare
        before = bare if _NUMBER.fullmatch(bare) else ""


def _is_code(word: str) -> bool:
    """True for what is neither a word nor a usual number: "E4012", "3.2.1", "ERR_CONN", "£415", "/etc/hosts"."""
    if not any(map(str.isalnum, word)):
        return False
    if _NUMBER.fullmatch(amount := word.strip(_CURRENCIES)):
        return amount != word or not amount.isdigit() or (len(word) >= _SHORTEST_NUMBER and not _YEAR.fullmatch(word))
    if any(map(str.isdigit, word)):
        return not (_ORDINAL.fullmatch(fold(word)) or _YEAR.fullmatch(fold(word)))
    inside = word.strip("_")
    return "_" in inside or "@" in inside or "\\" in word or word.count("/") > 1 or word.startswith(("/", "~/"))


def holds(texts: Texts, sequence: Sequence[int], continues: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """For each text, tell whether it has these pieces one after the other; `continues` marks ends of longer words."""
    held = np.zeros(len(texts), np.bool_)
    pieces, length = texts.pieces, len(sequence)
    if not length or length > len(pieces):
        return held
    first = np.flatnonzero(pieces[: len(pieces) - length + 1] == sequence[0])
    for offset in range(1, length):
        first = first[pieces[first + offset] == sequence[offset]]
    of_text = np.searchsorted(texts.starts, first, side="right") - 1
    after, ends = first + length, np.append(texts.starts[1:], len(pieces))[of_text]
    longer = (after < ends) & continues[pieces[np.minimum(after, len(pieces) - 1)]]
    held[of_text[(after <= ends) & ~longer]] = True
    return held


def share_held(
    texts: Texts, wanted: Sequence[Sequence[NDArray[np.uint16]]], continues: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Return for each text the share of the `wanted` that it holds, each in one of its spellings."""
    count = np.zeros(len(texts), np.float32)
    for spelt in wanted:
        count += np.logical_or.reduce([holds(texts, pieces.tolist(), continues) for pieces in spelt])
    return count / np.float32(max(len(wanted), 1))
