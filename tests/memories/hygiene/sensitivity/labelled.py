"""The labelled texts: what people type that must not be stored, with valid check digits, and what only looks like it.

`labelled.jsonl` has a text in each line: its part ("held out" or "developed"), then its pieces. A piece is plain text
or a value by the function of `values.py` that makes it, so that no token of a vendor's form stands in a file. A third
was written before the rules or once they were finished, and no rule was tuned on it (`held_out`).
`python -m benchmarks.sensitivity` counts both parts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memories.types import SensitiveKind
from tests.memories.hygiene.sensitivity import values as v

HELD_OUT = "held out"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text; `kinds` is empty for a harmless one. `spots` are the values: kind, start, end."""

    text: str
    kinds: frozenset[SensitiveKind]
    spots: tuple[tuple[SensitiveKind, int, int], ...] = ()
    held_out: bool = False

    @property
    def values(self) -> tuple[str, ...]:
        """The sensitive values as they stand in the text."""
        return tuple(self.text[start:end] for _, start, end in self.spots)


def _labelled(parts: Iterable[str | v.Value], *, held_out: bool) -> Labelled:
    text = ""
    spots = []
    for part in parts:
        if isinstance(part, v.Value):
            spots.append((part.kind, len(text), len(text) + len(part.text)))
            text += part.text
        else:
            text += part
    return Labelled(text, frozenset(kind for kind, _, _ in spots), tuple(spots), held_out)


def _made(piece: Any) -> Any:
    """A piece of a text: `{"github": ["ghp", 1]}` is `values.github("ghp", 1)`; "join" joins texts."""
    if not isinstance(piece, dict):
        return piece
    options = {name: _made(value) for name, value in piece.pop("with", {}).items()}
    ((name, arguments),) = piece.items()
    match name:
        case "join":
            return "".join(map(_made, arguments))
        case "name":
            return getattr(v, arguments)
        case "kind":
            return SensitiveKind(arguments)
    return getattr(v, name)(*map(_made, arguments), **options)


# Values in disguise, which take more than a call: held out, what stands before, the kind, the value, what comes after.
_CARD, _ACCOUNT, _SECRET, _KEY = (
    SensitiveKind.PAYMENT_CARD, SensitiveKind.BANK_ACCOUNT, SensitiveKind.SECRET, SensitiveKind.PRIVATE_KEY,
)  # fmt: skip
_VISA, _TOKEN, _IBAN = "411111111111111", v.github("ghp", 300).text, v.iban("NL", "ABNA0417164300").text
_WRAPPED = v.github("ghp", 301).text
_ARABIC = {48 + n: 1632 + n for n in range(10)}
_DISGUISED: tuple[tuple[bool, str, SensitiveKind, str, str], ...] = (
    (True, "Full-width: ", _CARD, v.card("453201511283036").text.translate(v.WIDE), " there"),
    (True, "card ", _CARD, v.card("453201511283036", "4444", "\u200b").text, " ok?"),
    (True, "iban ", _ACCOUNT, v.iban("DE", "370400440532013000", "\xa0").text, ""),
    (False, "one line: ", _KEY, v.private_key("PRIVATE", 3, 140).text.replace("\n", "\\n"), ""),
    (False, "the end is missing\n", _KEY, v.private_key("RSA PRIVATE", 3, 150).text.split("\n-----END")[0], ""),
    (False, "it's ", _ACCOUNT, v.iban("FI", "12345600000785", " ").text.lower(), ""),
    (False, "pay with ", _CARD, v.card(_VISA).text.translate(v.WIDE), ""),
    (False, "4-by-4 ", _CARD, v.card("545454545454545", "4444", "\u2009").text, ""),
    (False, "digits ", _CARD, v.card(_VISA, "1" * 16, " ").text, ""),
    (False, "soft ", _CARD, v.card(_VISA, "88", "\xad").text, ""),
    (False, "dash ", _CARD, v.card(_VISA, "4444", "–").text, ""),
    (False, "arabic ", _CARD, v.card(_VISA).text.translate(_ARABIC), ""),
    (False, "iban ", _ACCOUNT, v.iban("DE", "500105175407324931", "\u202f").text, ""),
    (False, "iban ", _ACCOUNT, "\u200b".join(v.iban("FR", "20041010050500013M02606").text), ""),
    (False, "token ", _SECRET, f"{_TOKEN[:12]}\u200b{_TOKEN[12:]}", ""),
    (False, "wrapped ", _SECRET, f"{_WRAPPED[:12]}\n{_WRAPPED[12:]}", ""),
    (False, "wrapped ", _ACCOUNT, f"{_IBAN[:9]}\n{_IBAN[9:]}", ""),
)


def _read() -> Iterable[Labelled]:
    for line in (Path(__file__).parent / "labelled.jsonl").read_text(encoding="utf-8").splitlines():
        part, *pieces = json.loads(line)
        yield _labelled(map(_made, pieces), held_out=part == HELD_OUT)
    for held_out, before, kind, value, behind in _DISGUISED:
        yield _labelled((before, v.Value(kind, value), behind), held_out=held_out)


LABELLED: tuple[Labelled, ...] = tuple(_read())
