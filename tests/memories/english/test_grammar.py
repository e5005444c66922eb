"""The grammar of the offline responder, by example: what each sentence stores, or that it stores nothing."""

from __future__ import annotations

import time

import pytest

from memories.english.grammar import read
from memories.english.slots import Statement

STORED = {
    # asked for by name
    "remember that I have a dentist appointment on 4 May": ["I have a dentist appointment on 4 May"],
    "Remember: the spare key is under the blue pot": ["The spare key is under the blue pot"],
    "Remember my dog's name is Rex": ["dog_name: Dog is called Rex"],
    "Don't forget to buy milk": ["To do: buy milk"],
    # where somebody lives and comes from
    "I moved to Edinburgh for work last month.": ["home_city: Lives in Edinburgh"],
    "I'm from Ghent originally but I live in Antwerp": ["origin: Comes from Ghent", "home_city: Lives in Antwerp"],
    "I quit smoking last year": ["No longer smokes"],
    "we left Bristol, in Edinburgh now": ["home_city: Lives in Edinburgh"],
    "We recently relocated to the Hague": ["home_city: Lives in the Hague"],
    "i live in berlin": ["home_city: Lives in Berlin"],
    "I live in Portland, Maine.": ["home_city: Lives in Portland, Maine"],
    "I'm from Leeds": ["origin: Comes from Leeds"],
    "I was born on 4 May 1990": ["date_of_birth: Born on 4 May 1990"],
    # names
    "my name is bob": ["name: Name is Bob"],
    "Call me Ishmael.": ["preferred_name: Prefers to be called Ishmael"],
    # work
    "I work as a nurse at St Mary's.": ["employer: Works at St Mary's", "occupation: Works as a nurse"],
    "I got a new job at Acme!": ["employer: Works at Acme"],
    "I'm a software engineer": ["occupation: Works as a software engineer"],
    # tastes, health, family, things
    "My favorite food is ramen.": ["favourite_food: Favourite food is ramen"],
    "I prefer tea over coffee": ["Prefers tea over coffee"],
    "I'm allergic to nuts and cat hair": ["allergy_nut: Allergic to nuts", "allergy_cat_hair: Allergic to cat hair"],
    "I'm vegetarian": ["diet: Is vegetarian"],
    "We have a cat named Mochi": ["Cat is called Mochi"],
    "I have a daughter named Lily and a son called Max": ["Daughter is called Lily", "Son is called Max"],
    "My wife Ana, daughter Lily (6) and son Max love trains": [
        "wife: Wife is Ana",
        "Daughter is Lily",
        "lily_age: Lily is 6 years old",
        "Son is Max",
    ],
    "My parents, Luc and Greet, live in Leeds": ["Parent is called Luc", "Parent is called Greet"],
    "My sons, Tim and Tom, are allergic to nuts, my car is red": [
        "car: Car is red",
        "Son is called Tim",
        "Son is called Tom",
    ],
    "My wife's sister, Ann, is allergic to nuts, I work at Acme": ["employer: Works at Acme"],
    "I no longer have a cat called Miso": ["No longer has a cat called Miso"],
    "My daughter Lily's height is 120 cm": ["lily_height: Lily's height is 120 cm", "Daughter is Lily"],
    "My parents are called Luc and Greet": ["Parent is called Luc", "Parent is called Greet"],
    "I live with our two kids, Ella and Nils": ["Child is called Ella", "Child is called Nils"],
    "We have two cats, Miso and Tofu, and a dog named Rex": [
        "Cat is called Miso",
        "Cat is called Tofu",
        "Dog is called Rex",
    ],
    # measures
    "My saddle height is 74 cm": ["saddle_height: Saddle height is 74 cm"],
    "My saddle's height is 74 cm": ["saddle_height: Saddle height is 74 cm"],
    "The height of my saddle is 74 cm": ["saddle_height: Saddle height is 74 cm"],
    "The height of my son is 1.20 m": ["son_height: Son's height is 1.20 m"],
    "My desk is 75 cm high": ["desk_height: Desk is 75 cm high"],
    "My office is 12 km away": ["office_distance: Office is 12 km away"],
    "My flat is 60 square metres": ["flat_size: Flat is 60 square metres"],
    "My table is 2 m": ["Table is 2 m"],
    "My sister Anu has a son named Ravi and a daughter named Tara": [
        "Anu has a son named Ravi",
        "Anu has a daughter named Tara",
        "Sister is Anu",
    ],
    "My bike weighs 8 kg": ["bike_weight: Bike weight is 8 kg"],
    "I'm 1.80 m tall and I weigh 72 kg": ["height: Is 1.80 m tall", "weight: Weighs 72 kg"],
    "I'm Priya, 29, a nurse at St Mary's": [
        "name: Name is Priya",
        "age: Is 29 years old",
        "employer: Works at St Mary's",
        "occupation: Works as a nurse",
    ],
    "I'm Ada, 41, from Leeds, and my brother is Tom, a nurse": [
        "name: Name is Ada",
        "age: Is 41 years old",
        "origin: Comes from Leeds",
        "Brother is Tom",
    ],
    "I'm married to Tom, a nurse at Acme": ["spouse: Married to Tom"],
    "I work part-time at a bakery and as a translator": ["Works at a bakery", "Works as a translator"],
    "My birthday is on 4 May": ["birthday: Birthday is on 4 May"],
    "My wife is Anna": ["wife: Wife is Anna"],
    "My sister is a nurse": ["Sister is a nurse"],
    # of somebody else
    "My sister moved to Paris.": ["sister_home_city: Sister lives in Paris"],
    "My wife Ana is a nurse": ["Ana is a nurse", "wife: Wife is Ana"],
    "Our dog is called Rex and he is 4": ["dog_name: Dog is called Rex", "rex_age: Rex is 4 years old"],
    "My mother-in-law lives in Cork": ["mother_in_law_home_city: Mother-in-law lives in Cork"],
}

