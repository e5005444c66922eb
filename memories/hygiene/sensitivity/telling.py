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


def with_article(kind: SensitiveKind) -> str:
    """Such as "a payment card number"."""
    return f"{'an' if noun(kind)[0] in 'aeiou' else 'a'} {noun(kind)}"


def short(kind: SensitiveKind) -> str:
    """The kind in a word or two."""
    return _SHORT.get(kind) or kind.value.replace("_", " ")


def at(spot: Spot) -> str:
    """Such as "holds a payment card number at characters 12 to 30"; people count from 1."""
    return f"holds {with_article(spot.kind)} at characters {spot.start + 1:,} to {spot.end:,}"


def refusal(blocked: Blocked, *, to_people: bool = False) -> str:
    """What to take out, and where. `to_people`: fields are called as people call them."""
    told = whereabouts(blocked) if to_people else "; ".join(f"{spot.field} {at(spot)}" for spot in blocked.spots)
    return f"{told}. This is not stored: take it out, or say it without the value."


def whereabouts(blocked: Blocked) -> str:
    """What is where, to people, without an end: "The text holds a phone number at characters 3 to 9"."""
    return "; ".join(f"{_called(spot.field)} {at(spot)}" for spot in blocked.spots)


def _called(field: str) -> str:
    """Such as "Step 2" for steps.1."""
    name, _, place = field.partition(".")
    return f"Step {int(place) + 1}" if place.isdecimal() else f"The {name.replace('_', ' ')}"


def taken_out(kinds: Iterable[str]) -> str:
    """A sentence about the masked kinds for the author of a text; empty for none."""
    *others, last = [with_article(SensitiveKind(kind)) for kind in dict.fromkeys(kinds)] or [""]
    if not last:
        return ""
    told = f"{', '.join(others)} and {last}" if others else last
    return f"{told[0].upper()}{told[1:]} {'were' if others else 'was'} taken out before this was stored."
