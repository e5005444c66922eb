"""Bank accounts: IBANs wherever they stand; national forms near words that name them; numbers that check.

Payment cards: a number of an issuer's range and length with a valid check digit, written as cards are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from stdnum import luhn

from memories.hygiene.sensitivity.context import LETTERS, alone, near
from memories.hygiene.sensitivity.findings import Finding
from memories.types import SensitiveKind

# Not "in any case": as an expression takes it, that has letters outside A to Z.
_IBAN = re.compile(rf"(?<![{LETTERS}])[A-Za-z]{{2}}[ -]?\d{{2}}(?:[ .\n-]{{0,2}}[A-Za-z0-9]){{11,32}}")
_SHORTEST, _LONGEST = 15, 34
# Modules of python-stdnum, the forms that they check, and the words without which a form says nothing.
_NATIONAL = (
    ("es.ccc", r"\d{4}[ -]?\d{4}[ -]?\d{2}[ -]?\d{10}", r"ccc|cuenta|account"),
    ("ar.cbu", r"\d{8} ?\d{14}", r"cbu|cuenta|account"),
    ("no.kontonr", r"\d{4}[. ]?\d{2}[. ]?\d{5}", r"konto(?:nr|nummer)?\.?|account"),
    ("nz.bankaccount", r"\d{2}-\d{4}-\d{7}-\d{2,3}", r"account|acc|acct|bank|anz|bnz|asb|westpac|kiwibank"),
    ("cz.bankaccount", r"(?:\d{1,6}-)?\d{2,10}/\d{4}", r"[uú][cč]e?t\w*|[cč]\. ?[uú]\.?|account"),
)
_ROUTING = re.compile(r"(?<![\w-])\d{9}(?![\w-])")
_ACCOUNT = re.compile(r"(?<![\w-])\d{6,17}(?![\w-])")
_ACCOUNT_WORD = r"acc(?:oun)?t\.?(?: (?:number|no\.?|#))?|a/c|checking|savings"
_SORT_CODE = re.compile(r"(?<![\w-])\d{2}[- ]?\d{2}[- ]?\d{2}(?![\w-])")
_EIGHT = re.compile(r"(?<![\w-])\d{4} ?\d{4}(?![\w-])")
# A sort code or routing number and the account that it goes with are this near each other, in characters.
_PAIR = 80


def bank_accounts(text: str) -> Iterator[Finding]:
    """The bank accounts in a folded text."""
    place = 0
    while found := _IBAN.search(text, place):
        end = _iban_end(found)
        place = end or found.start() + 1  # "at 12 DE89 ..." begins like one, and hides the one that follows
        if end:
            yield Finding(SensitiveKind.BANK_ACCOUNT, found.start(), end, "IBAN")
    for module, form, words in _NATIONAL:
        for found in alone(form, text):
            if near(text, *found.span(), words) and _module(module).is_valid(found.group()):
                yield Finding(SensitiveKind.BANK_ACCOUNT, *found.span(), module)
    yield from _american(text)
    yield from _british(text)


def load() -> None:
    """Import the number modules now."""
    for module in ("iban", "us.rtn", *(module for module, _, _ in _NATIONAL)):
        _module(module)


def _iban_end(found: re.Match[str]) -> int | None:
    """Where the IBAN at the beginning of a match ends: words that follow it match as well."""
    head, rest, remainder = "", 0, 0
    for place, character in enumerate(found.group()):
        if not character.isalnum():
            continue
        if len(head) < 4:
            head += character
            continue
        digit = int(character, 36)
        remainder, rest = (remainder * (10 if digit < 10 else 100) + digit) % 97, rest + 1
        end = found.start() + place + 1
        if (
            _SHORTEST <= rest + 4 <= _LONGEST
            and (remainder * 10**6 + int(f"{int(head[0], 36)}{int(head[1], 36)}{head[2:]}")) % 97 == 1
            and not found.string[end : end + 1].isalnum()
            and _module("iban").is_valid(found.string[found.start() : end].replace("\n", ""), check_country=False)
        ):
            return end
    return None


def _american(text: str) -> Iterator[Finding]:
    """A routing number that checks, and the account number named beside it."""
    for routing in _ROUTING.finditer(text):
        if not near(text, *routing.span(), r"routing|aba|rtn|transit") or not _module("us.rtn").is_valid(
            routing.group()
        ):
            continue
        for account in _ACCOUNT.finditer(text, max(0, routing.start() - _PAIR), routing.end() + _PAIR):
            if account.span() != routing.span() and near(text, *account.span(), _ACCOUNT_WORD, after=8):
                yield Finding(SensitiveKind.BANK_ACCOUNT, *routing.span(), "us.rtn")
                yield Finding(SensitiveKind.BANK_ACCOUNT, *account.span(), "us.account")


def _british(text: str) -> Iterator[Finding]:
    """A named sort code and the eight digits of the account near it."""
    for code in _SORT_CODE.finditer(text):
        if not near(text, *code.span(), r"sort[ -]?code|s/c"):
            continue
        for account in _EIGHT.finditer(text, max(0, code.start() - _PAIR), code.end() + _PAIR):
            if account.end() <= code.start() or account.start() >= code.end():
                yield Finding(SensitiveKind.BANK_ACCOUNT, *code.span(), "gb.sort_code")
                yield Finding(SensitiveKind.BANK_ACCOUNT, *account.span(), "gb.account")


@cache
def _module(name: str) -> Any:
    return import_module(f"stdnum.{name}")


# Digits with at most three separating characters between them.
_RUN = re.compile(rf"(?<![{LETTERS}])\d(?:[ \t\n.,/_*|-]{{0,3}}\d){{12,}}(?![{LETTERS}])")
_GROUP = re.compile(r"\d+")
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
_CARD_WORD = re.compile(
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
