"""Parsing a question: what it is about, who and when it names, and that any text parses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.recall.query import MAX_CONTENT_WORDS, parse, words


def test_content_words_are_what_is_left_of_a_question() -> None:
    query = parse("What did I say about the red kite, and where is the kite?")
    assert query.terms == ("say", "red", "kite")


def test_speakers_are_named_and_taken_out() -> None:
    query = parse("When did Caroline go to Melanie's party?", ["Caroline", "Melanie", "Nobody"])
    assert query.named == {"Caroline", "Melanie"}
    assert query.terms == ("go", "party")
    assert query.meaning == "When did go to party?"


def test_naming_the_only_speaker_tells_nothing_apart() -> None:
    query = parse("What is Ada's address?", ["Ada"])
    assert (query.named, query.terms) == (frozenset(), ("address",))


def test_a_name_that_is_a_common_word_names_nobody() -> None:
    query = parse("what will happen?", ["Will", "Ben"])
    assert (query.named, query.terms) == (frozenset(), ("happen",))


def test_a_question_of_names_alone_keeps_its_words_for_the_encoder() -> None:
    assert parse("Caroline?", ["Caroline"]).meaning == "Caroline?"


@pytest.mark.parametrize(
    ("text", "months", "years"),
    [
        pytest.param("What happened in May 2023?", {5}, {2023}, id="month and year"),
        pytest.param("may I ask you to march on?", set(), set(), id="verbs"),
        pytest.param("in MARCH or in april", {3, 4}, set(), id="two months"),
        pytest.param("room 1234, 99 bottles, 20235", set(), set(), id="other numbers"),
        pytest.param("born in 1987", set(), {1987}, id="last century"),
        pytest.param("was war im März 2025", {3}, {2025}, id="German"),
    ],
)
def test_dates_that_are_named(text: str, months: set[int], years: set[int]) -> None:
    query = parse(text)
    assert query.months == months
    assert query.years == years


@pytest.mark.parametrize("text", ["When did we meet?", "how long have I had it", "Which year was that?"])
def test_questions_for_a_time(text: str) -> None:
    assert parse(text).asks_when
    assert not parse("Whenever you like").asks_when and not parse("Tell me when").asks_when


@pytest.mark.parametrize(
    ("text", "language", "terms", "form"),
    [
        ("wie heißt meine Vermieterin", "de", ("vermieterin",), "how"),
        ("wo wohnt mama", "de", ("wohnt", "mama"), "where"),
        ("wie viele Enkel habe ich", "de", ("enkel",), "how many"),
        ("¿cuál es mi dirección?", "es", ("dirección",), "what"),
        ("comment s'appelle mon patron", "fr", ("patron",), "how"),
        ("who is my dentist", "en", ("dentist",), "who"),
        ("dentits", "en", ("dentits",), ""),
    ],
)
def test_the_language_of_a_question_decides_which_words_count(
    text: str, language: str, terms: tuple[str, ...], form: str
) -> None:
    query = parse(text)
    assert (query.language, query.terms, query.form) == (language, terms, form)


@pytest.mark.parametrize(
    ("text", "term", "key"),
    [
        ("where do I live", "live", "city"),
        ("what do I do?", "occupation", "job"),
        ("how old am I now", "birthday", "birth"),
        ("wie heißt meine Vermieterin", "vermieterin", "landlady"),
        ("dónde trabajo", "trabajo", "employer"),
        ("quel âge ai-je", "birthday", "age"),
    ],
)
def test_a_question_names_the_keys_that_it_asks_for(text: str, term: str, key: str) -> None:
    query = parse(text)
    assert key in dict(query.slots)[term]
    assert key in query.sought


def test_what_is_searched_for_begins_with_the_codes() -> None:
    assert parse("is it v3.2.1?").sought == ("3.2.1", "v3.2.1", "v3", "2", "1")


def test_words_of_a_text() -> None:
    assert words("qu'est-ce que l'adresse") == ["est", "ce", "que", "adresse"]
    assert words("Ada’s hub isn't don't_stop 3.5 🦆…") == ["ada", "hub", "isnt", "dont", "stop", "3", "5"]


@given(st.text(max_size=400), st.lists(st.text(max_size=20), max_size=4))
def test_any_text_parses_to_something_bounded(text: str, speakers: list[str]) -> None:
    query = parse(text, speakers)
    assert len(query.terms) <= MAX_CONTENT_WORDS
    assert all(term.strip() for term in query.terms)
    assert query.named <= set(speakers)
