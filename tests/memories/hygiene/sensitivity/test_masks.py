"""A masked text is known again beside the words that it was made of."""

from __future__ import annotations

import pytest

from memories.hygiene.sensitivity.findings import could_have_been, label
from memories.types import SensitiveKind

PHONE, CARD = label(SensitiveKind.PHONE), label(SensitiveKind.PAYMENT_CARD)


@pytest.mark.parametrize(
    ("masked", "words"),
    [
        ("as it is", "as it is"),
        (f"ring {PHONE} now", "ring 555 now"),
        (f"{PHONE} or {PHONE}, with {CARD}", "555 or 556, with 4111"),
        (f"{PHONE}{CARD}", "55"),
    ],
)
def test_it_could_have_been_these_words(masked: str, words: str) -> None:
    assert could_have_been(masked, words)


@pytest.mark.parametrize(
    ("masked", "words"),
    [
        ("as it is", "as it was"),
        (f"ring {PHONE} now", "do ring 555 now"),
        (f"ring {PHONE}", "ring "),
        (f"{PHONE} or {CARD}", "555 and 4111"),
        (f"a{PHONE}a", "a"),
        ("", "words"),
    ],
)
def test_it_was_made_of_other_words(masked: str, words: str) -> None:
    assert not could_have_been(masked, words)
