"""Questions that ask for more than one thing, taken apart so that each half is answered.

Invariant: what cannot be taken apart safely stays whole.
"""

from __future__ import annotations

import re

from memories.english.text import capitalised, content_words, sentences

_ASKS = r"(?:who|whom|whose|what|when|where|which|how|why|do|does|did|is|are|am|was|were|have|has)\b"
# Begins where a run of spaces does and never gives one back: a long run is read once.
_AND = re.compile(rf"(?:[,;]|(?<!\s))\s++(?:and|or)\s++(?:also\s++)?(?={_ASKS})|;\s++(?={_ASKS})", re.IGNORECASE)
# "Where do I live and work?" asks twice with one beginning.
_TWICE = re.compile(
    r"(?P<asks>(?:where|when|how|what|who|which \w+) (?:do|did|have) (?:i|we)) (?P<one>\w+) and (?P<other>\w+)\s*\?*$",
    re.IGNORECASE,
)


def parts(question: str) -> list[str]:
    """The questions in a text, each by itself."""
    return [part for sentence in sentences(question) for part in _halves(sentence)]


def _halves(sentence: str) -> list[str]:
    if match := _TWICE.match(sentence.strip()):
        return [f"{match['asks']} {match[name]}?" for name in ("one", "other")]
    halves = [capitalised(half.strip()) for half in _AND.split(sentence)]
    if len(halves) == 1 or not all(content_words(half) for half in halves):
        return [sentence]
    return [half if half.endswith("?") else f"{half.rstrip('.,!')}?" for half in halves]
