"""Sensitive values in sentences for people and models: what kind, where; never the value. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from memories.errors import Blocked, Spot
from memories.types import SensitiveKind

_NOUNS = {
    SensitiveKind.SECRET: "password, key or token",
    SensitiveKind.PRIVATE_KEY: "private key",
    SensitiveKind.PAYMENT_CARD: "payment card number",
    SensitiveKind.NATIONAL_ID: "national id number",
    SensitiveKind.BANK_ACCOUNT: "bank account number",
    SensitiveKind.PHONE: "phone number",
    SensitiveKind.EMAIL: "e-mail address",
    SensitiveKind.ADDRESS: "street address",
    SensitiveKind.SUSPICIOUS: "value that looks like a secret",
}
# What a badge has room for.
_SHORT = {SensitiveKind.EMAIL: "e-mail", SensitiveKind.SUSPICIOUS: "maybe a secret"}


def noun(kind: SensitiveKind) -> str:
    """A value of this kind, such as "payment card number"."""
    return _NOUNS[kind]


def short(kind: SensitiveKind) -> str:
    """The kind in a word or two."""
    return _SHORT.get(kind) or kind.value.replace("_", " ")


def at(spot: Spot) -> str:
    """Such as "holds a payment card number at characters 12 to 30"; people count from 1."""
    article = "an" if noun(spot.kind)[0] in "aeiou" else "a"
    return f"holds {article} {noun(spot.kind)} at characters {spot.start + 1:,} to {spot.end:,}"


def refusal(blocked: Blocked, subject: str = "") -> str:
    """What to take out, and where; `subject` stands for the names of the fields."""
    told = "; ".join(f"{subject or spot.field} {at(spot)}" for spot in blocked.spots)
    return f"{told}. This is not stored: take it out, or say it without the value."


def taken_out(kinds: Iterable[str]) -> str:
    """A sentence for whoever said what is stored without these kinds of values; empty for none."""
    told = [noun(SensitiveKind(kind)) for kind in dict.fromkeys(kinds)]
    if not told:
        return ""
    first, *rest = told
    article = "An" if first[0] in "aeiou" else "A"
    both = f"{article} {', a '.join([first, *rest])}".replace(", a e-mail", ", an e-mail")
    return f"{both} {'were' if rest else 'was'} taken out before this was stored."
