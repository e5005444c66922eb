"""Sentences about sensitive values name kind and place."""

from __future__ import annotations

import pytest

from memories.errors import Blocked, Spot
from memories.hygiene.sensitivity import findings
from memories.types import SensitiveKind


@pytest.mark.parametrize(
    ("kinds", "sentence"),
    [
        (("payment_card",), "A payment card number was taken out before this was stored."),
        (("email", "email", "phone"), "An e-mail address and a phone number were taken out before this was stored."),
    ],
)
def test_whoever_said_it_is_told_what_was_taken_out(kinds: tuple[str, ...], sentence: str) -> None:
    assert findings.taken_out(kinds) == sentence


def test_a_refusal_counts_as_people_do_and_calls_a_step_by_its_number() -> None:
    blocked = Blocked((Spot("text", SensitiveKind.PAYMENT_CARD, 11, 30),))
    told = findings.refusal(blocked, to_people=True)
    assert told.startswith("The text holds a payment card number at characters 12 to 30. This is not stored")
    blocked = Blocked((Spot("steps.1", SensitiveKind.SECRET, 0, 20),))
    assert findings.refusal(blocked, to_people=True).startswith("Step 2 holds a password, key or token at characters 1")
    assert findings.refusal(blocked).startswith("steps.1 holds")
