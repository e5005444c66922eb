"""Facts in the second person, where it is certain whom they are about."""

from __future__ import annotations

import re

import pytest
from django.utils import translation

from memories.english.phrasing import reply, second_person, to_owner
from memories.english.slots import TABLES


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Lives in Leeds", "You live in Leeds"),
        ("Is 34 years old.", "You are 34 years old"),
        ("Wife is Ana", "Your wife is Ana"),
        ("Her uncle Emeka is a nurse", "Your uncle Emeka is a nurse"),
        ("Allergic to peanuts", "You are allergic to peanuts"),
        ("No longer works at Voltara", "You no longer work at Voltara"),
        ("The user lives in Leeds", "You live in Leeds"),
        ("User's wife is Ana", "Your wife is Ana"),
        ("The user lives with their wife", ""),
        ("User accounts are free", ""),
        ("Anders drives a van", "Anders drives a van"),
        ("Anders uses a fob", ""),
        ("Punctures come from glass", ""),
        ("Visits to Rome are fun", ""),
        ("Walks along the river with Rex take an hour", ""),
        ("Visits Rome when flights are cheap", "You visit Rome when flights are cheap"),
        ("Works in a shop that is closed on Mondays", "You work in a shop that is closed on Mondays"),
        ("Drinks water from a can", "You drink water from a can"),
        ("Doesn't eat meat", "You don't eat meat"),
        ("Lives in Hull and has a boat", "You live in Hull and have a boat"),
        ("Has a son who lives in Hull and is a nurse", "You have a son who lives in Hull and is a nurse"),
        ("Parks on level 3, so she avoids the posts", ""),
        ("Lebt in Hamburg", ""),
    ],
)
def test_a_fact_speaks_to_its_owner_if_it_is_certain_whom_it_is_about(text: str, sentence: str) -> None:
    assert to_owner(text) == sentence


@pytest.mark.parametrize(
    ("language", "answer"),
    [
        ("en", "only you can, with “Delete”."),
        ("de", "only you can, with „Löschen“."),
        ("es", "only you can, with «Eliminar»."),
    ],
)
def test_an_answer_names_a_button_as_the_page_shows_it(language: str, answer: str) -> None:
    with translation.override(language):
        assert reply("proposed").endswith(answer)


def test_each_label_in_an_answer_is_one_of_a_page() -> None:
    labels = {each for text in TABLES["answers"].values() for each in re.findall("<(.+?)>", text)}
    with translation.override("de"):
        assert labels and not [each for each in labels if translation.gettext(each) == each]


def test_an_answer_tells_a_fact_in_the_words_of_its_page_or_quotes_it() -> None:
    assert second_person("Wife is Ana") == "your wife is Ana"
    assert second_person("Rex's birthday is 12 May") == to_owner("Rex's birthday is 12 May")
    assert second_person("Punctures come from glass.") == "“Punctures come from glass”"
