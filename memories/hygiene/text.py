"""Checks of incoming text, and the form in which two texts count as equal.

`clean_text` returns a text verbatim or refuses it; it never repairs one.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

from memories.errors import InvalidInput

_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"\s+")


def clean_text(value: object, *, field: str, limit: int, required: bool = True) -> str:
    """Return `value` unchanged if it can be stored, else raise InvalidInput naming `field`.

    `limit` is in characters. Refused: values that are no text, NUL characters (PostgreSQL cannot hold them), lone
    surrogates (no valid UTF-8), and, if `required`, text without a visible character.
    """
    if not isinstance(value, str):
        raise InvalidInput(field, "must be text.")
    if len(value) > limit:
        raise InvalidInput(field, f"is too long: {len(value):,} characters, at most {limit:,} are allowed.")
    if "\x00" in value:
        raise InvalidInput(field, "holds a NUL character; remove it and send again.")
    if _SURROGATE.search(value):
        raise InvalidInput(field, "holds half of a character (a lone surrogate); send valid Unicode.")
    if required and not has_visible_text(value):
        raise InvalidInput(field, "is empty; write something.")
    return value


def has_visible_text(value: str) -> bool:
    """True if a character of `value` is visible; spaces, controls and format characters are not."""
    return any(not (character.isspace() or unicodedata.category(character) in ("Cc", "Cf")) for character in value)


def normalised(text: str) -> str:
    """The form in which two texts count as the same: NFKC, case folded, single spaces, no closing full stop."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _SPACE.sub(" ", folded).strip().rstrip(".").rstrip()


def content_hash(*parts: str) -> str:
    """sha256 (hex) of the normalised `parts`; the hash gate compares it. Texts that cannot be stored have one too."""
    return hashlib.sha256("\x1f".join(normalised(part) for part in parts).encode(errors="surrogatepass")).hexdigest()
