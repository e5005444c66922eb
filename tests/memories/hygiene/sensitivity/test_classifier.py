"""What a model is asked of a suspicious value: never with a character of it."""

from __future__ import annotations

import pytest

from benchmarks.sensitivity import measured
from memories.hygiene.sensitivity.classifier import Classified, confirmed, is_asked, question, shape_of
from memories.hygiene.sensitivity.detecting import scan
from memories.types import SensitiveKind
from tests.memories.hygiene.sensitivity import values as v
from tests.memories.hygiene.sensitivity.labelled import LABELLED

STRANGE = v.drawn(24, 910) + "-Zq7"
TEXT = f"Found {STRANGE} on a note, my card is {v.card('411111111111111').text}"


def test_a_model_reads_the_shape_and_no_value() -> None:
    shown = shape_of(TEXT, scan(TEXT))
    assert shown.startswith("Found ⟦") and shown.endswith("-Aa9⟧ on a note, my card is [payment card removed]")


@pytest.mark.long
def test_no_value_of_any_text_stands_in_a_question() -> None:
    for each in (row.labelled for row in measured(LABELLED) if not row.missed):
        text = f"{each.text}\n{STRANGE}, once more {STRANGE}"
        asked = str(question(text, scan(text)))
        assert not any(value in asked for value in (STRANGE, *each.values) if len(value) > 5)


def test_only_what_stands_near_a_shape_is_shown() -> None:
    text = f"{'far ' * 400}near {STRANGE} here{' away' * 400}"
    assert len(shape_of(text, scan(text))) < 1_000 < len(text)


def test_the_answer_decides_what_a_suspicious_value_is() -> None:
    found = scan(TEXT)
    assert is_asked(found)
    kinds = [each.kind for each in confirmed(found, Classified(verdict="secret", reason="token"))]
    assert kinds == [SensitiveKind.SECRET, SensitiveKind.PAYMENT_CARD]
    left = confirmed(found, Classified(verdict="harmless", reason="identifier"))
    assert [each.kind for each in left] == [SensitiveKind.PAYMENT_CARD]