SILENT = [
    # questions
    "Where do I live?",
    "Remember when we went to Rome?",
    "What if I moved to Oslo?",
    # suppositions, plans, wishes, the past
    "If I moved to Paris, I would be happy", "I might move to Oslo", "I'm moving to Oslo next month",
    "I lived in Rome as a child", "I'd prefer tea over coffee", "When I was young, I lived in Rome, then in Pisa",
    "I moved to Canada when I was five", "I live in Oslo until June",
    # denials
    "I don't live in Rome.",
    "I never lived in Rome",
    "I'm not allergic to nuts",
    "The cat, Miso, is allergic to fish",
    "I don't have a daughter named Lily and a son called Max",
    # others, quoted or reported
    'She said: "I moved to Paris."', "Anna told me I live in a bubble.", "I moved to Paris, said Anna.",
    '"I moved to Paris" is a great song', "In my dream I moved to Mars.",
    # not what it looks like
    "I moved to a new flat.", "I moved to Linux", "I moved my desk to the window", "I live in fear", "I work at home",
    "I'm a bit tired", "I'm allergic to mornings", "im Sommer wohne ich in Bern",
    "My favourite thing about you is that you listen.", "My car is a mess", "My flight is at 9",
    "remember my birthday", "Remember that time we went to Rome", "Hello", "",
]  # fmt: skip


def shown(statement: Statement) -> str:
    return f"{statement.key}: {statement.text}" if statement.key else statement.text


@pytest.mark.parametrize("said", STORED)
def test_a_plain_statement_is_stored(said: str) -> None:
    reading = read(said)
    assert [shown(statement) for statement in reading.statements] == STORED[said]
    assert (reading.playbook, reading.forget) == (None, None)


@pytest.mark.parametrize("said", SILENT)
def test_what_is_no_plain_statement_stores_nothing(said: str) -> None:
    reading = read(said)
    assert (reading.statements, reading.playbook, reading.forget) == ((), None, None)


