"""What is one statement and what is not, whatever an encoder makes of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.hygiene.dedup import differs_in_detail, is_same, likeness


@pytest.mark.parametrize(
    ("left", "right", "why"),
    [
        ("I have two cats", "I have three cats", "a number"),
        ("I have a report", "I have reports", "a name or a word"),
        ("I do not eat meat", "I eat meat", "a negation"),
        ("We meet on Tuesday", "We meet on Thursday", "a date or time"),
        ("Marta is my sister", "Marta is my mother", "whom it is about"),
        ("Turn left at the church", "Turn right at the church", "an opposite"),
        ("All of them agreed", "Some of them agreed", "how many or how much"),
        ("I lived in Ghent", "I live in Ghent", "a name or a word"),
        ("My house is in Ghent", "My house is in Bruges", "a place or a relation"),
        ("I was in Ghent", "I am in Ghent", "when or whether it is so"),
        ("My cat is Miso", "My cat is Mochi", "a name or a word"),
    ],
)
def test_names_the_kind_of_detail_without_its_words(left: str, right: str, why: str) -> None:
    assert differs_in_detail(left, right) == f"They differ in {why}."


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Paul manages Judith", "Judith manages Paul"),
        ("Paul is managed by Judith", "Paul manages Judith"),
        ("I owe Ben money", "Ben owes me money"),
        ("The bus goes from Ghent to Bruges", "The bus goes from Bruges to Ghent"),
        ("If Anna calls, Ben leaves", "If Ben leaves, Anna calls"),
        ("I have 2 cats and 3 dogs", "I have 3 cats and 2 dogs"),
        ("I like Anna and Ben hates me", "I like Ben and Anna hates me"),
        ("I don't always eat", "I always don't eat"),
        ("All dogs are friends", "Friends are all dogs"),
        ("It is a house boat", "It is a boat house"),
        ("Anna's boss is Ben", "Ben's boss is Anna"),
        ("Cats are animals", "Animals are cats"),
        ("A cat is an animal", "An animal is a cat"),
        ("Water is life", "Life is water"),
        ("My friends are doctors", "Doctors are my friends"),
        ("Anna often says she eats meat", "Anna says she often eats meat"),
        ("I often promised to call", "I promised to call often"),
        ("I told Ben that Anna is ill", "I told Anna that Ben is ill"),
        ("The cat is under the table", "The table is under the cat"),
    ],
)
def test_the_same_words_in_another_order_may_say_something_else(left: str, right: str) -> None:
    assert differs_in_detail(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("I am having a baby", "I have a baby"),
        ("I want to be a doctor", "I want a doctor"),
        ("The soup is too salty", "The soup is salty"),
        ("It is -5 degrees", "It is 5 degrees"),
        ("I take vitamin A", "I take vitamin"),
        ("I use C++", "I use C#"),
        ("Room one has a view", "The room has a view"),
        ("I start at 8 am", "I start at 8"),
        ("My code is 0417", "My code is 417"),
        ("We use Python 3.10", "We use Python 3.1"),
        ("Take .5 mg", "Take 5 mg"),
        ("I got an A-", "I got an A"),
        ("Ben is held in Leeds", "Ben is in Leeds"),
        ("I have a house", "I own a house"),
        ("Do I live in Leeds?", "I live in Leeds"),
        ("I used to smoke", "I smoke"),
        ("Mr Baker is my doctor", "Mrs Baker is my doctor"),
        ("I don't want any more children", "I no longer want children"),
        ("I go to the gym on Wednesday", "I go to the gym on Wednesdays"),
        ("Ich wohne in Berlin", "Ich wohne in Bonn"),
        ("東京に住んでいます", "大阪に住んでいます"),
        ("(…)", "!?"),
    ],
)
def test_a_small_word_or_sign_can_make_the_difference(left: str, right: str) -> None:
    assert differs_in_detail(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("I live in Bristol", "The user is living in Bristol."),
        ("I reside in Bristol", "I live in Bristol now"),
        ("Rent is 1,250 euros a month", "Rent is €1250 per month"),
        ("I have twenty-five hens", "I have 25 hens"),
        ("The exam is on 2026-05-12", "The exam is on May 12th, 2026"),
        ("Standup is at 9:15", "Standup is at quarter past nine"),
        ("The boat was built by Willem", "Willem built the boat"),
        ("For work I use Firefox", "I use Firefox for work"),
        ("I speak Dutch and French", "I speak French and Dutch"),
        ("I often go to Vienna", "I go to Vienna frequently"),
        ("I no longer smoke", "I don't smoke anymore"),
        ("My dentist is Dr. Keller", "Dr. Keller is my dentist"),
        ("The meeting lasts an hour", "The meeting lasts one hour"),
        ("...", "..."),
    ],
)
def test_says_that_two_wordings_are_one_statement(left: str, right: str) -> None:
    assert differs_in_detail(left, right) == differs_in_detail(right, left) == ""


def test_being_the_same_needs_both_the_encoder_and_the_details() -> None:
    assert is_same("I live in Leeds", "I reside in Leeds", 0.96, threshold=0.95)
    assert not is_same("I live in Leeds", "I reside in Leeds", 0.94, threshold=0.95)
    assert not is_same("I live in Leeds", "I live in Lund", 0.99, threshold=0.95)


@pytest.mark.parametrize(
    "text",
    [
        "quarter past " + "9" * 5_000,
        "one " + "hundred " * 900,
        "9" * 8_000,
        "nine " * 1_500,
        "on monday " * 800,
        "'" * 8_000,
        "i'm " * 2_000,
        "\u0661\u0662 \u00bd \u00b2 \u2460 7:00 2026-99-99 31 May",
        "\U0001f980 " * 500,
    ],
)
def test_no_text_breaks_the_comparison(text: str) -> None:
    other = f"not {text}"
    assert differs_in_detail(text, text) == ""
    assert differs_in_detail(text, other)
    assert likeness(text) != likeness(other)


@given(st.text(max_size=80), st.text(max_size=80))
def test_comparing_is_symmetric_and_shares_the_likeness(left: str, right: str) -> None:
    assert differs_in_detail(left, left) == ""
    same = not differs_in_detail(left, right)
    assert same == (not differs_in_detail(right, left))
    assert not same or likeness(left) == likeness(right)


@given(st.permutations("I like Anna and Ben not Carl".split()), st.permutations("I like Anna and Ben not Carl".split()))
def test_a_negated_statement_is_never_the_same_in_another_order(one: list[str], other: list[str]) -> None:
    assert (differs_in_detail(" ".join(one), " ".join(other)) == "") == (one == other)
