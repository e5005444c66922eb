"""What people tell of their days, by example: home, job, pets, possessions, habits, health, people."""

from __future__ import annotations

import pytest

from memories.consolidation.grammar.rules import read

STORED = {
    "Hi! I'm Mira, and I like tea.": ["name: Name is Mira", "Likes tea"],
    "Just moved to Leeds!": ["home_city: Lives in Leeds"],
    "I've been living in Leeds since 2019.": ["home_city: Lives in Leeds"],
    "I still live in Leeds.": ["home_city: Lives in Leeds"],
    "We moved into our new flat on Elm Street.": ["address: Lives in a flat on Elm Street"],
    "We've moved to 3 Ferry Lane": ["address: Address is 3 Ferry Lane"],
    "We pay £1,150 a month in rent": ["rent: Pays £1,150 a month in rent"],
    "We pay 900 euros a month to our landlord, Mr Bell.": [
        "rent: Pays 900 euros a month in rent",
        "landlord: Landlord is Mr Bell",
    ],
    "I've been working at Acme since May, as a welder": ["employer: Works at Acme", "occupation: Works as a welder"],
    "I finally left Acme, I'm at Globex now.": ["employer: Works at Globex"],
    "I work for Globex, not Acme": ["employer: Works for Globex"],
    "I'm a nurse at St Mary's now": ["employer: Works at St Mary's", "occupation: Works as a nurse"],
    "I also work at Acme": ["Works at Acme"],
    "My new boss is Kim": ["boss: Boss is Kim"],
    "My manager at Acme is called Kim.": ["boss: Manager at Acme is called Kim"],
    "I have a new boss, her name is Kim.": ["boss: Boss is Kim"],
    "My fiancé Tom snores.": ["fiance: Fiancé is Tom"],
    "Tom and I got married yesterday!": ["spouse: Married to Tom"],
    "Tom's birthday is 6 May.": ["tom_birthday: Tom's birthday is 6 May"],
    "We adopted a puppy, a greyhound called Rex.": ["Has a puppy, a greyhound called Rex"],
    "We have two kids": ["Has two kids"],
    "I just bought a Brompton, bright orange.": ["Has a Brompton"],
    "I bought a second-hand kayak from a guy in Leith": ["Has a kayak"],
    "My phone is a Pixel 6a and it barely lasts": ["phone: Phone is a Pixel 6a"],
    "My phone is 0123 456 789": ["phone_number: Phone is 0123 456 789"],
    "My email changed, it's sam@example.org now": ["email: Email is sam@example.org"],
    "I go climbing at Redpoint on Tuesdays.": ["Goes climbing at Redpoint on Tuesdays"],
    "I take iron tablets every morning, doctor's orders": ["Takes iron tablets every morning"],
    "I cycle to work along the river, 25 minutes": ["commute: Cycles to work along the river"],
    "I take the 76 bus to work now": ["commute: Takes the 76 bus to work"],
    "I have a severe shellfish allergy so no prawns": ["allergy_shellfish: Has a shellfish allergy"],
    "I was diagnosed with asthma": ["Has asthma"],
    "I can't eat gluten": ["Cannot eat gluten"],
    "I'm eating meat again": ["diet: Eats meat again"],
    "I hate coriander.": ["Hates coriander"],
    "I prefer window seats": ["Prefers window seats"],
    "my favourite colour is teal, so the helmet had to match": ["favourite_colour: Favourite colour is teal"],
    "my PI is Prof. Delacroix, she's away": ["pi: PI is Prof. Delacroix"],
}

SILENT = [
    "I love how you explain things.",
    "I love Mondays. Not.",
    "Wow, I just love being on hold for an hour.",
    "I'm obviously a doctor now.",
    "I'm a bit of a doctor.",
    "I work at Acme. Just kidding!",
    "We bought a present for Tom.",
    "I bought a Brompton for my brother.",
    "I bought a ticket to Oslo.",
    "I take that back.",
    "I run late every day.",
    "I take them to the park twice a week.",
    "We go a few times a week.",
    "I take the bus to work today.",
    "I'm eating pizza again.",
    "My dog is hungry.",
    "My cat is a monster.",
    "My old boss is Dana.",
    "My phone's been giving me a hard time.",
    "It was me, my girlfriend, Tom and the dog.",
    "My wife's boss is Kim.",
    "I joined the queue.",
    "I started at 9 today.",
    "I ride a horse in my dreams.",
    "My sister has news. Moved to Oslo last week!",
    "My friend left Acme and started at Globex.",
    "Translate: I live in Berlin.",
    "Draft: My name is Bob and I work at Acme.",
    "Write a story where I live in Paris.",
]


@pytest.mark.parametrize("told", STORED)
def test_what_people_tell_of_their_days_is_stored(told: str) -> None:
    found = [f"{each.key}: {each.text}" if each.key else each.text for each in read(told).statements]
    assert found == STORED[told]


@pytest.mark.parametrize("told", SILENT)
def test_what_only_sounds_like_it_stores_nothing(told: str) -> None:
    assert read(told).statements == ()


def test_a_statement_quotes_its_clause_and_knows_a_move() -> None:
    name, home = read("Well, my name is Anna and I moved to Oslo.").statements
    assert (name.quote, name.moved) == ("my name is Anna", False)
    assert (home.quote, home.moved) == ("I moved to Oslo.", True)
