"""Made-up values with valid check digits. None is anybody's; what looks like a vendor's token is drawn as it runs."""

from __future__ import annotations

import binascii
import itertools
import random
import string
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from stdnum import iban as ibans
from stdnum import luhn

from memories.types import SensitiveKind

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
# Digits as they are drawn in Chinese and Japanese text.
WIDE = str.maketrans("0123456789", "０１２３４５６７８９")


@dataclass(frozen=True, slots=True)
class Value:
    """A sensitive value as it stands in a text."""

    kind: SensitiveKind
    text: str


def secret(text: str) -> Value:
    return Value(SensitiveKind.SECRET, text)


def phone(text: str) -> Value:
    return Value(SensitiveKind.PHONE, text)


def email(text: str) -> Value:
    return Value(SensitiveKind.EMAIL, text)


def address(text: str) -> Value:
    return Value(SensitiveKind.ADDRESS, text)


def suspicious(text: str) -> Value:
    return Value(SensitiveKind.SUSPICIOUS, text)


def drawn(length: int, seed: int, alphabet: str = ALNUM) -> str:
    """Characters as a vendor's machine draws them: small letters, capitals and digits if the alphabet has them."""
    chance = random.Random(seed)
    while True:
        text = "".join(chance.choices(alphabet, k=length))
        kinds = map(set, (string.ascii_lowercase, string.ascii_uppercase, string.digits))
        if all(kind & set(text) for kind in kinds if kind & set(alphabet)):
            return text


def token(prefix: str, length: int, seed: int, alphabet: str = ALNUM) -> Value:
    """A vendor's token: the prefix and `length` drawn characters."""
    return secret(prefix + drawn(length, seed, alphabet))


def github(prefix: str, seed: int) -> Value:
    """A token of GitHub or npm with its checksum."""
    body = drawn(30, seed)
    digits = string.digits + string.ascii_uppercase + string.ascii_lowercase
    left, check = binascii.crc32(body.encode()), ""
    while left:
        left, digit = divmod(left, 62)
        check = digits[digit] + check
    return secret(prefix + "_" + body + check.rjust(6, "0"))


def web_token(seed: int) -> Value:
    """A JSON web token."""
    header = "ey" + "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
    return secret(f"{header}.ey{'JzdWIiOiI'}{drawn(40, seed)}.{drawn(43, seed + 1)}")


def private_key(name: str, lines: int, seed: int) -> Value:
    """A PEM block."""
    body = "\n".join(drawn(64, seed + line) for line in range(lines))
    rule = "-" * 5
    return Value(SensitiveKind.PRIVATE_KEY, f"{rule}BEGIN {name} KEY{rule}\n{body}\n{rule}END {name} KEY{rule}")


def card(digits: str, groups: str = "4444", separator: str = " ") -> Value:
    """A card number: `digits` without the last, in groups of these lengths."""
    whole = iter(digits + luhn.calc_check_digit(digits))
    parts = ["".join(itertools.islice(whole, int(length))) for length in groups] if groups else ["".join(whole)]
    return Value(SensitiveKind.PAYMENT_CARD, separator.join(parts))


def iban(country: str, bban: str, separator: str = "") -> Value:
    """An IBAN: check digits and, where the country has its own, only the outer ones are computed."""
    whole = country + ibans.calc_check_digits(f"{country}00{bban}") + bban
    parts = [whole[place : place + 4] for place in range(0, len(whole), 4)]
    return Value(SensitiveKind.BANK_ACCOUNT, separator.join(parts))


def account(module: str, form: str) -> Value:
    """A bank account of a national form; each ? is the digit that makes it check."""
    return Value(SensitiveKind.BANK_ACCOUNT, completed(module, form))


def paired(text: str) -> Value:
    """A bank account of a form without check digits."""
    return Value(SensitiveKind.BANK_ACCOUNT, text)


def national(module: str, form: str) -> Value:
    """A national id; each ? is the digit, each @ the letter that makes it check."""
    return Value(SensitiveKind.NATIONAL_ID, completed(module, form))


def unchecked(text: str) -> Value:
    """A national id of a form without check digits."""
    return Value(SensitiveKind.NATIONAL_ID, text)


@cache
def completed(module: str, form: str) -> str:
    """`form` with the first digits and letters that the module of python-stdnum finds valid."""
    number = import_module(f"stdnum.{module}")
    choices = [string.digits if mark == "?" else string.ascii_uppercase for mark in form if mark in "?@"]
    for chosen in itertools.product(*choices):
        left = iter(chosen)
        text = "".join(next(left) if mark in "?@" else mark for mark in form)
        if number.is_valid(text):
            return text
    raise ValueError(f"nothing makes a number of {module} valid")
