"""Folding: disguises undone, and every range the range of the original."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memories.hygiene.sensitivity.context import BLANK, fold
from memories.hygiene.sensitivity.findings import Finding
from memories.types import SensitiveKind


@given(st.text(max_size=60))
def test_every_character_comes_from_one_of_the_original(text: str) -> None:
    folded = fold(text)
    assert len(folded.text) == len(folded.starts) == len(folded.ends)
    assert list(folded.starts) == sorted(folded.starts)
    assert all(0 <= start < end <= len(text) for start, end in zip(folded.starts, folded.ends, strict=True))


def test_digits_dashes_and_spaces_become_plain_and_what_has_no_width_goes() -> None:
    assert fold("４２\u00a0–\u200b٣ “x”").text == '42 -3 "x"'
    assert fold("4\ufe0f\u20e32\ufe0f\u20e3").text == "42", "digits on keys"


def test_what_stands_for_a_few_plain_characters_becomes_them_and_a_whole_phrase_stays_one() -> None:
    assert fold("⒇ Ⅷ ﷺ!").text == "20 Ⅷ ﷺ!"
    assert all(len(fold(chr(code)).text) <= 4 for code in range(0x80, 0x30000))


def test_a_label_is_one_blank_and_a_range_maps_back_over_it() -> None:
    folded = fold("é [payment card removed] ok")
    assert folded.text == f"é {BLANK} ok"
    assert folded.original(Finding(SensitiveKind.SECRET, 2, 3)) == Finding(SensitiveKind.SECRET, 2, 24)
