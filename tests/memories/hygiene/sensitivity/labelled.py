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


# Values in disguise, which take more than a call.
_DISGUISED: tuple[tuple[bool, tuple[str | v.Value, ...]], ...] = (
    (
        True,
        (
            "Full-width: ",
            v.Value(SensitiveKind.PAYMENT_CARD, v.card("453201511283036").text.translate(v.WIDE)),
            " there",
        ),
    ),
    (True, ("card ", v.Value(SensitiveKind.PAYMENT_CARD, v.card("453201511283036", "4444", "\u200b").text), " ok?")),
    (True, ("iban ", v.Value(SensitiveKind.BANK_ACCOUNT, v.iban("DE", "370400440532013000", "\xa0").text))),
    (
        False,
        ("one line: ", v.Value(SensitiveKind.PRIVATE_KEY, v.private_key("PRIVATE", 3, 140).text.replace("\n", "\\n"))),
    ),
    (
        False,
        (
            "the end is missing\n",
            v.Value(SensitiveKind.PRIVATE_KEY, v.private_key("RSA PRIVATE", 3, 150).text.split("\n-----END")[0]),
        ),
    ),
    (False, ("it's ", v.Value(SensitiveKind.BANK_ACCOUNT, v.iban("FI", "12345600000785", " ").text.lower()))),
    (False, ("pay with ", v.Value(SensitiveKind.PAYMENT_CARD, v.card("411111111111111").text.translate(v.WIDE)))),
    (False, ("4-by-4 ", v.Value(SensitiveKind.PAYMENT_CARD, v.card("545454545454545", "4444", "\u2009").text))),
    (False, ("digits ", v.Value(SensitiveKind.PAYMENT_CARD, v.card("411111111111111", "1" * 16, " ").text))),
    (False, ("soft ", v.Value(SensitiveKind.PAYMENT_CARD, v.card("411111111111111", "88", "\xad").text))),
    (False, ("dash ", v.Value(SensitiveKind.PAYMENT_CARD, v.card("411111111111111", "4444", "–").text))),
    (
        False,
        (
            "arabic ",
            v.Value(
                SensitiveKind.PAYMENT_CARD,
                v.card("411111111111111").text.translate({48 + n: 1632 + n for n in range(10)}),
            ),
        ),
    ),
    (False, ("iban ", v.Value(SensitiveKind.BANK_ACCOUNT, v.iban("DE", "500105175407324931", "\u202f").text))),
    (
        False,
        ("iban ", v.Value(SensitiveKind.BANK_ACCOUNT, "\u200b".join(v.iban("FR", "20041010050500013M02606").text))),
    ),
    (
        False,
        (
            "token ",
            v.Value(
                SensitiveKind.SECRET, "\u200b".join((v.github("ghp", 300).text[:12], v.github("ghp", 300).text[12:]))
            ),
        ),
    ),
    (
        False,
        (
            "wrapped ",
            v.Value(SensitiveKind.SECRET, v.github("ghp", 301).text[:12] + "\n" + v.github("ghp", 301).text[12:]),
        ),
    ),
    (
        False,
        (
            "wrapped ",
            v.Value(
                SensitiveKind.BANK_ACCOUNT,
                v.iban("NL", "ABNA0417164300").text[:9] + "\n" + v.iban("NL", "ABNA0417164300").text[9:],
            ),
        ),
    ),
)


def _read() -> Iterable[Labelled]:
    for line in (Path(__file__).parent / "labelled.jsonl").read_text(encoding="utf-8").splitlines():
        part, *pieces = json.loads(line)
        yield _labelled(map(_made, pieces), held_out=part == HELD_OUT)
    for held_out, parts in _DISGUISED:
        yield _labelled(parts, held_out=held_out)


LABELLED: tuple[Labelled, ...] = tuple(_read())
