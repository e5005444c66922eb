"""Language-independent word splitting for any script.

Scripts without spaces between words (Chinese, Japanese, Thai and others) are split into overlapping pairs of letters,
so that a word in a query matches the same pairs in a text.
"""

from __future__ import annotations

import re
import unicodedata

# Han, Hiragana, Katakana, Hangul, Thai, Lao, Khmer, Myanmar, and the compatibility ideographs.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(rf"[{_UNSPACED}]+")
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_GRAMMAR = re.compile(r"[\u3040-\u309f]+")


def folded(text: str) -> str:
    """`text` normalised to NFKC and case folded."""
    return unicodedata.normalize("NFKC", text).casefold()


def words(text: str) -> list[str]:
    """The words of `text` in order, folded. A run of an unspaced script is returned as overlapping pairs."""
    return [word for run in _WORD.findall(folded(text)) for word in (_pairs(run) if _RUN.match(run) else (run,))]


def spaced(text: str) -> str:
    """`text` in NFKC with runs of unspaced scripts split into pairs, for an index that splits at spaces."""
    return _RUN.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", unicodedata.normalize("NFKC", text))


def is_unspaced(text: str) -> bool:
    """Whether `text` contains a script that writes no spaces."""
    return _RUN.search(unicodedata.normalize("NFKC", text)) is not None


def is_grammar(word: str) -> bool:
    """Whether a word is all hiragana, which in Japanese mostly carries grammar."""
    return _GRAMMAR.fullmatch(word) is not None


def _pairs(run: str) -> list[str]:
    return [run[place : place + 2] for place in range(len(run) - 1)] or [run]
