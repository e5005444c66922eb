"""Text that arrives in pieces, made storable: no NUL, no halves of characters.

Invariant: what comes out encodes to UTF-8 and fits a PostgreSQL text column, whatever the model sent.
"""

from __future__ import annotations

from typing import Any

_HIGH_SURROGATES = ("\ud800", "\udbff")


class StreamedText:
    """Joins characters that were split between two pieces (JSON escapes of emoji arrive so)."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """The storable text of the next piece; an open half is held back until its other half arrives."""
        piece = self._held + piece
        first, last = _HIGH_SURROGATES
        held = bool(piece) and first <= piece[-1] <= last
        self._held = piece[-1] if held else ""
        return storable(piece[:-1] if held else piece)


def storable(text: str) -> str:
    """`text` without NUL; pairs of surrogates become their character, lone ones U+FFFD."""
    return text.replace("\x00", "").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def storable_json(value: Any) -> Any:
    """The same for every string in a JSON value, names of members too."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [storable_json(item) for item in value]
    if isinstance(value, dict):
        return {storable(name): storable_json(item) for name, item in value.items()}
    return value
