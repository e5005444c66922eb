"""Facts in the second person, where it is certain whom they are about."""

from __future__ import annotations

import pytest

from memories.english.phrasing import to_owner


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Lives in Leeds", "You live in Leeds"),
        ("Is 34 years old.", "You are 34 years old"),
        ("Wife is Ana", "Your wife is Ana"),
        ("Her uncle Emeka is a nurse", "Your uncle Emeka is a nurse"),
        ("Allergic to peanuts", "You are allergic to peanuts"),
        ("No longer works at Voltara", "You no longer work at Voltara"),
        ("Anders drives a van", "Anders drives a van"),
        ("Anders uses a fob", ""),
        ("Punctures come from glass", ""),
        ("Parks on level 3, so she avoids the posts", ""),
        ("Lebt in Hamburg", ""),
    ],
)
def test_a_fact_speaks_to_its_owner_if_it_is_certain_whom_it_is_about(text: str, sentence: str) -> None:
    assert to_owner(text) == sentence