@pytest.mark.parametrize(
    ("said", "text", "ends"),
    [
        ("I no longer work at Acme.", "No longer works at Acme", "work at Acme"),
        ("I don't live in Bristol anymore", "No longer lives in Bristol", "live in Bristol"),
        ("We do not have a cat any more", "No longer has a cat", "have a cat"),
    ],
)
def test_what_ended_is_stored_with_what_it_ends(said: str, text: str, ends: str) -> None:
    (statement,) = read(said).statements
    assert (statement.text, statement.ends) == (text, ends)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("My teacher Ms Long came with her husband Pete.", "Pete"),
        ("Peter lives in Paris with his wife Ann.", "Ann"),
        ("The postman came with his dog Fang.", "Fang"),
        ("My cousin adopted their cat Smudge.", "Smudge"),
        ("My sister had a baby girl, Rosa!", "Rosa"),
        ("My brother Tom has two kids, Ana and Leo.", "Ana"),
        ("My neighbour and her husband have a dog called Rex.", "Rex"),
    ],
)
def test_the_relatives_and_pets_of_others_are_not_the_users(said: str, name: str) -> None:
    assert not [each.text for each in read(said).statements if each.text.endswith(f"is called {name}")]


def test_it_is_no_person() -> None:
    assert not read("It isn't Shell, it's Octopus.", before="My wife pays the bill.").statements


@pytest.mark.parametrize("said", ["I no longer care", "I don't know anymore", "I'm not sure anymore"])
def test_a_passing_state_of_mind_ends_nothing(said: str) -> None:
    assert not read(said).statements


@pytest.mark.parametrize(
    ("said", "title", "trigger", "steps"),
    [
        pytest.param(
            "To fix the hub: hold the button for ten seconds, wait for the light, then pair again", "Fix the hub", "",
            ("Hold the button for ten seconds", "Wait for the light", "Pair again"), id="to",
        ),
        pytest.param(
            "When the router blinks red, unplug it, then wait thirty seconds", "When the router blinks red",
            "the router blinks red", ("Unplug it", "Wait thirty seconds"), id="when",
        ),
        pytest.param(
            "How to make tea:\n1. Boil water\n2. Add leaves, three spoons", "Make tea", "",
            ("Boil water", "Add leaves, three spoons"), id="numbered lines",
        ),
        pytest.param(
            "Remember how to reset the lamp: 1. switch it off 2. count to ten 3. switch it on", "Reset the lamp", "",
            ("Switch it off", "Count to ten", "Switch it on"), id="numbers in a line",
        ),
    ],
)  # fmt: skip
def test_a_way_to_do_something_is_a_playbook(said: str, title: str, trigger: str, steps: tuple[str, ...]) -> None:
    book = read(said).playbook
    assert book is not None
    assert (book.title, book.trigger, book.steps) == (title, trigger, steps)


@pytest.mark.parametrize(
    "said",
    [
        "When the build fails, what should I do?", "When Anna called, we talked, then she left",
        "If I won the lottery, I would travel, then rest", "When it rains, call Anna", "To my friend: I am late",
    ],
)  # fmt: skip
def test_a_story_is_no_playbook(said: str) -> None:
    assert read(said).playbook is None


@pytest.mark.parametrize(
    ("said", "about"),
    [
        ("forget that I live in Bristol", "that I live in Bristol"),
        ("Please forget my address.", "my address"),
        ("Delete my phone number from your memory", "my phone number"),
        ("Forget everything about Anna", "everything about Anna"),
    ],
)
def test_a_request_to_forget_says_what(said: str, about: str) -> None:
    reading = read(said)
    assert (reading.forget, reading.statements) == (about, ())


@pytest.mark.parametrize(
    "said", ["Don't forget my birthday", "I forgot my keys", "Delete the file", "Remove my name from the list"]
)
def test_what_only_sounds_like_it_forgets_nothing(said: str) -> None:
    assert read(said).forget is None


def test_a_question_beside_a_statement_is_kept() -> None:
    reading = read("I moved to Oslo. What is the weather like there?")
    assert [statement.text for statement in reading.statements] == ["Lives in Oslo"]
    assert reading.questions == ("What is the weather like there?",)


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("a. " * 10_000, id="abbreviations"),
        pytest.param("I left " + "a " * 15_000, id="a long sentence"),
        pytest.param("remember " * 3_500, id="remember remember"),
        pytest.param("my " + "a" * 390, id="my aaa"),
        pytest.param("\n" * 32_000, id="empty lines"),
        pytest.param('"' * 32_000, id="quotes"),
        pytest.param("when " + " ," * 1_900, id="commas"),
    ],
)
def test_no_text_takes_long(said: str) -> None:
    started = time.thread_time()
    read(said)
    assert time.thread_time() - started < 1.0
