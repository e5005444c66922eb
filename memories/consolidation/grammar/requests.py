"""Requests to the memory itself: remember this, forget that, remind me to do it.

Invariant: a request names what it is about in words of its own; "remember me?" and "I forgot my keys" are none.
"""

from __future__ import annotations

import re

from memoryhub.regexes import lazy_regex

# A request in the form of a question is a request.
POLITE = lazy_regex(
    r"^((?:can|could|would|will) you (?:please )?(?:remember that|note that|keep in mind)\b.*?)\?+$", re.IGNORECASE
)
_ASKING = r"(?:(?:please|can you|could you|would you|will you|i want you to|i'd like you to|you should|always)\s+)*"
FORGET = lazy_regex(
    rf"{_ASKING}(?:forget|(?:delete|erase)(?=\s+(?:that|this)[.!]*$)"
    r"|(?:delete|erase|remove)(?=\s+(?:my\b|what i\b|the memor|the fact\b|everything\b)))\s+"
    r"(?!(?:to|it anyway)\b)(?P<about>(?:(?!\bfrom\b).)+?)(?:\s+from (?:your )?memory)?[.!?]*$",
    re.IGNORECASE,
)
TO_DO = lazy_regex(
    rf"{_ASKING}(?:remember|don't forget|do not forget|remind me)\s+to\s+(?P<what>\w.+?)[.!?]*$", re.IGNORECASE
)
_KEEP = r"(?:remember|memori[sz]e|don't forget|do not forget|keep in mind|bear in mind|note|take note|make a note)"
REMEMBER_THAT = lazy_regex(
    rf"{_ASKING}{_KEEP}(?:\s*:\s*|\s+this\s*:\s*|\s*,?\s+that\s*:?\s+)(?!(?:time|day|night|one|trip|song|guy)\b)(?P<what>\w.*)$",
    re.IGNORECASE,
)
REMEMBER = lazy_regex(rf"{_ASKING}{_KEEP}\s+(?P<what>(?:i|i'm|i've|we|we're|my|our)\b.*[^?])$", re.IGNORECASE)
MEMORIES_SHARED = lazy_regex(r"(?:me|us|when|how|where|who|what|why|the time|last)\b", re.IGNORECASE)
HAS_VERB = lazy_regex(
    r"\b(?:is|are|am|was|were|has|have|had|likes?|loves?|hates?|needs?|wants?|prefers?|uses?|goes?|go)\b|'[sm]\b|'re\b|'ve\b"
)
