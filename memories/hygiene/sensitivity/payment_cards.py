"""Payment cards: a number of an issuer's range and length with a valid check digit, written as cards are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stdnum import luhn

from memories.hygiene.sensitivity.context import LETTERS
from memories.hygiene.sensitivity.findings import Finding
from memories.types import SensitiveKind
from memoryhub.regexes import lazy_regex

# Digits with at most three separating characters between them.
_RUN = lazy_regex(rf"(?<![{LETTERS}])\d(?:[ \t\n.,/_*|-]{{0,3}}\d){{12,}}(?![{LETTERS}])")
_GROUP = lazy_regex(r"\d+")
# First digits and lengths (ISO/IEC 7812 ranges as the schemes publish them). Ranges are of equal length.
_ISSUERS: Sequence[tuple[str, str, frozenset[int]]] = (
    ("34", "34", frozenset({15})),  # American Express
    ("37", "37", frozenset({15})),
    ("300", "305", frozenset({14, 16})),  # Diners Club
    ("36", "36", frozenset({14, 16})),
    ("38", "39", frozenset({14, 16})),
    ("3528", "3589", frozenset({16})),  # JCB
    ("4", "4", frozenset({13, 16, 19})),  # Visa
    ("50", "50", frozenset({16, 18, 19})),  # Maestro, Verve, Elo
    ("51", "55", frozenset({16})),  # Mastercard
    ("2221", "2720", frozenset({16})),
    ("56", "58", frozenset({16, 18, 19})),  # Maestro
    ("6011", "6011", frozenset({16, 19})),  # Discover
    ("60", "65", frozenset({16, 17, 18, 19})),  # Discover, UnionPay, RuPay, Maestro, Elo
    ("67", "67", frozenset({16, 18, 19})),  # Maestro
    ("81", "82", frozenset({16})),  # RuPay, UnionPay
    ("2200", "2204", frozenset({16})),  # Mir
    ("9792", "9792", frozenset({16})),  # Troy
)
_NO_FIRST = frozenset("017")
# Digits in each group, where not all groups are of one length or of fours: American Express, Diners Club, long Maestro.
_SHAPES = frozenset({(4, 6, 5), (4, 6, 4), (6, 13), (6, 10), (4, 11), (10, 5), (4, 10), (10, 4)})
# Unbroken numbers of these lengths are as often something else: said to be a card, or not taken.
_RARE = frozenset({13, 14, 17, 18, 19})
_CARD_WORD = lazy_regex(
    r"(?i)\b(?:card|visa|master ?card|maestro|amex|american express|diners|discover|union ?pay|jcb|credit|debit|cc|"
    r"kreditkarte|karte|tarjeta|cart[aãe]o?|carte|carta|kaart|kort|karta|cvv|cvc|expir|exp)"
)
_NEAR = 60


def payment_cards(text: str) -> Iterator[Finding]:
    """The card numbers in a folded text."""
    for run in _RUN.finditer(text):
        groups = [found.span() for found in _GROUP.finditer(text, run.start(), run.end())]
        first = 0
        while first < len(groups):
            last = _card_from(text, groups, first)
            if last is None:
                first += 1
                continue
            yield Finding(SensitiveKind.PAYMENT_CARD, groups[first][0], groups[last][1], "payment card")
            first = last + 1


def _card_from(text: str, groups: Sequence[tuple[int, int]], first: int) -> int | None:
    """The last group of the card that begins with group `first`, if one does."""
    if text[groups[first][0]] in _NO_FIRST:
        return None
    digits = ""
    shape: tuple[int, ...] = ()
    found = None
    for last in range(first, min(first + 19, len(groups))):
        start, end = groups[last]
        digits += text[start:end]
        shape += (end - start,)
        if len(digits) > 19:
            break
        if len(digits) >= 13 and _is_card(digits, shape) and _fits(text, groups[first][0], end, shape):
            found = last
    return found


def _is_card(digits: str, shape: tuple[int, ...]) -> bool:
    written = shape in _SHAPES or len(set(shape)) == 1 or all(length % 4 == 0 for length in shape[:-1])
    return (
        written
        and any(low <= digits[: len(low)] <= high and len(digits) in lengths for low, high, lengths in _ISSUERS)
        and luhn.is_valid(digits)
        and len(set(digits)) > 1
    )


def _fits(text: str, start: int, end: int, shape: tuple[int, ...]) -> bool:
    if len(shape) > 1 or end - start not in _RARE:
        return True
    return bool(_CARD_WORD.search(text, max(0, start - _NEAR), end + _NEAR))
