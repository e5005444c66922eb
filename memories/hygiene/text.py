"""Validation of incoming text, and the normalized form in which texts are compared.

`clean_text` returns a text unchanged or rejects it; it never repairs one.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

from django.utils.translation import gettext as _

from memories.errors import InvalidInput
from memoryhub.languages import number

_SURROGATE = re.compile("[\ud800-\udfff]")


def clean_text(value: object, *, field: str, limit: int, required: bool = True) -> str:
    """Return `value` unchanged if it can be stored, else raise InvalidInput naming `field`.

    `limit` is in characters. It rejects values that are not text, NUL characters (PostgreSQL cannot store them), lone
    surrogates (invalid in UTF-8) and, if `required`, text without a visible character.
    """
    if not isinstance(value, str):
        raise InvalidInput(field, _("must be text."))
    if len(value) > limit:
        raise InvalidInput(
            field,
            _("is too long: %(count)s characters, at most %(limit)s are allowed.")
            % {"count": number(len(value)), "limit": number(limit)},
        )
    if "\x00" in value:
        raise InvalidInput(field, _("holds a NUL character; remove it and send again."))
    if _SURROGATE.search(value):
        raise InvalidInput(field, _("holds half of a character (a lone surrogate); send valid Unicode."))
    if required and not has_visible_text(value):
        raise InvalidInput(field, _("is empty; write something."))
    return value


def has_visible_text(value: str) -> bool:
    """True if `value` has a visible character; spaces, controls and format characters are invisible."""
    return any(not (character.isspace() or unicodedata.category(character) in ("Cc", "Cf")) for character in value)


def normalised(text: str) -> str:
    """Normalize a text for comparison: NFKC, case folded, single spaces, no final full stop."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).rstrip(".").rstrip()


def content_hash(*parts: str) -> str:
    """Return the SHA-256 (hex) of the normalized `parts`, used to detect equal texts. Accepts lone surrogates."""
    return hashlib.sha256("\x1f".join(normalised(part) for part in parts).encode(errors="surrogatepass")).hexdigest()
